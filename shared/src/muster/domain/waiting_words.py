"""The words of every reason why a job does not run, and what helps in general, in two languages.

`why(code, ...)` fills a sentence in. The reference page and the command line read the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from muster.domain.causes import cause_zh
from muster.domain.reasons import Reason, ReasonCode, reason
from muster.domain.waiting import Help, HelpKind, Tier, Why, WhyCode


@dataclass(frozen=True, slots=True)
class Words:
    """en, zh: the sentence, with its {places} open. helps, helps_zh: what unblocks, in general.

    steady, steady_zh: the same without amounts that change from round to round, for what is kept.
    """

    tier: Tier
    en: str
    zh: str
    helps: str
    helps_zh: str
    steady: str = ""
    steady_zh: str = ""


WORDS: dict[WhyCode, Words] = {
    WhyCode.NOT_BEFORE: Words(
        Tier.JOB,
        "it is not tried again before {at}",
        "{at} 之前不会再次尝试",
        "wait: a start was refused shortly before, and the pause before the next one is not over",
        "等待即可：此前启动被拒绝，尚处于再次尝试前的间隔",
    ),
    WhyCode.SET_ASIDE: Words(
        Tier.SCHEDULER,
        "a decision about it could not be recorded; an operator should read the scheduler's log",
        "关于该任务的调度决定无法写入，请管理员查看调度器日志",
        "an operator reads the scheduler's log; any further event of the job lets it be tried anew",
        "请管理员查看调度器日志；该任务产生新事件后会再次尝试",
    ),
    WhyCode.QUOTA: Words(
        Tier.TENANT,
        "tenant {tenant} may hold {limit} GPUs of {model}: {used} are taken, this job asks for"
        " {asked}",
        "租户 {tenant} 的 {model} 上限为 {limit} 个 GPU：已占用 {used} 个，本任务申请 {asked} 个",
        "other jobs of the tenant end, an operator raises its ceiling or share, or a guaranteed job"
        " gives up its guarantee",
        "等待本租户其他任务结束，或由管理员提高上限/保障份额，或放弃该任务的保障",
        "tenant {tenant} may hold {limit} GPUs of {model}, and too few of these are left for the"
        " {asked} of this job",
        "租户 {tenant} 的 {model} 上限为 {limit} 个 GPU，剩余不足本任务申请的 {asked} 个",
    ),
    WhyCode.STOCK: Words(
        Tier.CAPACITY,
        "of spot GPUs {model} in zone {zone} {offered} are offered and {used} are held; this job"
        " asks for {asked}",
        "可用区 {zone} 的 {model} Spot 库存为 {offered} 个 GPU，已占用 {used} 个，"
        "本任务申请 {asked} 个",
        "the stock grows, other spot jobs end, or the job names another zone or GPU model",
        "等待库存增加或其他 Spot 任务结束，或更换可用区、GPU 型号",
        "of spot GPUs {model} in zone {zone} too few are offered for the {asked} of this job",
        "可用区 {zone} 的 {model} Spot 库存不足本任务申请的 {asked} 个 GPU",
    ),
    WhyCode.SPOT_DISABLED: Words(
        Tier.TENANT,
        "spot resources are not enabled for tenant {tenant} any more; what runs goes on, what waits"
        " does not start",
        "租户 {tenant} 已不能使用 Spot 资源：运行中的任务继续运行，排队的任务不会启动",
        "an operator enables spot for the tenant again (muster quota spot TENANT --on), or the job"
        " is stopped and submitted with another resource type",
        "请管理员为租户重新开通 Spot（muster quota spot TENANT --on），"
        "或停止该任务并以其他资源类型重新提交",
    ),
    WhyCode.SPOT_QUOTA: Words(
        Tier.CAPACITY,
        "spot jobs may hold {quota} GPUs of {model} on nodes that other jobs may take back: {used}"
        " are held, this job asks for {asked}; of {capacity} GPUs other jobs are reckoned to need"
        " {forecast}",
        "Spot 任务在可被其他任务收回的节点上最多占用 {quota} 个 {model} GPU：已占用 {used} 个，"
        "本任务申请 {asked} 个；共 {capacity} 个 GPU，预计其他任务需要 {forecast} 个",
        "other spot jobs end, the demand of other jobs falls, or the job is submitted on demand;"
        " `muster stock quota` shows what it follows from",
        "等待其他 Spot 任务结束或其他任务的需求下降，或改用按量资源提交；"
        "可用 `muster stock quota` 查看其依据",
        "of what spot jobs may hold of {model} on nodes that other jobs may take back, too little"
        " is left for the {asked} GPUs of this job",
        "Spot 任务在可被其他任务收回的 {model} 节点上的配额，剩余不足本任务申请的 {asked} 个 GPU",
    ),
    WhyCode.NO_NODES: Words(
        Tier.POOL,
        "the pool has no nodes yet",
        "资源池中还没有节点",
        "a node joins the pool, or the job names another pool",
        "等待节点加入资源池，或更换资源池",
    ),
    WhyCode.NODES_ABSENT: Words(
        Tier.POOL,
        "the node policy names nodes that the pool does not have: {nodes}",
        "节点策略指定的节点不在资源池中：{nodes}",
        "the named nodes join, or the node policy is widened",
        "等待指定节点加入，或放宽节点策略",
    ),
    WhyCode.NEVER_FITS: Words(
        Tier.POOL,
        "of {need} workers with {spec} each only {fits} fit even into an empty pool",
        "需要 {need} 个 Worker（每个 {spec}），即使资源池全部空闲也只能容纳 {fits} 个",
        "the job asks for less per worker or for fewer workers, names another GPU model or pool, or"
        " the pool grows",
        "减少每个 Worker 的资源或 Worker 数量，更换 GPU 型号或资源池，或等待资源池扩容",
    ),
    WhyCode.NO_DOMAIN: Words(
        Tier.CAPACITY,
        "the gang must stay within one {level}, and none holds all now: of {need} workers with"
        " {spec} each the best one ({domain}) holds {fits}",
        "任务要求全部 Worker 位于同一 {level}，目前没有一个能全部容纳："
        "需要 {need} 个 Worker（每个 {spec}），最多的一个（{domain}）可容纳 {fits} 个",
        "room comes free within one domain, the locality becomes preferred or names a coarser"
        " level, or the job asks for less",
        "等待同一区域内释放资源，将 locality 改为 preferred 或更粗的级别，或减少申请量",
        "the gang must stay within one {level}, and none holds all {need} workers with {spec} each"
        " now",
        "任务要求全部 Worker 位于同一 {level}，目前没有一个能容纳 {need} 个 Worker（每个 {spec}）",
    ),
    WhyCode.NODES_SHUT: Words(
        Tier.NODES,
        "too many nodes are closed to this job: of {need} workers with {spec} each only {fits} fit",
        "对该任务开放的节点不足：需要 {need} 个 Worker（每个 {spec}），只能容纳 {fits} 个",
        "an operator opens closed nodes (uncordon), lost nodes come back, or nodes join",
        "请管理员重新开放节点（uncordon），或等待失联节点恢复、新节点加入",
        "too many nodes are closed to this job: {need} workers with {spec} each do not all fit",
        "对该任务开放的节点不足：无法容纳 {need} 个 Worker（每个 {spec}）",
    ),
    WhyCode.NO_ROOM: Words(
        Tier.CAPACITY,
        "of {need} workers with {spec} each only {fits} fit into what is free now",
        "需要 {need} 个 Worker（每个 {spec}），当前空闲资源只能容纳 {fits} 个",
        "jobs end, nodes join, the job asks for less, or it has a higher priority than jobs that"
        " may be evicted for it",
        "等待其他任务结束或节点加入，减少申请量，或提高优先级以抢占更低优先级的任务",
        "{need} worker(s) with {spec} each do not all fit into what is free now",
        "当前空闲资源无法同时容纳 {need} 个 Worker（每个 {spec}）",
    ),
    WhyCode.EVICTION_LIMIT: Words(
        Tier.CAPACITY,
        "others would leave for it, but the pool's limit of {limit} evictions a minute is reached",
        "可通过抢占获得资源，但已达到资源池每分钟 {limit} 次驱逐的上限",
        "wait a minute: the limit keeps one job from emptying a pool at once",
        "等待一分钟即可：该上限用于防止驱逐风暴",
    ),
    WhyCode.RESERVED: Words(
        Tier.ORDER,
        "what is free now is reserved for {by}, which has waited longer; starting this job could"
        " delay it",
        "当前空闲资源已为等待更久的 {by} 预留，启动该任务可能使其延后",
        "the reserved job starts, or this one states a run time that ends before it could",
        "等待预留任务启动，或为该任务设置足够短的最长运行时间",
    ),
    WhyCode.BEHIND: Words(
        Tier.ORDER,
        "the pool serves strictly in order, and a job before it waits for room",
        "资源池严格按顺序调度，排在前面的任务仍在等待资源",
        "wait: it comes right after those before it",
        "等待即可：排在前面的任务启动后即轮到它",
    ),
    WhyCode.NOT_REACHED: Words(
        Tier.ORDER,
        "the last round was full; the next one goes on from there",
        "本轮调度已满，下一轮继续",
        "wait: rounds follow each other within a second, and each goes on where the last one ended",
        "等待即可：下一轮将从上一轮结束处继续",
    ),
    WhyCode.NO_ROUND: Words(
        Tier.SCHEDULER,
        "no placement round has dealt with it yet",
        "尚未有调度轮次处理该任务",
        "wait some seconds; `muster doctor` tells whether a scheduler runs for its pool",
        "等待几秒；可用 `muster doctor` 检查该资源池的调度器是否运行",
    ),
    WhyCode.SUPPOSED_GONE: Words(
        Tier.JOB,
        "this job itself is supposed to be gone, so there is nothing to say of its place",
        "假设中已停止该任务本身，因此无从解释其排队情况",
        "ask about another job under this what-if, or about this one without it",
        "在该假设下查询其他任务，或去掉该假设再查询本任务",
    ),
    WhyCode.FITS_NOW: Words(
        Tier.ORDER,
        "it fits, and the next round places it",
        "资源已满足，下一轮调度将放置该任务",
        "wait: the next round comes within a second",
        "等待即可：下一轮调度将在一秒内进行",
    ),
    WhyCode.DECLINED: Words(
        Tier.CAPACITY,
        "it has one round only, and does not fit: of {need} workers with {spec} each only {fits}"
        " fit into what is free now",
        "该任务只尝试一轮且资源不足：需要 {need} 个 Worker（每个 {spec}），当前只能容纳 {fits} 个",
        "submit it with auto-queue on, so that it waits for room",
        "开启自动排队后重新提交，即可等待资源",
    ),
    WhyCode.VICTIMS: Words(
        Tier.CAPACITY,
        "its nodes are reserved; it waits for {jobs} to leave them",
        "节点已预留，正在等待 {jobs} 释放",
        "wait: who overstays is killed, and a node that never frees is given up",
        "等待其释放节点；超时将被强制结束，始终不释放的节点会被放弃",
    ),
    WhyCode.LAUNCH: Words(
        Tier.JOB,
        "its nodes are reserved; the start is under way",
        "节点已预留，正在启动",
        "wait: the executor starts all workers or none before the start deadline",
        "等待即可：执行器将在启动截止时间前同时启动所有 Worker",
    ),
    WhyCode.SUBMITTED: Words(
        Tier.JOB,
        "it is submitted and not yet admitted",
        "已提交，尚未准入",
        "wait some seconds; `muster doctor` tells whether admission runs",
        "等待几秒；可用 `muster doctor` 检查 admission 是否运行",
    ),
    WhyCode.REJECTED: Words(
        Tier.JOB,
        "it was refused: {why}",
        "已被拒绝：{why_zh}",
        "correct what the violations name, and submit it again",
        "按提示修正后重新提交",
    ),
    WhyCode.RUNNING: Words(
        Tier.JOB,
        "it is running",
        "正在运行",
        "nothing is to be done",
        "无需处理",
    ),
    WhyCode.EVICTING: Words(
        Tier.JOB,
        "it is leaving its nodes ({cause})",
        "正在离开节点（{cause}）",
        "wait: once every process is proven gone it queues again, or stops for a person",
        "等待即可：确认全部进程结束后将重新排队，或转为需人工处理",
    ),
    WhyCode.INTERRUPTED: Words(
        Tier.JOB,
        "it was taken off its nodes and is about to be queued again",
        "已离开节点，即将重新排队",
        "wait some seconds; `muster doctor` tells whether requeue runs",
        "等待几秒；可用 `muster doctor` 检查 requeue 是否运行",
    ),
    WhyCode.FAULTED: Words(
        Tier.JOB,
        "workers failed, and what to do about it is being decided",
        "Worker 发生故障，正在判定处理方式",
        "wait some seconds: it is restarted, queued again, or ends",
        "等待几秒：将自动重启、重新排队或结束",
    ),
    WhyCode.STOPPING: Words(
        Tier.JOB,
        "it is being stopped",
        "正在停止",
        "resubmit it if it should run",
        "如需运行请重新提交",
    ),
    WhyCode.DEBUG_HOLDING: Words(
        Tier.JOB,
        "it has ended, and its cluster is held for debugging",
        "任务已结束，集群保留供调试",
        "stop it to give its nodes back",
        "停止任务即可释放节点",
    ),
    WhyCode.ABNORMAL: Words(
        Tier.JOB,
        "a person must act: {why}",
        "需人工处理：{why_zh}",
        "muster resume, muster stop, or change its limits and resume",
        "使用 muster resume 或 muster stop，或修改上限后恢复",
    ),
    WhyCode.STOPPED: Words(
        Tier.JOB,
        "it was stopped",
        "任务已停止",
        "resubmit it if it should run",
        "如需运行请重新提交",
    ),
    WhyCode.SUCCEEDED: Words(
        Tier.JOB,
        "it has succeeded",
        "任务已成功",
        "nothing is to be done",
        "无需处理",
    ),
    WhyCode.FAILED: Words(
        Tier.JOB,
        "it has failed: {why}",
        "任务已失败：{why_zh}",
        "correct the cause and submit it again",
        "修正原因后重新提交",
    ),
}


KINDS: dict[tuple[WhyCode, str], Words] = {
    (WhyCode.QUOTA, "share"): replace(
        WORDS[WhyCode.QUOTA],
        en="the guaranteed share of tenant {tenant} is {limit} GPUs of {model}: {used} are taken by"
        " guaranteed jobs, this one asks for {asked}",
        zh="租户 {tenant} 的 {model} 保障份额为 {limit} 个 GPU："
        "保障任务已占用 {used} 个，本任务申请 {asked} 个",
        steady="the guaranteed share of tenant {tenant} is {limit} GPUs of {model}, and its"
        " guaranteed jobs leave too few of these for the {asked} of this one",
        steady_zh="租户 {tenant} 的 {model} 保障份额为 {limit} 个 GPU，"
        "剩余不足本任务申请的 {asked} 个",
    ),
    (WhyCode.NEVER_FITS, "domain"): replace(
        WORDS[WhyCode.NEVER_FITS],
        en="no {level} could ever hold the whole gang, which must stay within one: of {need}"
        " workers with {spec} each {fits} fit into the best one ({domain}), even if it is empty",
        zh="任务要求全部 Worker 位于同一 {level}，但没有一个能全部容纳："
        "需要 {need} 个 Worker（每个 {spec}），"
        "最多的一个（{domain}）全部空闲时也只能容纳 {fits} 个",
    ),
    (WhyCode.NEVER_FITS, "label"): replace(
        WORDS[WhyCode.NEVER_FITS],
        en="the gang must stay within one {level}, but no node of the pool has the label {level}:"
        " probably it is misspelt",
        zh="任务要求全部 Worker 位于同一 {level}，但资源池中没有节点带有标签 {level}，可能拼写有误",
    ),
}
"""Other words for a code, by its number `kind`."""

_UNTIL = {
    "limits": ("it starts by {until}", "最迟于 {until} 启动"),
    "learned": (
        "by what such jobs have taken it starts by {until}",
        "根据同类任务的历史运行时长，预计于 {until} 前启动",
    ),
    "unknown": (
        "nobody knows until when, as it waits for jobs without a limit on their run time",
        "时间未知，因为它所等待的任务没有运行时长上限",
    ),
}


def _kept(basis: str, until: tuple[str, str]) -> dict[tuple[WhyCode, str], Words]:
    """Return the words about room that is kept: for whom, and for those behind."""
    mine, theirs = WORDS[WhyCode.NO_ROOM], WORDS[WhyCode.RESERVED]
    for_it = "; since {since} what becomes free on {nodes} node(s) is kept for it"
    for_it_zh = "；自 {since} 起，{nodes} 个节点上释放的资源为其保留"
    for_other = "there is room for it, but the room is kept for {by}, which stands before it"
    for_other_zh = "有可用资源，但已为排在其前的 {by} 保留"
    return {
        (WhyCode.NO_ROOM, f"kept by {basis}"): replace(
            mine,
            en=f"{mine.en}{for_it}: {until[0]}",
            zh=f"{mine.zh}{for_it_zh}：{until[1]}",
            steady=f"{mine.steady}; room is kept for it since {{since}}",
            steady_zh=f"{mine.steady_zh}；自 {{since}} 起为其保留资源",
        ),
        (WhyCode.RESERVED, f"kept by {basis}"): replace(
            theirs,
            en=f"{for_other} and has waited too long: {until[0]}",
            zh=f"{for_other_zh}，其已等待过久：{until[1]}",
            steady=f"{for_other} and has waited too long",
            steady_zh=f"{for_other_zh}，其已等待过久",
        ),
    }


for _basis, _until in _UNTIL.items():
    KINDS |= _kept(_basis, _until)


def why(code: WhyCode, **numbers: int | str) -> Why:
    """Fill in the sentence of a code. Raises KeyError when a number is missing."""
    words = _words(code, numbers)
    said = numbers | ({"cause": cause_zh(str(numbers["cause"]))} if "cause" in numbers else {})
    return Why(
        code=code,
        tier=words.tier,
        en=words.en.format(**numbers),
        zh=words.zh.format(**said),
        numbers={name: value for name, value in numbers.items() if name not in _SPOKEN},
    )


def _words(code: WhyCode, numbers: Mapping[str, int | str]) -> Words:
    return KINDS.get((code, str(numbers.get("kind"))), WORDS[code])


_SPOKEN = frozenset({"why", "why_zh"})
"""Sentences within sentences: not for programs."""

UNSTEADY = frozenset({"fits", "domain", "used", "until", "nodes", "quota", "capacity", "forecast"})
"""Numbers that may be others in every round."""


def steady(told: Why) -> Why:
    """Return a reason without what changes from round to round, though nothing else does."""
    words = _words(WhyCode(told.code), told.numbers)
    if not words.steady:
        return told
    kept = {name: value for name, value in told.numbers.items() if name not in UNSTEADY}
    return told.model_copy(
        update={
            "en": words.steady.format(**kept),
            "zh": words.steady_zh.format(**kept),
            "numbers": kept,
        }
    )


def in_general(code: WhyCode) -> Help:
    """Return what helps against a reason, whatever the case."""
    words = WORDS[code]
    return Help(kind=HelpKind.GENERAL, en=words.helps, zh=words.helps_zh)


def spoken(told: Why, pool: str) -> Reason:
    """Return a reason why a queued job waits as people are shown it."""
    if told.code == WhyCode.NEVER_FITS:
        return reason(ReasonCode.NEVER_FITS, pool=pool, why=told.en, why_zh=told.zh)
    return reason(ReasonCode.WAITING, why=told.en, why_zh=told.zh)
