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
    "preempted.what": (
        "The gang must leave its nodes: {reason}",
        "任务需要让出全部节点：{reason}",
    ),
    "preempted.next": (
        "Save a checkpoint if you can; with auto-queue on it queues again by itself.",
        "如可能请保存 checkpoint；开启自动排队后会自动重新排队。",
    ),
    "restarted.what": ("The job restarts: {reason}", "任务将重启：{reason}"),
    "restarted.next": (
        "Nothing to do. Check the log for the checkpoint-loaded line once it runs.",
        "无需操作。任务重新运行后，请检查 checkpoint 加载记录。",
    ),
    "hang_suspected.what": (
        "The job seems to make no progress.",
        "任务疑似卡死：长时间没有进展。",
    ),
    "hang_suspected.worker": (
        "The job seems to make no progress; {worker} stands out.",
        "任务疑似卡死：长时间没有进展，{worker} 表现异常。",
    ),
    "hang_suspected.next": (
        "Look at the job; nothing is stopped by itself.",
        "请查看任务；系统不会自动停止。",
    ),
    "progress_lost.what": (
        "The training started over: it had reached step {before} and runs from step {after}.",
        "训练进度丢失：此前到达第 {before} 步，现从第 {after} 步开始。",
    ),
    "progress_lost.next": (
        "Check whether the checkpoint was found: its folder, its rights, the resume option.",
        "请检查 checkpoint 是否被找到：目录、权限与恢复参数。",
    ),
    "debug_hold.what": (
        "The job has ended and its nodes are kept: {reason}",
        "任务已结束，节点保留供排查：{reason}",
    ),
    "debug_hold.next": (
        "End the hold when you are done: the GPUs are still counted.",
        "排查完成后请结束保留：GPU 仍计入用量。",
    ),
    "flapping.what": (
        "The job goes back and forth: it came back to the same state {n} times within 10 minutes.",
        "任务频繁变化：10 分钟内 {n} 次回到同一状态。",
    ),
    "flapping.next": (
        "Further changes are held back until it is calm; what needs a person is told at once.",
        "后续变化将合并，稳定后再通知；需人工处理的状态会立即通知。",
    ),
    "node_excluded.what": (
        "No new work goes to the node: {reason}",
        "节点不再接收新任务：{reason}",
    ),
    "node_excluded.next": (
        "Nothing to do: it ends by itself. What runs there stays.",
        "无需操作：到期自动解除，已在运行的任务不受影响。",
    ),
    "node_excluded.next_proposed": (
        "Failures keep pointing at it: an operator should close it and look.",
        "多次故障指向该节点：建议运维人员封锁并检查。",
    ),
    "incident.what": ("Many failures have one cause: {reason}", "多个故障同源：{reason}"),
    "incident.what_over": ("It is over: {reason}", "事故已结束：{reason}"),
    "incident.what_closed": ("{who} says that it is over.", "{who} 确认事故已结束。"),
    "incident.next": (
        "Mend the cause. Retries wait and cost nobody anything until it is over.",
        "请处理根因。事故结束前重试会暂停，且不消耗任何重试次数。",
    ),
    "incident.next_over": (
        "Nothing to do: what waited goes on, not all at once.",
        "无需操作：等待中的任务将陆续恢复。",
    ),
    "incident.storage": ("storage", "存储"),
    "incident.registry": ("image registry", "镜像仓库"),
    "incident.image": ("image", "镜像"),
    "incident.switch": ("switch", "交换机"),
    "incident.alike": ("failures that are alike", "相似故障"),
    "incident.silence": ("silence of a pool", "资源池失联"),
    "incident.brake": ("too many nodes to keep out", "需隔离的节点过多"),
    "state.hang_suspected": ("hang suspected", "疑似卡死"),
    "state.progress_lost": ("progress lost", "进度丢失"),
    "state.node_excluded": ("node kept out", "节点已隔离"),
    "state.incident": ("incident", "事故"),
    "state.incident_over": ("incident over", "事故结束"),
    "state.flapping": ("evicted often", "频繁驱逐"),
    "reminder": ("Reminder · {title}", "提醒 · {title}"),
    "digest.mixed": ("changes", "状态汇总"),
    "digest.title": ("{n} at once", "共 {n} 个"),
    "digest.what": (
        "{counts}, from {begun} to {ended}.",
        "{counts}，时间 {begun} 至 {ended}。",
    ),
    "digest.next": (
        "One line each; muster show JOB tells more.",
        "每个一行；使用 muster show JOB 查看详情。",
    ),
    "link.job": ("Job", "任务"),
    "link.log": ("Log", "日志"),
    "link.timeline": ("Timeline", "时间线"),
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
    "label.leave_by": ("Must leave by", "最晚让出时间"),
    "label.by": ("Makes room for", "让位给"),
    "label.step": ("Step", "当前 step"),
    "label.resumed_step": ("Runs from step", "恢复后 step"),
    "label.checkpoint_step": ("Checkpoint at step", "checkpoint step"),
    "label.gpu_hours": ("GPU-hours of this run", "本次运行 GPU 时"),
    "label.lost_gpu_hours": ("GPU-hours lost", "损失 GPU 时"),
    "label.waited": ("Waited", "排队时长"),
    "label.ran": ("Ran", "运行时长"),
    "label.avoid": ("Stays off", "避开节点"),
    "label.pool": ("Pool", "资源池"),
    "label.node": ("Node", "节点"),
    "label.until": ("Until at least", "至少持续到"),
    "label.times": ("Time", "次数"),
    "label.kind": ("Of", "类型"),
    "label.jobs": ("Jobs", "影响任务"),
    "label.users": ("Users", "影响用户"),
    "label.since": ("Since", "开始时间"),
    "label.ended": ("Ended", "结束时间"),
    "label.incident": ("Incident", "事故 ID"),
    "label.job": ("Job", "任务 ID"),
    "label.notice": ("Notice", "通知编号"),
    "label.rule": ("Rule", "规则"),
    "label.at": ("Happened", "发生时间"),
    "more": ("{names} and {count} more", "{names} 等，另有 {count} 个"),
    "value.hours": ("{h} h {m} min", "{h} 小时 {m} 分"),
    "value.minutes": ("{m} min {s} s", "{m} 分 {s} 秒"),
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
