"""Texts about what the scheduler answers: reasons, remedies, dry runs."""

from __future__ import annotations

PLAN: dict[str, tuple[str, str]] = {
    "plan.placed": (
        "{name} would be placed now, with {workers} worker(s); nothing was submitted",
        "{name} 现在可以调度，共 {workers} 个 Worker；未提交任何任务",
    ),
    "plan.waits": (
        "{name} would have to wait; nothing was submitted",
        "{name} 现在需要排队等待；未提交任何任务",
    ),
    "plan.declined": (
        "{name} would be declined in its one round; nothing was submitted",
        "{name} 只尝试一轮，现在会被拒绝；未提交任何任务",
    ),
    "plan.help": ("would help: {what}", "可行办法：{what}"),
    "plan.proven": ("{what} (tried)", "{what}（已验证）"),
    "plan.more_nodes": (
        "  {count} more node(s); in all: {counted}",
        "  另有 {count} 个节点；合计：{counted}",
    ),
    "plan.more_placed": ("  and {count} more node(s)", "  以及另外 {count} 个节点"),
    "plan.more_victims": (
        "and {count} more job(s) would be evicted",
        "另有 {count} 个任务将被抢占",
    ),
    "plan.workers": (
        "{count} workers, {first} to {last}",
        "{count} 个 Worker（{first} 至 {last}）",
    ),
    "plan.victim": (
        "would be evicted: {name} ({job}, {user}): {cause}, {gpus} GPUs, {hours} GPU-hours lost",
        "将被抢占：{name}（{job}，{user}）：{cause}，{gpus} 个 GPU，损失 {hours} GPU 小时",
    ),
    "plan.hold_taken": (
        "would be planned anew: {name} ({job}, {user}), which has not started",
        "将重新排队：{name}（{job}，{user}），尚未启动",
    ),
    "plan.wait": (
        "it starts when {jobs} has left, within {span}",
        "待 {jobs} 离开后启动，最长 {span}",
    ),
    "plan.outlook": ("it is an idle job: {outlook}", "闲时任务：{outlook}"),
    "plan.estimate": ("estimate: {when}", "预计：{when}"),
    "plan.basis": (
        "based on: log position {position} of pool {pool} at {at}, round {round}",
        "依据：资源池 {pool} 的日志位置 {position}，{at}，第 {round} 轮",
    ),
    "plan.basis.no_round": (
        "based on: log position {position} of pool {pool} at {at}",
        "依据：资源池 {pool} 的日志位置 {position}，{at}",
    ),
    "plan.nobody": (
        "no scheduler answers now: this is what the last round said",
        "当前没有调度器应答：以上为最近一轮调度的结果",
    ),
    "tier.job": ("look at the job", "任务自身"),
    "tier.tenant": ("look at the tenant's quota and block lists", "租户配额与黑名单"),
    "tier.pool": ("look at what the pool is made of", "资源池构成"),
    "tier.nodes": ("look at closed nodes", "节点状态"),
    "tier.capacity": ("look at who holds capacity", "资源占用"),
    "tier.order": ("look at the queue", "排队顺序"),
    "tier.scheduler": ("look at the scheduler", "调度器"),
}
