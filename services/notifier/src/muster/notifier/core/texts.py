"""Every sentence that the notifier says, in English and Chinese: the one catalogue.

A sentence is picked by `say(key, language)`. Values put into it are untrusted and must have passed
`plain.clean`. Names of displayed states come from the domain, not from here.
"""

from __future__ import annotations

from muster.notifier.core.notice import Language

_TEXTS: dict[str, tuple[str, str]] = {
    "queued.first": (
        "The job entered the queue and waits until all of its workers fit at the same time.",
        "任务已进入排队，等待全部 Worker 所需资源同时可用。",
    ),
    "queued.again": (
        "The job was interrupted and queues again: {reason}",
        "任务被中断，已重新排队：{reason}",
    ),
    "queued.next": ("Nothing to do: it starts by itself.", "无需操作：获得资源后自动启动。"),
    "queued.next_deadline": (
        "Nothing to do: it starts by itself. Still waiting at {deadline}, it needs a person.",
        "无需操作：获得资源后自动启动。若到 {deadline} 仍在排队，将进入异常状态，需人工处理。",
    ),
    "running.first": ("All workers are ready; the job runs.", "全部 Worker 已就绪，任务开始运行。"),
    "running.again": (
        "All workers are ready; the job runs again.",
        "全部 Worker 已就绪，任务重新运行。",
    ),
    "running.next": ("Nothing to do.", "无需操作。"),
    "running.next_again": (
        "This only reports a change of state. Check the log for the checkpoint-loaded line.",
        "通知只提示状态变化，请检查 checkpoint 加载记录，并确认 step 已恢复到预期位置。",
    ),
    "abnormal.what": ("The job is parked: {reason}", "任务进入异常状态：{reason}"),
    "abnormal.next": (
        "A person must act: resume the job (its limits may be changed) or stop it.",
        "需要人工处理：恢复任务（可同时修改排队上限），或停止任务。",
    ),
    "failed.what": ("The job failed: {reason}", "任务运行失败：{reason}"),
    "failed.next": (
        "Look at the log and the explanation of the failure, correct the cause, then submit again.",
        "请查看日志与故障说明，修正原因后重新提交。",
    ),
    "failed.next_preempted": (
        "Submit again from the last checkpoint; with auto-queue on, it would have queued again.",
        "请从最近的 checkpoint 重新提交；开启自动排队后，被抢占时会重新排队。",
    ),
    "succeeded.what": ("The job succeeded.", "任务运行成功。"),
    "succeeded.next": ("Nothing to do.", "无需操作。"),
    "hold": (
        "The cluster is kept until {until} for a look inside; save what you need.",
        "集群保留至 {until} 供排查，请及时保存需要的数据。",
    ),
    "no_reason": ("no reason was recorded", "未记录原因"),
    "next": ("Next", "下一步"),
    "repeat": (
        "Sent again: ignore it if you have seen this id.",
        "重复发送：如已收到相同编号的通知，请忽略。",
    ),
    "label.entry": ("Queue entry", "排队次序"),
    "label.requeues_left": ("Requeues left", "剩余重新排队次数"),
    "label.deadline": ("Queue deadline", "排队截止时间"),
    "label.attempt": ("Attempt", "运行次数"),
    "label.gpus": ("GPUs", "GPU 数"),
    "label.workers": ("Workers", "Worker 数"),
    "label.nodes": ("Nodes", "节点"),
    "label.job": ("Job", "任务 ID"),
    "label.notice": ("Notice", "通知编号"),
    "label.rule": ("Rule", "规则"),
    "label.at": ("Happened", "发生时间"),
    "more": ("{names} and {count} more", "{names} 等，另有 {count} 个"),
    "value.entry": ("no. {n}", "第 {n} 次"),
}


def say(key: str, language: Language, **values: object) -> str:
    """Return the sentence `key`. Raises KeyError for an unknown key or a missing value."""
    english, chinese = _TEXTS[key]
    return (chinese if language == "zh" else english).format(**values)


def keys() -> tuple[str, ...]:
    """Every key of the catalogue, for the tests that compare the two languages."""
    return tuple(_TEXTS)


def pair(key: str) -> tuple[str, str]:
    """Return the English and the Chinese sentence as written."""
    return _TEXTS[key]
