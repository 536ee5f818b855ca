"""What hang detection saw, in words: the one place for both languages.

Used for the evidence in events and by `muster hang`. Keys are the codes of the detection.
"""

from __future__ import annotations

FAMILIES: dict[str, tuple[str, str]] = {
    "progress": ("progress", "进展"),
    "device": ("device", "设备"),
    "process": ("process", "进程"),
    "framework": ("framework", "框架"),
}

STAGES: dict[str, tuple[str, str]] = {
    "training": ("training, step {step}", "训练中，第 {step} 步"),
    "first_step": ("before the first step", "首步之前"),
    "checkpoint": ("checkpoint", "保存检查点"),
    "evaluation": ("evaluation", "评估"),
    "loading": ("loading", "加载"),
    "compile": ("compiling", "编译"),
}
"""A phase of the program's own is no key here, and is shown as it is."""

WHYS: dict[str, tuple[str, str]] = {
    "no_step": ("no new step and no declared phase", "没有新的步数，也没有声明阶段"),
    "device_idle": ("GPUs are idle and nothing moves", "GPU 空闲且无数据流动"),
    "device_spins": (
        "GPUs are busy but draw hardly any power, and nothing moves",
        "GPU 显示繁忙但功耗接近空闲，且无数据流动",
    ),
    "device_works": ("a GPU works", "GPU 在工作"),
    "bytes_move": ("data moves", "有数据流动"),
    "asleep": ("all processes sleep", "全部进程休眠"),
    "one_sleeps": ("all spin and one sleeps", "其余进程空转，一个休眠"),
    "disk": ("a process waits for a disk or mount", "进程等待磁盘或挂载"),
    "same_place": ("all stand at the same place", "全部停在同一位置"),
    "one_elsewhere": ("all but one stand at the same place", "除一个外都停在同一位置"),
    "places_change": ("processes move on in the program", "进程在程序中推进"),
    "collective": (
        "the output tells of a collective operation that does not end",
        "输出显示集合通信未结束",
    ),
}

FAMILY = ("{family}: {sign}", "{family}：{sign}")
STILL = ("still for {span}: {why}", "静止 {span}：{why}")
MOVING = ("goes on", "有活动")
MOVING_WHY = ("goes on: {why}", "有活动：{why}")
UNKNOWN = ("nobody can say", "无法判断")
WHO = ("{said} ({worker})", "{said}（{worker}）")
SECONDS = ("{seconds:.0f} s", "{seconds:.0f} 秒")

SILENCE = (
    "progress: {stage}: nothing new for {silent}; the limit is {limit}",
    "进展：{stage}：{silent} 内没有进展；上限 {limit}",
)
OUTLIVED = (
    "worker {worker} has ended with exit code 0 and the others stay",
    "{worker} 已以退出码 0 结束，其余 Worker 仍未退出",
)
STACK = ("stack of {worker}: {place}", "{worker} 的调用栈：{place}")
STACKS = (
    "stack of {worker} and {more} more: {place}",
    "{worker} 及另外 {more} 个 Worker 的调用栈：{place}",
)
PRINTED = ("{worker} printed: {line}", "{worker} 输出：{line}")
