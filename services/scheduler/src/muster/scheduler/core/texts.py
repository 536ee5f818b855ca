"""The scheduler's sentences about nodes and remedies, in English and Chinese; amounts in words.

Why a job waits is said in `muster.domain.waiting_words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from muster.domain.demand import Role
from muster.domain.reasons import Reason, ReasonCode, reason
from muster.domain.state import JobState
from muster.domain.waiting import Help, HelpKind, NodeNote
from muster.scheduler.core.amounts import CARD, Room
from muster.scheduler.core.doors import Shut
from muster.scheduler.core.placement import Shortfall


@dataclass(frozen=True, slots=True)
class Text:
    """One sentence in two languages."""

    en: str
    zh: str

    def put(self, **values: object) -> Text:
        """Fill the gaps in both languages."""
        return Text(self.en.format(**values), self.zh.format(**values))


ON_NODE = Text(
    "{node}: {free} of {total} GPUs free, {cpus} CPU cores and {memory} MiB left",
    "{node}：空闲 {free}/{total} 张 GPU，剩余 {cpus} 核 CPU、{memory} MiB 内存",
)
MODEL = Text("{node}: GPU model {have}, not {want}", "{node}：GPU 型号为 {have}，不是 {want}")
FOREIGN = Text("; {foreign} are taken by others", "；{foreign} 个被外部程序占用")
LEAVING = Text("; {jobs} is leaving it", "；{jobs} 正在离开")

SHUT = {
    Shut.GONE: Text("{node}: no longer in the pool", "{node}：已不在资源池中"),
    Shut.LOST: Text("{node}: lost, nothing is heard of it", "{node}：已失联"),
    Shut.FENCED: Text("{node}: fenced off", "{node}：已隔离"),
    Shut.RECLAIMING: Text("{node}: is being taken back", "{node}：正在被回收"),
    Shut.DRAINING: Text("{node}: is being drained", "{node}：正在排空"),
    Shut.CORDONED: Text("{node}: closed to new work", "{node}：已停止接收新任务"),
    Shut.EXCLUDED: Text(
        "{node}: kept out for a while, failures of several jobs point at it",
        "{node}：多个任务的故障指向该节点，暂时排除",
    ),
    Shut.POLICY: Text("{node}: excluded by the job's node policy", "{node}：被任务的节点策略排除"),
    Shut.ZONE: Text("{node}: in another zone than the job's", "{node}：不在任务指定的可用区"),
    Shut.AVOID: Text(
        "{node}: avoided after a failure of this job there", "{node}：该任务曾在此故障，已避开"
    ),
    Shut.TAINT: Text(
        "{node}: has a taint that the job does not tolerate", "{node}：带有任务未容忍的污点"
    ),
    Shut.BLOCKED: Text(
        "{node}: on the block list of the job's tenant or user", "{node}：在租户或用户的屏蔽列表中"
    ),
    Shut.SPOT: Text("{node}: spot capacity, not for this job", "{node}：Spot 资源，该任务不可使用"),
}

HELP_GUARD = Text(
    "it would be placed at {until}: until then the guards of {count} lower job(s) hold (minimum run"
    " time, cool-down), and then they may be evicted for it: {jobs}",
    "{until} 可调度：在此之前有 {count} 个更低优先级的任务受保护（最短运行时间、冷却期），"
    "之后可被其抢占：{jobs}",
)
HELP_WAIT = Text(
    "it would be placed at {until}, if nothing else changes",
    "若无其他变化，将于 {until} 可调度",
)
HELP_ROOM = Text(
    "{count} more worker(s) with {spec} would fit if that much became free on open nodes",
    "若开放节点再释放可容纳 {count} 个 Worker（每个 {spec}）的资源即可启动",
)
HELP_SMALLER = Text(
    "ask for less per worker, or for fewer workers: {fits} would fit now",
    "减少每个 Worker 的资源或 Worker 数量：当前可容纳 {fits} 个",
)
HELP_SMALLER_EVER = Text(
    "ask for less per worker, or for fewer workers: {fits} would fit into the empty pool",
    "减少每个 Worker 的资源或 Worker 数量：资源池全部空闲时可容纳 {fits} 个",
)
HELP_POLICY = Text(
    "without its node policy, which excludes {count} node(s), it would be placed now",
    "去掉节点策略（排除了 {count} 个节点）即可立即调度",
)
HELP_OPEN = Text(
    "with these nodes open (muster node uncordon) it would be placed now: {nodes}",
    "重新开放以下节点（muster node uncordon）即可立即调度：{nodes}",
)
HELP_LOCALITY = Text(
    "if all in one {level} was preferred instead of required, it would be placed now",
    "若将“位于同一 {level}”由必须改为优先，即可立即调度",
)
HELP_PRIORITY = Text(
    "with priority {priority} it would be placed now, and {count} job(s) would be evicted: {jobs}",
    "优先级提高到 {priority} 即可立即调度，将抢占 {count} 个任务：{jobs}",
)
HELP_CUT = Text(
    "more may help: after {count} trials nothing further was tried",
    "可能还有其他办法：已尝试 {count} 次，未继续尝试",
)
HELP_FRONT = Text(
    "with priority {priority} it would come before others in the queue, and be placed now",
    "优先级提高到 {priority} 即可排到其他任务之前并立即调度",
)


def help_of(
    kind: HelpKind,
    text: Text,
    *,
    at: datetime | None = None,
    proven: bool = False,
    **numbers: int | str,
) -> Help:
    """Fill in what would help."""
    said = text.put(**numbers)
    return Help(kind=kind, en=said.en, zh=said.zh, numbers=numbers, proven=proven, at=at)


def note(node: str, code: str, text: Text, **numbers: int | str) -> NodeNote:
    """Fill in what is to be said of a node."""
    said = text.put(node=node, **numbers)
    return NodeNote(node=node, code=code, en=said.en, zh=said.zh, numbers=numbers)


def clock(at: datetime) -> str:
    """Return an instant as people read it."""
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


def spec(role: Role) -> str:
    """Return what one worker needs, in words that both languages share."""
    model = f" ({role.gpu_model})" if role.gpu_model else ""
    gpus = f"{role.gpus}" if role.gpus else f"{role.gpu_milli / CARD:g}"
    parts = [f"{gpus} GPU{model}" if role.gpus or role.gpu_milli else ""]
    parts += [f"{role.cpus:g} CPU" if role.cpus else ""]
    parts += [f"{role.memory_mib} MiB" if role.memory_mib else ""]
    parts += [f"{amount} {name}" for name, amount in sorted(role.extended.items()) if amount]
    return ", ".join(part for part in parts if part) or "0"


def gpus(thousandths: int) -> str:
    """Return GPUs in decimal."""
    return f"{thousandths / CARD:g}"


def cores(amounts: Room) -> str:
    """Return CPU cores in decimal, never less than none."""
    return f"{max(0, amounts.cpus) / 1000:g}"


def insufficient_capacity(state: JobState, short: Shortfall | None) -> Reason:
    """Make the reason of a one-shot job that had its round."""
    role = short.role if short else state.demand.roles[0]
    fits = short.fits if short else 0
    need = short.need if short else role.replicas
    return reason(ReasonCode.INSUFFICIENT_CAPACITY, need=need, spec=spec(role), have=fits)
