"""Texts of `muster usage`."""

from __future__ import annotations

USAGE: dict[str, tuple[str, str]] = {
    "help.usage": (
        "Sum up GPU-hours and waiting time by tenant, user, label, class, phase, pool, model, job.",
        "按租户、用户、标签、资源类型、状态、资源池、型号或任务汇总 GPU 时与等待时间。",
    ),
    "option.by": (
        "tenant, user, label:KEY, class, phase, pool, model, job; several with commas;"
        " default: tenant.",
        "汇总维度：tenant、user、label:KEY、class、phase、pool、model、job；"
        "多个用逗号分隔；默认 tenant。",
    ),
    "option.until": (
        "Until then: 10m (ago), 2h, 1d, or an instant; default: now.",
        "截止时间：10m（之前）、2h、1d 或具体时刻；默认现在。",
    ),
    "option.usage.pool": ("Only jobs of this pool.", "仅该资源池的任务。"),
    "option.usage.label": (
        "Only with this label (key=value, or a key alone); several must all match.",
        "仅带有该标签（key=value，或仅 key）；多个须同时满足。",
    ),
    "option.top": (
        "At most so many rows, the greatest use first.",
        "最多显示的行数（用量由高到低）。",
    ),
    "usage.by": (
        "at most {most} different ones of {known}",
        "可用（不重复，最多 {most} 个）：{known}",
    ),
    "usage.times": ("it must be earlier than --until", "须早于 --until"),
    "column.class": ("CLASS", "资源类型"),
    "column.phase": ("PHASE", "状态"),
    "column.time": ("TIME", "时长"),
    "column.waiting": ("WAITING", "等待"),
    "column.waiting_gpu": ("GPU-S WAITING", "等待计费（GPU 秒）"),
    "column.gpu_hours": ("GPU-HOURS", "GPU 时"),
    "metered.total": ("all", "合计"),
    "metered.unknown": ("not known", "未知"),
    "metered.none": ("no job used anything in this time", "该时段内没有任务用量"),
    "metered.waiting": (
        "waiting costs nothing: {span} waited, {gpu} GPU-seconds",
        "等待不计费：共等待 {span}，{gpu} GPU 秒",
    ),
    "metered.more": (
        "{count} more row(s); see them with --top",
        "另有 {count} 行；可用 --top 查看",
    ),
    "metered.log": (
        "no gateway could be asked: this is from the log, which forgets all but the last event of"
        " jobs that ended a while ago (a day, unless set otherwise); older use is not in it",
        "未能访问网关：以上仅由日志计算。任务结束一段时间后（默认一天）日志只保留其最后一个事件，"
        "更早的用量不在其中",
    ),
    "metered.not_whole": (
        "older events are still being metered: the figures grow until that is done",
        "更早的事件仍在统计中：完成前数字会继续增加",
    ),
    "metered.gaps": (
        "of {count} job(s) some events are missing: what is known is taken to have gone on",
        "有 {count} 个任务缺少部分事件：以已知状态延续计算",
    ),
    "error.gateway": (
        "the gateway at {url} does not answer as expected (status {status})",
        "{url} 的网关响应异常（状态 {status}）",
    ),
    "error.gateway.fix": (
        "see whether MUSTER_GATEWAY_URL is right and the gateway of this version;"
        " MUSTER_GATEWAY_TOKEN is the token that it asks for",
        "请检查 MUSTER_GATEWAY_URL 与网关版本；需要令牌时设置 MUSTER_GATEWAY_TOKEN",
    ),
}
