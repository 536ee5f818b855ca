"""Texts of `muster faults` and of the last failure in `muster show`."""

from __future__ import annotations

FAULTS: dict[str, tuple[str, str]] = {
    "faults.none": ("{name}: it never failed", "{name}：没有故障记录"),
    "faults.head": (
        "{name}: {count} failure(s), {hours} GPU hours lost",
        "{name}：共 {count} 次故障，损失 {hours} GPU 小时",
    ),
    "faults.title": ("Attempt {attempt}, failed {at}", "第 {attempt} 次运行，{at} 失败"),
    "faults.ran": ("ran", "运行时长"),
    "faults.verdict": ("verdict", "处理结果"),
    "faults.why": ("why", "故障说明"),
    "faults.cause": ("cause", "原因"),
    "faults.cause_of": (
        "{blame} · {kind} · {stage} · {spread} · sure to {confidence}",
        "{blame} · {kind} · {stage} · {spread} · 置信度 {confidence}",
    ),
    "faults.rule": ("rule", "规则"),
    "faults.rule_of": ("{rule} (rules {version})", "{rule}（规则版本 {version}）"),
    "faults.unknown": ("unknown (rules {version})", "未知（规则版本 {version}）"),
    "faults.first": ("first to fail", "首个失败"),
    "faults.at_node": ("{worker} on {node}", "节点 {node} 上的 {worker}"),
    "faults.ledgers": ("ledgers", "计数"),
    "faults.ledger": (
        "retries {restarts} ({left} left), infrastructure {infrastructure}, hangs {hangs},"
        " requeues {requeues}",
        "重试 {restarts}（剩余 {left}），基础设施 {infrastructure}，卡死 {hangs}，"
        "重新排队 {requeues}",
    ),
    "faults.from_to": ("{before}  ->  {after}", "{before}  →  {after}"),
    "faults.paid": ("paid from", "消耗"),
    "faults.paid.restarts": ("the user's retries", "用户重试次数"),
    "faults.paid.infrastructure": (
        "the allowance for infrastructure, not the user's retries",
        "基础设施额度（不消耗用户重试次数）",
    ),
    "faults.paid.hangs": (
        "the allowance for hangs, not the user's retries",
        "卡死额度（不消耗用户重试次数）",
    ),
    "faults.paid.requeues": (
        "the requeues, not the user's retries",
        "重新排队次数（不消耗用户重试次数）",
    ),
    "faults.paid.none": ("nothing", "无"),
    "faults.blamed": ("nodes to blame", "故障节点"),
    "faults.excluded": ("nodes avoided", "避开的节点"),
    "faults.lost": ("GPU hours lost", "损失 GPU 小时"),
    "faults.incident": ("incident", "关联事件"),
    "faults.fingerprint": ("fingerprint", "指纹"),
    "faults.next": ("what followed", "后续"),
    "faults.next_ran": ("attempt {attempt}, which ran", "第 {attempt} 次运行，已运行"),
    "faults.next_begun": ("attempt {attempt}", "第 {attempt} 次运行"),
    "faults.next_waits": ("{next}, not before {at}", "{next}，不早于 {at}"),
    "faults.next_none": ("no further attempt; it is {phase}", "没有后续运行；当前{phase}"),
    "faults.linked": ("Made to look into it: {jobs}", "关联的调试任务：{jobs}"),
    "faults.origin": ("Made to look into {job}", "由任务 {job} 派生，用于调试"),
    "faults.verdict.restarted": ("started again on its nodes", "在原节点重新启动"),
    "faults.verdict.replacement_ordered": ("moved to other nodes", "更换节点重新运行"),
    "faults.verdict.failed": ("not tried again", "不再重试"),
    "faults.verdict.escalated": ("waits for a person", "等待人工处理"),
    "faults.last": ("last failure", "最近故障"),
    "faults.more": ("muster faults {job} tells more", "详情见 muster faults {job}"),
    "faults.history.sick_node": (
        "shortly after {text} was seen on this node",
        "该节点刚出现过 {text}",
    ),
    "faults.history.disjoint": (
        "the same failure {text} in a row without progress, on nodes of which none is the same",
        "相同故障连续出现 {text}，期间没有进展，且所在节点完全不同",
    ),
    "faults.history.everywhere": (
        "other jobs failed alike on other nodes (jobs/users: {text}): no node is to blame",
        "其他任务在其他节点也以相同方式失败（任务数/用户数：{text}）：不归因于任何节点",
    ),
    "faults.history.wanders": (
        "the same failure {text} in a row, on one node after another",
        "相同故障连续出现 {text}，且先后出现在不同节点",
    ),
    "faults.history.keeps_coming": (
        "the same failure {text} in a row, and no wait has helped",
        "相同故障连续出现 {text}，等待后仍未恢复",
    ),
    "faults.history.other_jobs": (
        "other jobs failed on this node, too (jobs/users: {text})",
        "其他任务也在该节点失败（任务数/用户数：{text}）",
    ),
    "faults.history.again_here": (
        "the same failure {text} in a row on this node",
        "相同故障在该节点连续出现 {text}",
    ),
}
