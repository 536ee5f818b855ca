"""Texts about incidents, nodes that failures point at, and failures that no rule knows."""

from __future__ import annotations

from collections.abc import Mapping

INCIDENTS: Mapping[str, tuple[str, str]] = {
    "help.incidents": (
        "List what many failures have in common: a storage, a registry, a switch, a silent pool.",
        "列出多个故障的共同原因：存储、镜像仓库、交换机、失联的资源池。",
    ),
    "option.incidents.all": ("Those that are over, too.", "包括已结束的。"),
    "help.incident": ("Say that an incident is over.", "宣布故障事件结束。"),
    "help.incident.close": (
        "It is over: what waited for its end goes on.",
        "宣布结束：因其暂停的操作继续进行。",
    ),
    "argument.incident": ("Its id: see `muster incidents`.", "事件 ID，见 `muster incidents`。"),
    "help.fingerprints": (
        "List failures that no rule knows, gathered by what they look like.",
        "列出无规则匹配的故障（按指纹聚类）。",
    ),
    "option.fingerprints.limit": (
        "At most so many, those of most jobs.",
        "最多显示的条数（任务最多的）。",
    ),
    "option.fingerprints.rule": (
        "Print the beginning of a rule for this one.",
        "为该指纹输出规则草稿。",
    ),
    "help.node.suspects": (
        "Show nodes under suspicion or kept out, why, and what is proposed.",
        "显示疑似故障或被暂时排除的节点、依据与建议。",
    ),
    "help.node.lemons": (
        "Rate every node against the fleet by failures that were attributed to it.",
        "按归因于节点的故障，将各节点与整个集群比较。",
    ),
    "column.incident": ("INCIDENT", "事件"),
    "column.kind": ("KIND", "类型"),
    "column.began": ("SINCE", "开始"),
    "column.users": ("USERS", "用户数"),
    "column.fingerprint": ("FINGERPRINT", "指纹"),
    "column.failures": ("FAILURES", "故障数"),
    "column.nodes": ("NODES", "节点"),
    "column.first": ("FIRST", "首次"),
    "column.last": ("LAST", "最近"),
    "column.rate": ("RATE", "故障率"),
    "column.bounds": ("95 %", "95 % 区间"),
    "column.rules": ("RULES", "规则"),
    "column.exclusions": ("KEPT OUT", "排除次数"),
    "column.proposal": ("PROPOSAL", "建议"),
    "incidents.none": ("no incident goes on", "当前没有故障事件"),
    "incident.open": ("goes on", "进行中"),
    "incident.over": ("over since {at}, by {by}", "已于 {at} 结束（{by}）"),
    "incident.closed": (
        "incident {incident} is closed: what waited for its end goes on",
        "事件 {incident} 已结束：因其暂停的操作继续进行",
    ),
    "incident.kind.storage": ("storage", "存储"),
    "incident.kind.registry": ("registry", "镜像仓库"),
    "incident.kind.image": ("image", "镜像"),
    "incident.kind.switch": ("switch", "交换机"),
    "incident.kind.alike": ("same failure", "相同故障"),
    "incident.kind.silence": ("silent pool", "资源池失联"),
    "incident.kind.brake": ("brake", "制动"),
    "fingerprints.none": ("no rule missed a failure lately", "近期所有故障均有规则匹配"),
    "fingerprints.silent": ("(no output)", "（无输出）"),
    "lemons.none": ("no node had work lately", "近期没有节点运行过任务"),
    "lemons.no_suspects": ("nothing is held against any node", "没有疑似故障的节点"),
    "lemons.fleet": (
        "median of the {nodes} nodes that had work in 28 days: {rate}",
        "28 天内运行过任务的 {nodes} 个节点的中位数：{rate}",
    ),
    "lemons.excluded": ("kept out until {at}", "排除至 {at}"),
    "lemons.held": ("{node} is not kept out: {why}", "{node} 未被排除：{why}"),
    "lemons.accept": (
        "accept with `muster node cordon NODE` or `muster block add`; `muster node uncordon NODE`"
        " clears a node",
        "用 `muster node cordon NODE` 或 `muster block add` 采纳；"
        "`muster node uncordon NODE` 解除怀疑",
    ),
    "nodes.excluded": ("kept out until {at}", "排除至 {at}"),
    "error.no_fingerprint": (
        "{count} fingerprints begin with {text}",
        "以 {text} 开头的指纹有 {count} 个",
    ),
    "error.no_fingerprint.fix": (
        "`muster fingerprints` lists them",
        "用 `muster fingerprints` 查看列表",
    ),
    "error.no_skeleton": (
        "the output of {text} has no line that a rule could look for",
        "{text} 的输出中没有可供规则匹配的行",
    ),
    "error.no_skeleton.fix": (
        "look into a job's log with `muster logs JOB`",
        "用 `muster logs JOB` 查看任务日志",
    ),
}
"""Key -> (English, Chinese)."""
