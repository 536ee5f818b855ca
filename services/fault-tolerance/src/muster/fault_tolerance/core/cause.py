"""What a failure is held to come from, before its history is looked at; and the causes that no rule
needs to know, because Muster itself knows them. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from muster.domain.diagnosis import Action, Advice, Blame, Kind, Source
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.signs import Sign


@dataclass(frozen=True, slots=True)
class Cause:
    """rule: None = nothing known matched. what: the cause in words. sign: what shows it best.

    nodes: those that are to blame if the action is to leave nodes. confidence: 0-1.
    """

    rule: str | None
    blame: Blame
    kind: Kind
    action: Action
    source: Source
    what: Advice
    confidence: float
    sign: Sign | None = None
    worker: str | None = None
    node: str | None = None
    nodes: tuple[str, ...] = ()
    advice: Advice | None = None


LOST = "node.lost"
RECLAIMED = "node.reclaimed"

_CONFIDENCE = {
    Source.POD: 0.95,
    Source.NODE: 0.9,
    Source.KERNEL: 0.9,
    Source.LOG: 0.85,
    Source.EXIT: 0.5,
}


def of_sign(sign: Sign, *, certain: float = 1.0) -> Cause:
    """Return what a rule says of the sign that it found.

    An action that needs a second signal, alone, blames nobody and tries again.
    """
    rule = sign.rule
    alone = rule.action in {Action.WATCH, Action.IGNORE}
    blame = Blame.UNKNOWN if alone else rule.blame
    leaves = rule.action in {Action.EXCLUDE, Action.CORDON}
    return Cause(
        rule=rule.id,
        blame=blame,
        kind=rule.kind,
        action=Action.RETRY if alone else rule.action,
        source=sign.source,
        what=rule.what,
        confidence=0.4 if alone else _CONFIDENCE.get(sign.source, 0.5) * certain,
        sign=sign,
        worker=sign.worker,
        node=sign.node,
        nodes=(sign.node,) if leaves and sign.node else (),
        advice=rule.advice,
    )


def ordered(order: str) -> Cause:
    """It ended because Muster told it to: nothing is a cause, and it is no success either."""
    goes_on = order == "evict"
    return Cause(
        rule=f"order.{order}",
        blame=Blame.PLATFORM,
        kind=Kind.TRANSIENT,
        action=Action.REQUEUE if goes_on else Action.IGNORE,
        source=Source.ORDER,
        what=Advice(
            en=f"it ended after an order of the platform ({order})",
            zh=f"任务在平台下达指令（{order}）后结束",
        ),
        confidence=1.0,
    )


def lost(nodes: tuple[str, ...], worker: WorkerEvidence | None) -> Cause:
    """Return the cause where nodes are gone."""
    named = ", ".join(nodes)
    return Cause(
        rule=LOST,
        blame=Blame.HARDWARE,
        kind=Kind.TRANSIENT,
        action=Action.EXCLUDE,
        source=Source.NODE,
        what=Advice(en=f"node {named} was lost", zh=f"节点 {named} 失联"),
        confidence=0.95,
        worker=worker.worker if worker else None,
        node=nodes[0],
        nodes=nodes,
    )


def reclaimed(node: str) -> Cause:
    """Return the cause where a node is being taken away."""
    return Cause(
        rule=RECLAIMED,
        blame=Blame.PLATFORM,
        kind=Kind.TRANSIENT,
        action=Action.REQUEUE,
        source=Source.NODE,
        what=Advice(en=f"node {node} is being reclaimed", zh=f"节点 {node} 正在被回收"),
        confidence=0.9,
        node=node,
        nodes=(node,),
    )


def gone_peer(peer: WorkerEvidence, sign: Sign, reporters: int) -> Cause:
    """Others say that this worker went away, and nothing says why."""
    return Cause(
        rule=sign.rule.id,
        blame=Blame.NETWORK,
        kind=Kind.TRANSIENT,
        action=Action.EXCLUDE,
        source=Source.LOG,
        what=Advice(
            en=f"{peer.worker} on {peer.node} went away: {reporters} other worker(s) say so",
            zh=f"节点 {peer.node} 上的 {peer.worker} 失去连接：{reporters} 个其他 Worker 报告",
        ),
        confidence=0.7,
        sign=sign,
        worker=peer.worker,
        node=peer.node,
        nodes=(peer.node,),
    )


def left_alone(worker: WorkerEvidence, sign: Sign | None) -> Cause:
    """One worker ended with exit code 0 and the others stay: no success, and no known error."""
    return Cause(
        rule=sign.rule.id if sign else "exit.0_partial",
        blame=Blame.USER,
        kind=Kind.EITHER,
        action=Action.HOLD,
        source=Source.EXIT,
        what=Advice(
            en=f"{worker.worker} ended with exit code 0 while the others go on",
            zh=f"{worker.worker} 以退出码 0 结束，而其他 Worker 仍在运行",
        ),
        confidence=0.8,
        sign=sign,
        worker=worker.worker,
        node=worker.node,
        advice=Advice(
            en="let every worker leave the training loop at the same step (uneven data?)",
            zh="请确保所有 Worker 在同一步退出训练循环（例如检查各 Worker 的数据量是否一致）",
        ),
    )


def ended_well() -> Cause:
    """Every worker ended with exit code 0, and the training said that it was complete."""
    return Cause(
        rule=None,
        blame=Blame.UNKNOWN,
        kind=Kind.EITHER,
        action=Action.IGNORE,
        source=Source.EXIT,
        what=Advice(en="every worker ended well", zh="所有 Worker 均正常结束"),
        confidence=0.9,
    )


def after_success(worker: WorkerEvidence) -> Cause:
    """The training said that it was complete, and then a worker ended badly."""
    return Cause(
        rule="exit.after_success",
        blame=Blame.FRAMEWORK,
        kind=Kind.EITHER,
        action=Action.HOLD,
        source=Source.LOG,
        what=Advice(
            en=f"the training was complete, then {described(worker).en}",
            zh=f"训练已完成，随后{described(worker).zh}",
        ),
        confidence=0.7,
        worker=worker.worker,
        node=worker.node,
        advice=Advice(
            en="check the result; it need not be trained again if the last checkpoint is complete",
            zh="请检查结果；若最后一个 checkpoint 完整，则无需重新训练",
        ),
    )


def unknown(worker: WorkerEvidence | None, hung: int | None = None) -> Cause:
    """Nothing known matched: safe is what costs others nothing."""
    silent = Advice(
        en=f"no progress for {hung} s, and nothing shows why",
        zh=f"连续 {hung} 秒没有进展，未发现原因",
    )
    nothing = Advice(en="no worker is known to have ended", zh="没有已结束的 Worker")
    ended = described(worker) if worker else nothing
    return Cause(
        rule=None,
        blame=Blame.UNKNOWN,
        kind=Kind.EITHER,
        action=Action.RETRY,
        source=Source.EXIT,
        what=silent if hung is not None else ended,
        confidence=0.2,
        worker=worker.worker if worker else None,
        node=worker.node if worker else None,
    )


def described(worker: WorkerEvidence) -> Advice:
    """Say in words how a worker ended."""
    code = worker.exit_code
    how = worker.cause if code is None else f"exit code {code}"
    how_zh = worker.cause if code is None else f"退出码 {code}"
    reason = f" ({worker.reason})" if worker.reason and worker.reason != "Error" else ""
    return Advice(
        en=f"{worker.worker} on {worker.node}: {how}{reason}",
        zh=f"节点 {worker.node} 上的 {worker.worker}：{how_zh}{reason}",
    )
