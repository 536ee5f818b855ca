"""What the workers of a gang have in common explains what no line of one of them does. Pure.

Called by `diagnosis`, only for what nothing known explains. A rule of a site may say better.
"""

from __future__ import annotations

import re
from dataclasses import replace

from muster.domain.diagnosis import Action, Advice, Blame, Kind, Source, Stage
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.cause import Cause, of_sign
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.fingerprint import normalised
from muster.fault_tolerance.core.passing import end_of, speaks_of_outside
from muster.fault_tolerance.core.ranking import TOGETHER, has_ended
from muster.fault_tolerance.core.rules import Role
from muster.fault_tolerance.core.signs import ended_at

START_S = 120
"""Who ended so soon had only read its command, its configuration and its environment."""
ALONE_S = 10
"""A worker that has no other to be compared with must have ended at once."""
_TORN_DOWN = frozenset({137, 143})
_NOT_OWN = frozenset({None, 0, *_TORN_DOWN})
_FRAME = re.compile(r'(?m)^\s*File "[^"]+", line \d+')
_READ = Advice(
    en="read the last lines: the command, its configuration or the image must change",
    zh="请查看最后几行输出：需要修改启动命令、配置或镜像",
    field="command",
)


def explained_together(cause: Cause, view: View) -> Cause:
    """Return what the whole gang says about an end that nothing known explains."""
    if cause.rule is not None or view.failure.exited:
        return cause
    for look in _LOOKS:
        found = look(cause, view)
        if found is not None:
            return found
    return cause


def _part_of_an_incident(cause: Cause, view: View) -> Cause | None:
    """Many jobs fail at once with something in common: this one with them."""
    elsewhere = view.failure.elsewhere
    if elsewhere.incident is None:
        return None
    shared = elsewhere.shared or elsewhere.incident
    return replace(
        cause,
        rule="gang.incident",
        blame=Blame.PLATFORM,
        kind=Kind.TRANSIENT,
        action=Action.RETRY,
        confidence=0.6,
        what=Advice(
            en=f"{elsewhere.jobs} other job(s) failed at the same time: {shared}",
            zh=f"同一时间另有 {elsewhere.jobs} 个任务失败：{shared}",
        ),
    )


def _stuck_on_one_node(cause: Cause, view: View) -> Cause | None:
    """A job stands still, and the kernel of one of its nodes says what its processes wait for."""
    if view.failure.hung is None:
        return None
    waits = [s for s in view.signs.nodes if s.rule.blame.infrastructure and s.node]
    nodes = {sign.node for sign in waits}
    if len(nodes) != 1 or len({w.node for w in view.failure.workers}) < 2:
        return None
    sign = waits[0]
    return replace(
        of_sign(sign),
        blame=sign.rule.blame,
        kind=Kind.TRANSIENT,
        action=Action.EXCLUDE,
        confidence=0.7,
        nodes=tuple(node for node in nodes if node),
    )


def _alike_at_the_start(cause: Cause, view: View) -> Cause | None:
    """All ended at once on different nodes with the same word: nothing there differs but the job.

    Not where a word speaks of something that passes: an outage, too, meets all at once.
    """
    workers = view.failure.workers
    ran = view.failure.ran_s
    if view.failure.hung is not None:
        return None
    if view.stage not in {None, Stage.CREATE, Stage.INIT} or ran is None:
        return None
    if ran > START_S and not all(_raised(worker) for worker in workers):
        return None
    apart = len({worker.node for worker in workers}) > 1
    if not _at_once(workers) or not (apart or ran <= ALONE_S):
        return None
    codes = {worker.exit_code for worker in workers}
    said = {_last_words(worker) for worker in workers}
    code = workers[0].exit_code
    if len(codes) > 1 or len(said) > 1 or code in _NOT_OWN:
        return None
    if not any(said) or any(speaks_of_outside(worker) for worker in workers):
        return None
    line = end_of(workers[0]).splitlines()[-1].strip()
    return replace(
        cause,
        rule="gang.alike",
        blame=Blame.USER,
        # a word of one alone is little: it is heard twice before the job is stopped for it
        kind=Kind.DETERMINISTIC if apart else Kind.EITHER,
        action=Action.STOP if apart else Action.RETRY_ONCE,
        source=Source.LOG if apart else Source.EXIT,
        confidence=0.6 if apart else 0.4,
        what=Advice(
            en=f"every worker ended with exit code {code} as soon as it began: {line[:120]}",
            zh=f"所有 Worker 启动后即以退出码 {code} 结束：{line[:120]}",
        ),
        advice=_READ,
    )


def _raised(worker: WorkerEvidence) -> bool:
    """Tell whether a worker ended by an exception of its program."""
    return _FRAME.search(end_of(worker)) is not None


def _at_once(workers: tuple[WorkerEvidence, ...]) -> bool:
    ends = [at for worker in workers if (at := ended_at(worker)) is not None]
    if len(ends) < len(workers) or not all(has_ended(worker) for worker in workers):
        return False
    return max(ends) - min(ends) <= TOGETHER


def _last_words(worker: WorkerEvidence) -> str:
    end = end_of(worker)
    return normalised(end.splitlines()[-1]) if end else ""


def _only_connections(cause: Cause, view: View) -> Cause | None:
    """Everybody who failed first names another one that went away, and nobody did go away."""
    if view.failure.hung is not None or view.first is None:
        return None
    torn = {w.worker for w in view.together() if w.exit_code in _TORN_DOWN} - {view.first.worker}
    blaming = [worker for worker in view.together() if worker.worker not in torn]
    if len(blaming) < 2 or not all(_names_another(view, worker) for worker in blaming):
        return None
    return replace(
        cause,
        rule="gang.connections",
        blame=Blame.NETWORK,
        kind=Kind.TRANSIENT,
        action=Action.RETRY,
        source=Source.LOG,
        confidence=0.5,
        what=Advice(
            en=f"{len(blaming)} workers lost their connections, and none of them went first",
            zh=f"{len(blaming)} 个 Worker 的连接中断，但没有任何一个先行退出",
        ),
    )


def _names_another(view: View, worker: WorkerEvidence) -> bool:
    told = view.signs.logs.get(worker.worker, ())
    return any(sign.rule.role is Role.CASCADE and sign.hit.peer for sign in told)


_LOOKS = (_part_of_an_incident, _stuck_on_one_node, _alike_at_the_start, _only_connections)
