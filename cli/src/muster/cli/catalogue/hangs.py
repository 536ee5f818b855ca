"""Texts about hang detection: what each family of signals says, and why a silence is not judged."""

from __future__ import annotations

HANGS: dict[str, tuple[str, str]] = {
    "hang.off": (
        "{name}: not watched for hangs; set `fault_tolerance.hang.action` to notify or restart",
        "{name}：未启用挂起检测；将 `fault_tolerance.hang.action` 设为 notify 或 restart 即可启用",
    ),
    "hang.unarmed": ("{name}: not judged now: {why}", "{name}：当前不判断挂起：{why}"),
    "hang.unarmed.not_running": ("it is {phase}", "任务处于{phase}"),
    "hang.unarmed.sleeps": (
        "its command only keeps its place (`sleep inf`)",
        "其命令仅用于占位（`sleep inf`）",
    ),
    "hang.unarmed.node": (
        "one of its nodes is drained, reclaimed, lost or gone",
        "其某个节点正在排空、被回收或已失联",
    ),
    "hang.unarmed.incident": (
        "an incident is open that concerns it",
        "存在与其相关的未结束故障事件",
    ),
    "hang.unarmed.frozen": (
        "many nodes of the pool fell silent at once, so nothing is ended",
        "资源池内大量节点同时失联，暂停一切终止操作",
    ),
    "hang.unseen": (
        "{name}: watched; nothing was seen of attempt {attempt} yet, ask again in a moment",
        "{name}：已启用检测；尚未采集到第 {attempt} 次尝试的信号，请稍后再试",
    ),
    "hang.notify": (
        "{name}, attempt {attempt}: watched; a hang is told",
        "{name}，第 {attempt} 次尝试：检测中；发现挂起时仅通知",
    ),
    "hang.restart": (
        "{name}, attempt {attempt}: watched; a hang is restarted",
        "{name}，第 {attempt} 次尝试：检测中；发现挂起时重启",
    ),
    "hang.suspected": ("it hangs, as far as can be told", "判断为挂起"),
    "hang.suspected_worker": (
        "it hangs, as far as can be told; {worker} stands out",
        "判断为挂起；异常 Worker：{worker}",
    ),
    "hang.doubtful": (
        "as one family says that something goes on, nothing is ended",
        "由于有一类信号显示有活动，不会终止任务",
    ),
    "hang.silence": (
        "{stage}: nothing new for {silent}; the limit is {limit}",
        "{stage}：已 {silent} 无进展；上限 {limit}",
    ),
    "hang.stage.training": ("training, step {step}", "训练中，第 {step} 步"),
    "hang.stage.first_step": ("before the first step", "首步之前"),
    "hang.stage.checkpoint": ("checkpoint", "保存检查点"),
    "hang.stage.evaluation": ("evaluation", "评估"),
    "hang.stage.loading": ("loading", "加载"),
    "hang.stage.compile": ("compiling", "编译"),
    "hang.unproven": (
        "its output has told no step, so that silence alone counts for nothing",
        "其输出从未给出步数，因此无进展本身不作数",
    ),
    "hang.family": ("{family}: {sign}", "{family}：{sign}"),
    "hang.family.progress": ("progress", "进展"),
    "hang.family.device": ("device", "设备"),
    "hang.family.process": ("process", "进程"),
    "hang.family.framework": ("framework", "框架"),
    "hang.moving": ("goes on", "有活动"),
    "hang.moving_why": ("goes on: {why}", "有活动：{why}"),
    "hang.still": ("still for {span}: {why}", "静止 {span}：{why}"),
    "hang.unknown": ("nobody can say", "无法判断"),
    "hang.why.no_step": ("no new step and no declared phase", "没有新的步数，也没有声明阶段"),
    "hang.why.device_idle": ("GPUs are idle and nothing moves", "GPU 空闲且无数据流动"),
    "hang.why.device_spins": (
        "GPUs are busy but draw hardly any power, and nothing moves",
        "GPU 显示繁忙但功耗接近空闲，且无数据流动",
    ),
    "hang.why.device_works": ("a GPU works", "GPU 在工作"),
    "hang.why.bytes_move": ("data moves", "有数据流动"),
    "hang.why.asleep": ("all processes sleep", "全部进程休眠"),
    "hang.why.one_sleeps": ("all spin and one sleeps", "其余进程空转，一个休眠"),
    "hang.why.disk": ("a process waits for a disk or mount", "进程等待磁盘或挂载"),
    "hang.why.same_place": ("all stand at the same place", "全部停在同一位置"),
    "hang.why.one_elsewhere": ("all but one stand at the same place", "除一个外都停在同一位置"),
    "hang.why.places_change": ("processes move on in the program", "进程在程序中推进"),
    "hang.why.collective": (
        "the output tells of a collective operation that does not end",
        "输出显示集合通信未结束",
    ),
    "hang.who": ("{said} ({worker})", "{said}（{worker}）"),
    "hang.rule": (
        "it counts as hung once progress and another are still for {window}; while one of them goes"
        " on nothing is ended, and people are told after {contradicted}",
        "进展与另一类信号均静止 {window} 才判为挂起；若有一类显示有活动，则不终止任务，"
        "{contradicted} 后仅通知",
    ),
    "hang.learned": (
        "of its own: 99 % of steps within {p99}",
        "自身节奏：99% 的步在 {p99} 内完成",
    ),
    "hang.longest": ("longest {stage} {span}", "最长{stage} {span}"),
    "hang.watched": (
        "seen without a hole for {span}",
        "已连续采集 {span}",
    ),
}
