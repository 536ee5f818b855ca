"""Why a job stands where it stands: a code for machines, a sentence in two languages for people.

Every reason that a state can carry is in `_TEXTS`; the code is stable and of low cardinality, so it
may be a metric label.
"""

from __future__ import annotations

from enum import StrEnum

from muster.domain.causes import cause_zh
from muster.domain.model import Frozen


class ReasonCode(StrEnum):
    """Stable codes; never reuse one for another meaning."""

    INVALID = "INVALID"
    WAITING = "WAITING"
    NEVER_FITS = "NEVER_FITS"
    INSUFFICIENT_CAPACITY = "INSUFFICIENT_CAPACITY"
    NO_DECISION = "NO_DECISION"
    SPOT_DISABLED = "SPOT_DISABLED"
    PREEMPTED = "PREEMPTED"
    EVICTED = "EVICTED"
    QUEUE_TIMEOUT = "QUEUE_TIMEOUT"
    REQUEUE_LIMIT = "REQUEUE_LIMIT"
    START_LIMIT = "START_LIMIT"
    START_REFUSED = "START_REFUSED"
    START_FAILED = "START_FAILED"
    PLAN_WITHDRAWN = "PLAN_WITHDRAWN"
    WORKER_FAILED = "WORKER_FAILED"
    HANG = "HANG"
    RESTART_LIMIT = "RESTART_LIMIT"
    NOT_RETRIED = "NOT_RETRIED"
    DETERMINISTIC = "DETERMINISTIC"
    RESTARTING = "RESTARTING"
    RESTARTING_FREE = "RESTARTING_FREE"
    RESTARTING_HUNG = "RESTARTING_HUNG"
    REPLACING = "REPLACING"
    PAUSED = "PAUSED"
    HANG_LIMIT = "HANG_LIMIT"
    INFRASTRUCTURE_LIMIT = "INFRASTRUCTURE_LIMIT"
    NEEDS_HUMAN = "NEEDS_HUMAN"
    UNDECIDED = "UNDECIDED"
    MAX_RUNTIME = "MAX_RUNTIME"
    STOPPED_BY_USER = "STOPPED_BY_USER"
    SUCCEEDED = "SUCCEEDED"


