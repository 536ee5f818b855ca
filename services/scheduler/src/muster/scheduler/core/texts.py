"""The scheduler's sentences, in English and Chinese: the catalogue, and amounts in words."""

from __future__ import annotations

from dataclasses import dataclass

from muster.domain.demand import Role
from muster.domain.reasons import Reason, ReasonCode, reason
from muster.domain.state import JobState
from muster.scheduler.core.amounts import CARD, Room
from muster.scheduler.core.doors import Shut
from muster.scheduler.core.placement import Shortfall
from muster.scheduler.core.quota import Short


@dataclass(frozen=True, slots=True)
class Text:
    """One sentence in two languages."""

    en: str
    zh: str

    def put(self, **values: object) -> Text:
        """Fill the gaps in both languages."""
        return Text(self.en.format(**values), self.zh.format(**values))


NO_ROOM = Text(
    "of {need} workers with {spec} each only {fits} fit into what is free now",
    "需要 {need} 个 Worker（每个 {spec}），当前空闲资源只能容纳 {fits} 个",
)
NODES_SHUT = Text(
    "too many nodes are closed to this job: of {need} workers with {spec} each only {fits} fit",
    "对该任务开放的节点不足：需要 {need} 个 Worker（每个 {spec}），只能容纳 {fits} 个",
)
NO_DOMAIN = Text(
    "the gang must stay within one {level}, and none holds all: of {need} workers with {spec} each"
    " the best one ({domain}) holds {fits}",
    "任务要求全部 Worker 位于同一 {level}，目前没有一个能全部容纳："
    "需要 {need} 个 Worker（每个 {spec}），最多的一个（{domain}）可容纳 {fits} 个",
)
NODES_ABSENT = Text(
    "the node policy names nodes that the pool does not have: {nodes}",
    "节点策略指定的节点不在资源池中：{nodes}",
)
NO_NODES = Text("the pool has no nodes yet", "资源池中还没有节点")
NOT_BEFORE = Text("it is not tried again before {at}", "{at} 之前不会再次尝试")
NOT_REACHED = Text(
    "the last round was full; the next one goes on from there", "本轮调度已满，下一轮继续"
)
SET_ASIDE = Text(
    "a decision about it could not be recorded; an operator should read the scheduler's log",
    "关于该任务的调度决定无法写入，请管理员查看调度器日志",
)
AWAITING = Text(
    "its nodes are reserved; it waits for {jobs} to leave them",
    "节点已预留，正在等待 {jobs} 释放",
)
LAUNCH = Text("its nodes are reserved; the start is under way", "节点已预留，正在启动")
NEVER = Text(
    "of {need} workers with {spec} each only {fits} fit even into an empty pool",
    "需要 {need} 个 Worker（每个 {spec}），即使资源池全部空闲也只能容纳 {fits} 个",
)
QUOTA_SHARE = Text(
    "the guaranteed share of tenant {tenant} is {limit} GPUs of {model}: {used} are taken by"
    " guaranteed jobs, this one asks for {asked}",
    "租户 {tenant} 的 {model} 保障份额为 {limit} 个 GPU："
    "保障任务已占用 {used} 个，本任务申请 {asked} 个",
)
QUOTA_CEILING = Text(
    "tenant {tenant} may hold {limit} GPUs of {model}: {used} are taken, this job asks for {asked}",
    "租户 {tenant} 的 {model} 上限为 {limit} 个 GPU：已占用 {used} 个，本任务申请 {asked} 个",
)
EVICTION_LIMIT = Text(
    "others would have to leave for it, and the pool's limit of evictions per minute is reached",
    "需要驱逐其他任务，但资源池每分钟的驱逐数已达上限",
)
NOT_QUEUED = Text("the job is not waiting for a placement", "该任务不在等待调度")

ON_NODE = Text(
    "{node}: {free} of {total} GPUs free, {cpus} CPU cores and {memory} MiB left",
    "{node}：空闲 {free}/{total} 张 GPU，剩余 {cpus} 核 CPU、{memory} MiB 内存",
)
MODEL = Text("{node}: GPU model {have}, not {want}", "{node}：GPU 型号为 {have}，不是 {want}")
LEAVING = Text("; {jobs} is leaving it", "；{jobs} 正在离开")

