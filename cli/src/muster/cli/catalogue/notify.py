"""Texts about notification rules, what became of notices, and silences."""

from __future__ import annotations

from collections.abc import Mapping

NOTIFY: Mapping[str, tuple[str, str]] = {
    "help.notify": (
        "Decide who is told what in a chat, and see whether it gets through.",
        "管理通知规则，查看通知是否送达。",
    ),
    "help.notify.rules": ("List the rules, with their health.", "列出通知规则及其健康状况。"),
    "help.notify.add": (
        "Make a rule: one trigger, whose jobs, and where to send it.",
        "创建规则：一个触发条件、通知范围与发送地址。",
    ),
    "help.notify.show": (
        "Show one rule, and why it fails if it does.",
        "查看单条规则及投递异常的原因。",
    ),
    "help.notify.pause": ("Tell nothing by a rule for now.", "暂停规则。"),
    "help.notify.resume": ("Tell again what happens from now on.", "恢复规则（自恢复起生效）。"),
    "help.notify.remove": (
        "Remove a rule, and withdraw what waits by it.",
        "删除规则，并撤回其待发送的通知。",
    ),
    "help.notify.test": (
        "Send one real message by a rule now, and say what the receiver answers.",
        "立即通过规则发送一条真实消息，并显示接收方的返回码与信息。",
    ),
    "help.notify.deliveries": ("Show what became of notices.", "查看通知的投递结果。"),
    "help.notify.replay": (
        "Send dead letters that are still news once more.",
        "重新发送仍然有效的死信通知。",
    ),
    "help.notify.silence": (
        "Keep quiet about some things for a while; what is not sent is counted.",
        "在一段时间内静默部分通知；未发送的会被计数。",
    ),
    "help.notify.silences": ("List the silences.", "列出静默。"),
    "help.notify.unsilence": ("End a silence now.", "立即结束静默。"),
    "help.notify.health": ("Show how the addresses fare.", "查看各发送地址的健康状况。"),
    "help.notify.rotate": (
        "Seal the addresses anew with the newest key.",
        "使用最新密钥重新加密发送地址。",
    ),
    "help.notify.sandbox": (
        "Run a Feishu bot on this machine that checks and refuses as the real one does.",
        "在本机运行模拟飞书机器人，按真实规则校验与拒绝消息。",
    ),
    "argument.notify.rule": (
        "The rule's id: see `muster notify rules`.",
        "规则 ID，见 `muster notify rules`。",
    ),
    "argument.notify.trigger": (
        "One of job_queued, job_running, job_abnormal, job_failed, job_succeeded, job_preempted,"
        " job_restarted, hang_suspected, progress_lost, debug_hold, node_excluded, incident.",
        "触发条件之一：job_queued、job_running、job_abnormal、job_failed、job_succeeded、"
        "job_preempted、job_restarted、hang_suspected、progress_lost、debug_hold、node_excluded、"
        "incident。",
    ),
    "argument.notify.notice": (
        "A notice's id: see `muster notify deliveries`.",
        "通知编号，见 `muster notify deliveries`。",
    ),
    "argument.notify.comment": ("Why: people will read it.", "原因，供他人查看。"),
    "argument.notify.silence": (
        "Its id: see `muster notify silences`.",
        "静默 ID，见 `muster notify silences`。",
    ),
    "option.notify.id": ("The rule's id; one is made by itself.", "规则 ID，缺省自动生成。"),
    "option.notify.everyone": (
        "Every job of the tenant, and not only your own.",
        "租户的全部任务（缺省仅本人的任务）。",
    ),
    "option.notify.job": ("This job alone.", "仅该任务。"),
    "option.notify.label": (
        "Jobs with this label; given several times, with all of them.",
        "带有该标签的任务；可多次指定，须全部匹配。",
    ),
    "option.notify.class": (
        "Jobs of this resource class: reserved, on_demand, spot or idle.",
        "该资源类型的任务：reserved、on_demand、spot 或 idle。",
    ),
    "option.notify.pool": (
        "For node_excluded and incident: this pool; without it every pool.",
        "用于 node_excluded 与 incident：仅该资源池；缺省为全部资源池。",
    ),
    "option.notify.language": (
        "Language of the messages; without it the channel's own.",
        "消息语言；缺省由通道决定。",
    ),
    "option.notify.channel": (
        "feishu, lark, webhook (signed) or log.",
        "通道：feishu、lark、webhook（签名）或 log。",
    ),
    "option.notify.address": (
        "An address that the operator has given this tenant, instead of a webhook.",
        "使用管理员为该租户提供的地址，替代 Webhook。",
    ),
    "option.notify.webhook_env": (
        "Environment variable that holds the webhook; without any option it is asked for unseen.",
        "存放 Webhook 的环境变量；均未指定时以隐藏输入方式询问。",
    ),
    "option.notify.webhook_file": (
        "File that holds the webhook; - is the standard input.",
        "存放 Webhook 的文件；- 表示标准输入。",
    ),
    "option.notify.secret_env": (
        "Environment variable that holds the bot's signing secret.",
        "存放机器人签名密钥的环境变量。",
    ),
    "option.notify.secret_file": (
        "File that holds the bot's signing secret.",
        "存放机器人签名密钥的文件。",
    ),
    "option.notify.keyword": (
        "A keyword of the bot; may be given up to ten times.",
        "机器人的关键词，最多十个。",
    ),
    "option.notify.of_rule": ("Of this rule.", "仅该规则。"),
    "option.notify.of_job": ("Of this job.", "仅该任务。"),
    "option.notify.of_subject": (
        "Of this job's id, POOL/NODE or incident's id.",
        "仅该对象：任务 ID、资源池/节点 或故障事件 ID。",
    ),
    "option.notify.of_state": (
        "In this state: pending, delivered, dead, unknown, stale, withdrawn, silenced, inhibited,"
        " damped or acted.",
        "仅该状态：pending、delivered、dead、unknown、stale、withdrawn、silenced、inhibited、"
        "damped 或 acted。",
    ),
    "option.notify.limit": ("At most so many.", "最多显示的条数。"),
    "option.notify.for": ("For how long, like 30m, 2h or 1d.", "持续时长，例如 30m、2h、1d。"),
    "option.notify.in": ("Begin in so long; without it, now.", "多久之后开始；缺省为立即。"),
    "option.notify.mute.job": ("About this job.", "关于该任务。"),
    "option.notify.mute.subject": (
        "About this POOL/NODE or incident.",
        "关于该 资源池/节点 或故障事件。",
    ),
    "option.notify.mute.rule": ("By this rule.", "关于该规则。"),
    "option.notify.mute.owner": ("About this user's jobs.", "关于该用户的任务。"),
    "option.notify.mute.trigger": (
        "Of this trigger; may be repeated.",
        "关于该触发条件，可多次指定。",
    ),
    "option.notify.mute.label": (
        "About jobs with this label; all that are given must match.",
        "关于带有该标签的任务；多个须全部匹配。",
    ),
    "option.notify.ended": ("Those that ended within a week, too.", "包括一周内已结束的。"),
    "option.notify.sandbox.port": (
        "Its port on loopback; 0 takes a free one.",
        "本机监听端口，0 表示自动选择。",
    ),
    "option.notify.sandbox.token": (
        "The last part of its webhook; made by itself unless given.",
        "Webhook 的最后一段，缺省自动生成。",
    ),
    "option.notify.sandbox.secret_file": (
        "File with the signing key that it checks; without one it checks no signature.",
        "签名密钥文件；未指定时不校验签名。",
    ),
    "option.notify.sandbox.keyword": (
        "Refuse messages without one of these words; may be repeated.",
        "消息须包含的关键词，可多次指定。",
    ),
    "option.notify.sandbox.mode": (
        "How it answers: ok, a code such as 19021 or 11232, http_429, http_503, html, empty,"
        " broken_json, legacy, redirect, slow, hang, reset, reset_after ...",
        "应答方式：ok、错误码（如 19021、11232）、http_429、http_503、html、empty、broken_json、"
        "legacy、redirect、slow、hang、reset、reset_after 等。",
    ),
    "usage.notify.one": (
        "give --{what}-env or --{what}-file, not both",
        "--{what}-env 与 --{what}-file 只能二选一",
    ),
    "usage.notify.scope": (
        "a rule has one scope; {options} are several: make a rule for each",
        "一条规则只能有一个范围；{options} 不能同时使用，请分别创建规则",
    ),
    "notify.prompt.webhook": ("Webhook (not shown)", "Webhook（不显示）"),
    "notify.what.add": ("the rule", "该规则"),
    "notify.what.replay": ("the replay", "重新发送"),
    "notify.what.rotate": ("the rotation", "密钥轮换"),
    "notify.what.silence": ("the silence", "该静默"),
    "notify.added": (
        "rule {rule} is in force; try it with `muster notify test {rule}`",
        "规则 {rule} 已生效；可用 `muster notify test {rule}` 测试",
    ),
    "notify.paused": (
        "rule {rule} is paused; {count} notice(s) that waited were withdrawn",
        "规则 {rule} 已暂停，撤回待发送通知 {count} 条",
    ),
    "notify.resumed": (
        "rule {rule} tells again what happens from now on",
        "规则 {rule} 已恢复，自现在起生效",
    ),
    "notify.removed": (
        "rule {rule} is removed; {count} notice(s) that waited were withdrawn",
        "规则 {rule} 已删除，撤回待发送通知 {count} 条",
    ),
    "notify.tested.ok": (
        "rule {rule}: delivered; the receiver says {code} {text}",
        "规则 {rule}：已送达；接收方返回 {code} {text}",
    ),
    "notify.tested.no": (
        "rule {rule}: not delivered; the receiver says {code} {text}",
        "规则 {rule}：未送达；接收方返回 {code} {text}",
    ),
    "notify.sandbox.page": ("its cards: {origin}/", "查看卡片：{origin}/"),
    "notify.sandbox.webhook": ("its webhook: {webhook}", "Webhook：{webhook}"),
    "notify.sandbox.allow": (
        "let the notifier call it: MUSTER_NOTIFIER_EXTRA_ADDRESSES={origin} muster up",
        "允许通知服务访问：MUSTER_NOTIFIER_EXTRA_ADDRESSES={origin} muster up",
    ),
    "notify.sandbox.try": (
        "set up bots: PUT {origin}/sandbox/bots/TOKEN; what they got: GET {origin}/received",
        "设置机器人：PUT {origin}/sandbox/bots/TOKEN；查看消息：GET {origin}/received",
    ),
    "notify.sandbox.end": ("Ctrl-C ends it", "按 Ctrl-C 结束"),
    "notify.replayed": ("{count} dead letter(s) go out again", "{count} 条死信通知将重新发送"),
    "notify.rotated": ("{count} address(es) are sealed anew", "已重新加密 {count} 个发送地址"),
    "notify.silenced": ("silence {silence} holds until {end}", "静默 {silence} 生效至 {end}"),
    "notify.unsilenced": ("silence {silence} is over", "静默 {silence} 已结束"),
    "notify.rules.none": (
        "no rules; make one with `muster notify add`",
        "没有通知规则；可用 `muster notify add` 创建",
    ),
    "notify.deliveries.none": ("no such notices", "没有符合条件的通知"),
    "notify.silences.none": ("no silence holds", "当前没有静默"),
    "notify.counts": ("in all: {counts}", "合计：{counts}"),
    "notify.says": ("the receiver says: {text}", "接收方返回：{text}"),
    "notify.since": ("since {at}", "开始于 {at}"),
    "notify.remedy": ("to do: {remedy}", "建议：{remedy}"),
    "notify.probe": ("{address}: tried again at {at}", "{address}：将于 {at} 重试"),
    "notify.yes": ("yes", "是"),
    "notify.no": ("no", "否"),
    "notify.operator": ("the operator's file", "管理员的规则文件"),
    "notify.health.ok": ("ok", "正常"),
    "notify.health.new": ("nothing sent yet", "尚未发送"),
    "notify.health.paused": ("paused", "已暂停"),
    "notify.health.failing": ("delivery failing", "投递异常"),
    "notify.scope.tenant": ("all jobs", "全部任务"),
    "notify.scope.cluster": ("every pool", "全部资源池"),
    "notify.scope.me": ("jobs of {value}", "{value} 的任务"),
    "notify.scope.job": ("job {value}", "任务 {value}"),
    "notify.scope.labels": ("labels {value}", "标签 {value}"),
    "notify.scope.resource_class": ("class {value}", "资源类型 {value}"),
    "notify.scope.pool": ("pool {value}", "资源池 {value}"),
    "notify.state.pending": ("pending", "待发送"),
    "notify.state.delivered": ("delivered", "已送达"),
    "notify.state.dead": ("dead letter", "死信"),
    "notify.state.unknown": ("unknown", "结果未知"),
    "notify.state.stale": ("too old", "已过期"),
    "notify.state.withdrawn": ("withdrawn", "已撤回"),
    "notify.state.silenced": ("silenced", "已静默"),
    "notify.state.inhibited": ("told by a worse one", "已被更严重的通知取代"),
    "notify.state.damped": ("damped", "已抑制（频繁变化）"),
    "notify.state.acted": ("no longer needed", "已处理，无需提醒"),
    "notify.fact.channel": ("channel", "通道"),
    "notify.fact.address": ("address", "地址"),
    "notify.fact.signed": ("signed", "签名"),
    "notify.fact.keywords": ("keywords", "关键词"),
    "notify.fact.owner": ("made by", "创建者"),
    "notify.fact.since": ("in force since", "生效时间"),
    "notify.fact.delivered": ("last delivered", "最近送达"),
    "notify.fact.pending": ("waiting", "待发送"),
    "notify.fact.dead": ("dead letters", "死信"),
    "notify.fact.health": ("health", "健康状况"),
    "column.notify.rule": ("RULE", "规则"),
    "column.notify.trigger": ("TRIGGER", "触发条件"),
    "column.notify.scope": ("SCOPE", "范围"),
    "column.notify.channel": ("CHANNEL", "通道"),
    "column.notify.address": ("ADDRESS", "地址"),
    "column.notify.health": ("HEALTH", "健康状况"),
    "column.notify.pending": ("WAITING", "待发送"),
    "column.notify.waiting": ("WAITING", "待发送"),
    "column.notify.oldest": ("OLDEST", "最久等待"),
    "column.notify.delivered": ("DELIVERED", "最近送达"),
    "column.notify.rules": ("RULES", "规则"),
    "column.notify.at": ("HAPPENED", "发生时间"),
    "column.notify.subject": ("ABOUT", "对象"),
    "column.notify.transition": ("WHAT", "变化"),
    "column.notify.state": ("STATE", "状态"),
    "column.notify.attempts": ("ATTEMPTS", "次数"),
    "column.notify.code": ("CODE", "返回码"),
    "column.notify.notice": ("NOTICE", "通知编号"),
    "column.notify.silence": ("SILENCE", "静默"),
    "column.notify.from": ("FROM", "开始"),
    "column.notify.until": ("UNTIL", "结束"),
    "column.notify.author": ("AUTHOR", "创建者"),
    "column.notify.matches": ("MATCHES", "匹配"),
    "column.notify.comment": ("COMMENT", "原因"),
    "error.no_notifier": (
        "the notifier did not answer within {seconds} s",
        "{seconds} 秒内通知服务没有应答",
    ),
    "error.no_notifier.fix": (
        "see with `muster doctor` whether it runs",
        "用 `muster doctor` 检查其是否运行",
    ),
    "error.no_rule": ("there is no rule {rule}", "没有规则 {rule}"),
    "error.no_rule.fix": ("`muster notify rules` lists them", "用 `muster notify rules` 查看"),
    "error.notify_env": (
        "{option}: the environment has no variable {name}",
        "{option}：环境中没有变量 {name}",
    ),
    "error.notify_env.fix": (
        "set and export it, or give a file",
        "请设置并导出该变量，或改用文件",
    ),
    "error.notify_file": (
        "{option}: {path} cannot be read: {why}",
        "{option}：无法读取 {path}：{why}",
    ),
    "error.notify_file.fix": (
        "give a UTF-8 file that holds the value alone, or - for the standard input",
        "请指定只包含该值的 UTF-8 文件，或用 - 表示标准输入",
    ),
    "error.notify_source": (
        "no {what} was given, and there is no terminal to ask on",
        "未提供 {what}，且没有可询问的终端",
    ),
    "error.notify_source.fix": (
        "give --{what}-env NAME, --{what}-file PATH or --{what}-file - (it is never taken from the"
        " command line itself)",
        "请使用 --{what}-env、--{what}-file 或 --{what}-file -（不接受命令行明文）",
    ),
}