_TEXTS: dict[ReasonCode, tuple[str, str]] = {
    ReasonCode.INVALID: (
        "the request was refused: {count} violation(s)",
        "请求被拒绝：{count} 处不符合规则",
    ),
    ReasonCode.WAITING: ("waiting: {why}", "等待中：{why_zh}"),
    ReasonCode.NEVER_FITS: (
        "pool {pool} can never hold this job: {why}; ask for less or choose another pool",
        "资源池 {pool} 永远无法容纳该任务：{why_zh}；请减少申请量或更换资源池",
    ),
    ReasonCode.INSUFFICIENT_CAPACITY: (
        "insufficient spot capacity: {need} x {spec} needed, {have} schedulable",
        "Spot 库存不足：需要 {need} 个 {spec}，当前可调度 {have} 个",
    ),
    ReasonCode.NO_DECISION: (
        "insufficient spot capacity: no placement round could place it within {seconds} s",
        "Spot 库存不足：{seconds} 秒内未能完成调度",
    ),
    ReasonCode.SPOT_DISABLED: (
        "spot resources are not enabled for tenant {tenant} any more; an operator may give them"
        " back (muster quota spot {tenant} --on), then submit it again",
        "当前租户已不能使用 Spot 资源；请联系管理员为租户 {tenant} 重新开通"
        "（muster quota spot {tenant} --on）后重新提交",
    ),
    ReasonCode.PREEMPTED: (
        "was preempted by another task (by {by}, reason {cause})",
        "was preempted by another task（被 {by} 抢占，原因 {cause}）",
    ),
    ReasonCode.EVICTED: ("evicted: {cause}", "已被驱逐：{cause}"),
    ReasonCode.QUEUE_TIMEOUT: (
        "the queue time limit of {hours} h was reached; auto-queue has stopped and a person must"
        " act: resume, stop, or change the limits and resume",
        "排队时长达到上限 {hours} 小时，已停止自动排队，需人工处理：可恢复、停止，或修改上限后恢复",
    ),
    ReasonCode.REQUEUE_LIMIT: (
        "the limit of {limit} requeue(s) was reached (last eviction: {cause}); auto-queue has"
        " stopped and a person must act: resume, stop, or change the limits and resume",
        "重新排队次数达到上限 {limit} 次（最近一次驱逐原因：{cause}），已停止自动排队，需人工处理："
        "可恢复、停止，或修改上限后恢复",
    ),
    ReasonCode.START_LIMIT: (
        "the start was refused {count} times: {why}; correct the job, then resume or resubmit",
        "启动被拒绝 {count} 次：{why_zh}；请修正任务后恢复或重新提交",
    ),
    ReasonCode.START_REFUSED: ("the start was refused: {why}", "启动被拒绝：{why_zh}"),
    ReasonCode.START_FAILED: ("the start failed: {why}", "启动失败：{why_zh}"),
    ReasonCode.PLAN_WITHDRAWN: (
        "back in the same queue entry: {why}",
        "回到原排队：{why_zh}",
    ),
    ReasonCode.WORKER_FAILED: (
        "worker {worker} on {node} ended: {why}",
        "节点 {node} 上的 {worker} 已结束：{why_zh}",
    ),
    ReasonCode.HANG: (
        "no progress for {seconds} s",
        "连续 {seconds} 秒没有进展",
    ),
    ReasonCode.RESTART_LIMIT: (
        "all {limit} restart(s) are used; last failure: {why}",
        "{limit} 次自动重启已用完；最近一次失败：{why_zh}",
    ),
    ReasonCode.NOT_RETRIED: (
        "{why}; automatic restart is off or does not cover this failure",
        "{why_zh}；未开启自动容错，或该故障不在重试范围内",
    ),
    ReasonCode.DETERMINISTIC: (
        "{why}; the same would happen again, so it is not retried",
        "{why_zh}；重试也会得到同样的结果，因此不再重试",
    ),
    ReasonCode.RESTARTING_FREE: (
        "{why}; tried again, and none of its retries is used ({count} of {limit} within 24 h)",
        "{why_zh}；将重新启动，不消耗重试次数（24 小时内第 {count} 次，上限 {limit} 次）",
    ),
    ReasonCode.REPLACING: (
        "{why}; the job goes on on other nodes, and none of its retries is used",
        "{why_zh}；任务将迁移到其他节点继续运行，不消耗重试次数",
    ),
    ReasonCode.PAUSED: (
        "{why}; many jobs are affected, so it waits and none of its retries is used",
        "{why_zh}；多个任务受到影响，任务将暂缓重试，不消耗重试次数",
    ),
    ReasonCode.HANG_LIMIT: (
        "{why}; restarted {limit} time(s) without any progress, so a person must look",
        "{why_zh}；已重启 {limit} 次仍没有进展，需人工检查",
    ),
    ReasonCode.RESTARTING: (
        "restart {count} of {limit}: {why}",
        "第 {count}/{limit} 次自动重启：{why_zh}",
    ),
    ReasonCode.RESTARTING_HUNG: (
        "{why}; restart {count} of {limit} that a hang allows, and none of its retries is used",
        "{why_zh}；因卡死自动重启（第 {count} 次，上限 {limit} 次），不消耗重试次数",
    ),
    ReasonCode.INFRASTRUCTURE_LIMIT: (
        "{count} infrastructure failures within 24 h; a person must look at the nodes",
        "24 小时内发生 {count} 次基础设施故障，需人工检查节点",
    ),
    ReasonCode.NEEDS_HUMAN: ("a person must decide: {why}", "需人工处理：{why_zh}"),
    ReasonCode.UNDECIDED: (
        "no verdict on the failure within {seconds} s; a person must decide",
        "{seconds} 秒内未能判定故障，需人工处理",
    ),
    ReasonCode.MAX_RUNTIME: (
        "the maximum run time of {seconds} s was reached",
        "达到最长运行时间 {seconds} 秒",
    ),
    ReasonCode.STOPPED_BY_USER: ("stopped by {by}", "由 {by} 停止"),
    ReasonCode.SUCCEEDED: ("every worker ended with exit code 0", "所有 Worker 均以退出码 0 结束"),
}


def texts_of(code: ReasonCode) -> tuple[str, str]:
    """Return the English and the Chinese text of a code, with its {places} open."""
    return _TEXTS[code]


class Reason(Frozen):
    """A code with its sentence in English and Chinese; texts inside are data, never markup."""

    code: ReasonCode
    en: str
    zh: str

    def text(self, lang: str) -> str:
        """Return the sentence for `lang` ("zh" or anything else for English)."""
        return self.zh if lang == "zh" else self.en


def reason(code: ReasonCode, **values: object) -> Reason:
    """Build a reason from the catalogue. Raises KeyError when the text names a missing value."""
    english, chinese = _TEXTS[code]
    values["why_zh"] = values.get("why_zh") or values.get("why")
    translated = {"cause": cause_zh(str(values["cause"]))} if "cause" in values else {}
    zh = chinese.format(**(values | translated))
    return Reason(code=code, en=english.format(**values), zh=zh)


def because(said: Reason, why: Reason) -> Reason:
    """Return a reason that also tells what the last placement round said."""
    return Reason(
        code=said.code,
        en=f"{said.en}; the last placement round said: {why.en}",
        zh=f"{said.zh}；最近一轮调度：{why.zh}",
    )


def advised(said: Reason, advice_en: str, advice_zh: str) -> Reason:
    """Return a reason that also tells a person what to do."""
    return Reason(
        code=said.code, en=f"{said.en}. To do: {advice_en}", zh=f"{said.zh}。建议：{advice_zh}"
    )