SHUT = {
    Shut.GONE: Text("{node}: no longer in the pool", "{node}：已不在资源池中"),
    Shut.LOST: Text("{node}: lost, nothing is heard of it", "{node}：已失联"),
    Shut.FENCED: Text("{node}: fenced off", "{node}：已隔离"),
    Shut.RECLAIMING: Text("{node}: is being taken back", "{node}：正在被回收"),
    Shut.DRAINING: Text("{node}: is being drained", "{node}：正在排空"),
    Shut.CORDONED: Text("{node}: closed to new work", "{node}：已停止接收新任务"),
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

HELP_GPUS = Text(
    "{count} more worker(s) would fit if that much became free on open nodes",
    "若开放节点再释放可容纳 {count} 个 Worker 的资源即可启动",
)
HELP_SMALLER = Text(
    "ask for less per worker, or for fewer workers: {fits} would fit now",
    "减少每个 Worker 的资源或 Worker 数量：当前可容纳 {fits} 个",
)
HELP_POLICY = Text(
    "widen the node policy: {count} node(s) are excluded", "放宽节点策略：{count} 个节点被排除"
)
HELP_OPEN = Text("open the closed nodes: {nodes}", "重新开放节点：{nodes}")
HELP_PRIORITY = Text(
    "a higher priority, since lower jobs may be evicted for it",
    "提高优先级，以便抢占更低优先级的任务",
)


def spec(role: Role) -> str:
    """Return what one worker needs, in words that both languages share."""
    model = f" ({role.gpu_model})" if role.gpu_model else ""
    gpus = f"{role.gpus}" if role.gpus else f"{role.gpu_milli / CARD:g}"
    parts = [f"{gpus} GPU{model}" if role.gpus or role.gpu_milli else ""]
    parts += [f"{role.cpus:g} CPU" if role.cpus else ""]
    parts += [f"{role.memory_mib} MiB" if role.memory_mib else ""]
    parts += [f"{amount} {name}" for name, amount in sorted(role.extended.items()) if amount]
    return ", ".join(part for part in parts if part) or "0"


def shortage(text: Text, short: Shortfall) -> Text:
    """Fill a sentence with what falls short."""
    if short.level is not None:
        return NO_DOMAIN.put(
            level=short.level,
            domain=short.domain,
            need=short.need,
            fits=short.fits,
            spec=spec(short.role),
        )
    return text.put(need=short.need, fits=short.fits, spec=spec(short.role))


def quota(short: Short) -> Text:
    """Say what of its shares a tenant has too little of."""
    return (QUOTA_SHARE if short.guaranteed else QUOTA_CEILING).put(
        tenant=short.tenant,
        model=short.gpu_model,
        limit=f"{short.limit / CARD:g}",
        used=f"{short.used / CARD:g}",
        asked=f"{short.asked / CARD:g}",
    )


def cores(amounts: Room) -> str:
    """Return CPU cores in decimal, never less than none."""
    return f"{max(0, amounts.cpus) / 1000:g}"


def waiting(why: Text) -> Reason:
    """Make the reason of a job that waits."""
    return reason(ReasonCode.WAITING, why=why.en, why_zh=why.zh)


def never(pool: str, short: Shortfall) -> Reason:
    """Make the reason of a job that its pool can never hold."""
    why = shortage(NEVER, short)
    return reason(ReasonCode.NEVER_FITS, pool=pool, why=why.en, why_zh=why.zh)


def insufficient_capacity(state: JobState, short: Shortfall | None) -> Reason:
    """Make the reason of a one-shot job that had its round."""
    role = short.role if short else state.demand.roles[0]
    fits = short.fits if short else 0
    need = short.need if short else role.replicas
    return reason(ReasonCode.INSUFFICIENT_CAPACITY, need=need, spec=spec(role), have=fits)
