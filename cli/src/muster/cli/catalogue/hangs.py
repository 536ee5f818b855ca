"""Texts about hang detection: what each family of signals says, and why a silence is not judged."""

from __future__ import annotations

from muster.domain import hang_words

HANGS: dict[str, tuple[str, str]] = {
    "hang.off": (
        "{name}: not watched for hangs; set `fault_tolerance.hang.action` to notify or restart",
        "{name}：未启用卡死检测；将 `fault_tolerance.hang.action` 设为 notify 或 restart 即可启用",
    ),
    "hang.unarmed": ("{name}: not judged now: {why}", "{name}：当前不判断卡死：{why}"),
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
        "{name}，第 {attempt} 次尝试：检测中；发现卡死时仅通知",
    ),
    "hang.restart": (
        "{name}, attempt {attempt}: watched; a hang is restarted",
        "{name}，第 {attempt} 次尝试：检测中；发现卡死时重启",
    ),
    "hang.suspected": ("it hangs, as far as can be told", "判断为卡死"),
    "hang.suspected_worker": (
        "it hangs, as far as can be told; {worker} stands out",
        "判断为卡死；异常 Worker：{worker}",
    ),
    "hang.doubtful": (
        "as one family says that something goes on, nothing is ended",
        "由于有一类信号显示有活动，不会终止任务",
    ),
    "hang.silence": (
        "{stage}: nothing new for {silent}; the limit is {limit}",
        "{stage}：已 {silent} 无进展；上限 {limit}",
    ),
    **{f"hang.stage.{stage}": words for stage, words in hang_words.STAGES.items()},
    "hang.unproven": (
        "its output has told no step, so that silence alone counts for nothing",
        "其输出从未给出步数，因此无进展本身不作数",
    ),
    **{f"hang.family.{family}": words for family, words in hang_words.FAMILIES.items()},
    **{f"hang.why.{why}": words for why, words in hang_words.WHYS.items()},
    "hang.family": hang_words.FAMILY,
    "hang.moving": hang_words.MOVING,
    "hang.moving_why": hang_words.MOVING_WHY,
    "hang.still": hang_words.STILL,
    "hang.unknown": hang_words.UNKNOWN,
    "hang.who": hang_words.WHO,
    "hang.rule": (
        "it counts as hung once progress and another are still for {window}; while one of them goes"
        " on nothing is ended, and people are told after {contradicted}",
        "进展与另一类信号均静止 {window} 才判为卡死；若有一类显示有活动，则不终止任务，"
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
