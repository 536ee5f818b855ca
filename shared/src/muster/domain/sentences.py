"""What each event says to a person: one sentence in English and one in Chinese, with particulars.

Used wherever a timeline is shown. A sentence has only what its fact carries; the state's own reason
(`muster.domain.reasons`) says why. Values are data, never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from muster.domain import facts as f
from muster.domain.causes import EvictionCause, cause_zh
from muster.domain.survival import Outlook

SENTENCES: dict[str, tuple[str, str]] = {
    "submitted": ("submitted by {user} to pool {pool}", "由 {user} 提交到资源池 {pool}"),
    "admitted": ("admitted to the queue", "通过校验，进入排队"),
    "rejected": ("refused: {count} violation(s)", "提交被拒绝：{count} 处不符合规则"),
    "scheduled": (
        "placed on {nodes} node(s): {placement}{likely}",
        "已分配 {nodes} 个节点：{placement}{likely}",
    ),
    "unscheduled": ("placement taken back: {cause}", "已撤回分配：{cause}"),
    "declined": ("no room in its one round: {why}", "唯一一轮调度没有空位：{why_zh}"),
    "launching": (
        "starting every worker (attempt {attempt}){resuming}",
        "正在启动全部 Worker（第 {attempt} 次运行）{resuming}",
    ),
    "start_refused": ("the start was refused: {why}", "启动被拒绝：{why_zh}"),
    "start_failed": ("the start failed: {why}", "启动失败：{why}"),
    "started": (
        "every worker runs (attempt {attempt})",
        "全部 Worker 已运行（第 {attempt} 次运行）",
    ),
    "preempted": (
        "must leave its nodes: {cause}, for {by}, grace {grace_s} s",
        "需要让出节点：{cause}，受益任务 {by}，宽限 {grace_s} 秒",
    ),
    "grace_shortened": ("grace now ends at {deadline}", "宽限时间提前到 {deadline}"),
    "signalled": ("told every worker to stop", "已通知全部 Worker 停止"),
    "workers_failed": ("worker(s) ended badly: {failures}", "Worker 异常结束：{failures}"),
    "succeeded": ("every worker ended well", "全部 Worker 正常结束"),
    "released": ("nothing of it runs any more: nodes given back", "已确认全部进程结束，节点已释放"),
    "release_overdue": (
        "nodes not given back in time: {nodes}",
        "未按时释放的节点：{nodes}",
    ),
    "requeued": ("queued again after {cause}", "因 {cause} 重新排队"),
    "not_requeued": (
        "not queued again after {cause}: auto-queue is off",
        "因 {cause} 结束：未开启自动排队",
    ),
    "requeue_exhausted": (
        "not queued again after {cause}: every requeue is used",
        "因 {cause} 停止自动排队：重新排队次数已用完",
    ),
    "queue_timed_out": (
        "waited as long as it may (queue entry {entry})",
        "第 {entry} 次排队达到最大排队时长",
    ),
    "hang_suspected": ("may hang: {evidence}", "疑似卡死：{evidence}"),
    "hung": (
        "hangs, no progress for {seconds} s: {evidence}",
        "已卡死，{seconds} 秒无进展：{evidence}",
    ),
    "restarted": ("restarts on the same nodes: {why}", "在原节点重启：{why_zh}"),
    "replacement_ordered": ("moves to other nodes: {why}", "更换节点：{why_zh}"),
    "failed": ("failed: {why}", "运行失败：{why_zh}"),
    "escalated": ("parked: {why}", "已暂停：{why_zh}"),
    "run_timed_out": ("ran as long as it may", "达到最长运行时间"),
    "stop_requested": ("stop requested by {by}", "{by} 请求停止"),
    "stopped": ("the stop is complete", "停止完成"),
    "hold_ended": ("the debug hold is over", "调试保留结束"),
    "resumed": ("resumed by {by}", "由 {by} 恢复"),
    "respecified": ("limits or node policy changed by {by}", "{by} 修改了排队上限或节点策略"),
    "prioritised": (
        "priority {before} -> {priority} by {by}",
        "{by} 将优先级由 {before} 改为 {priority}",
    ),
    "relabelled": ("labels changed by {by}: {labels}", "{by} 修改标签：{labels}"),
    "shared": ("shared by {by} with {users}", "{by} 分享给 {users}"),
    "scale_requested": (
        "wants {replicas} worker(s) of role {role}",
        "请求将角色 {role} 扩到 {replicas} 个",
    ),
    "scaled_down": ("needs these workers no more: {workers}", "已缩容：{workers}"),
    "rescaled": ("more workers placed: {placement}", "已为新增 Worker 分配节点：{placement}"),
    "checkpoint_saved": (
        "the training saved a checkpoint of step {step}",
        "训练已保存 step {step} 的 checkpoint",
    ),
    "resume_verified": (
        "training goes on: step {step_before} -> {step_after}",
        "训练已从 checkpoint 继续：step {step_before} -> {step_after}",
    ),
    "progress_lost": (
        "training lost progress: step {step_before} -> {step_after}, {gpu_hours} GPU-hours",
        "训练进度丢失：step {step_before} -> {step_after}，损失 {gpu_hours} GPU 小时",
    ),
    "archived": ("its whole history is in the archive", "完整历史已归档"),
}
"""event -> English, Chinese. Every event of `muster.domain.facts.FACTS` stands here once."""

NOBODY = ("nobody", "无")


def sentence(fact: f.Fact) -> tuple[str, str]:
    """Return the English and the Chinese sentence of a fact."""
    english, chinese = SENTENCES[fact.event]
    return english.format_map(_values(fact, 0)), chinese.format_map(_values(fact, 1))


def _values(fact: f.Fact, language: int) -> dict[str, Any]:
    values = {name: _plain(getattr(fact, name), language) for name in type(fact).model_fields}
    return values | _extra(fact, language)


def _plain(value: object, language: int) -> str:
    match value:
        case None:
            return NOBODY[language]
        case EvictionCause() if language:
            return cause_zh(value)
        case str():
            return value
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S} UTC"
        case Mapping():
            return ", ".join(f"{key}={_plain(each, language)}" for key, each in value.items())
        case tuple():
            return ", ".join(_plain(each, language) for each in value)
    return str(value)


def _extra(fact: f.Fact, language: int) -> dict[str, Any]:
    match fact:
        case f.Rejected():
            return {"count": len(fact.violations)}
        case f.Scheduled():
            values = {"nodes": len(fact.placement), "placement": _placement(fact.placement)}
            return values | {"likely": _likely(fact.outlook, language)}
        case f.Launching():
            return {"resuming": _resuming(fact, language)}
        case f.Rescaled():
            return {"placement": _placement(fact.placement)}
        case f.StartRefused():
            return {"why_zh": fact.why_zh or fact.why}
        case f.WorkersFailed():
            return {"failures": ", ".join(_failure(failure) for failure in fact.failures)}
        case f.HangSuspected() | f.Hung():
            seen = (fact.evidence, fact.evidence_zh or fact.evidence)[language]
            return {"evidence": ("; ", "；")[language].join(seen[:SEEN])}
        case f.Declined() | f.Restarted() | f.ReplacementOrdered() | f.Failed() | f.Escalated():
            return {"why": fact.reason.en, "why_zh": fact.reason.zh}
    return {}


SEEN = 3
"""Of what a hang showed, so much is told in one line; the event has all of it."""


def _placement(placement: f.Placement) -> str:
    return "; ".join(f"{node} ({' '.join(workers)})" for node, workers in placement.items())


_FROM = ("; goes on from {path}", "；从 {path} 继续")
_SKIPPED = ("; skipped {name}: {why}", "；跳过 {name}：{why}")


def _resuming(fact: f.Launching, language: int) -> str:
    """Say which checkpoint a further attempt is given, and which newer ones are broken."""
    found = _FROM[language].format(path=fact.resume_from) if fact.resume_from else ""
    skipped = (_SKIPPED[language].format(name=x.name, why=x.why) for x in fact.skipped)
    return found + "".join(skipped)


_LIKELY = (
    "; keeps its place for {hours} h with {chance:.1%}",
    "；保留 {hours} 小时的概率 {chance:.1%}",
)


def _likely(outlook: Outlook | None, language: int) -> str:
    """Say how likely an idle job keeps its place, as far as that was known."""
    if outlook is None:
        return ""
    told = {1: outlook.survive_1h, 6: outlook.survive_6h}
    return "".join(
        _LIKELY[language].format(hours=hours, chance=chance)
        for hours, chance in told.items()
        if chance is not None
    )


def _failure(failure: f.WorkerFailure) -> str:
    how = failure.cause if failure.exit_code is None else f"exit code {failure.exit_code}"
    return f"{failure.worker}@{failure.node} {how}"
