"""Texts of the help: commands, arguments and options."""

from __future__ import annotations

HELP: dict[str, tuple[str, str]] = {
    "help.root": (
        "Muster runs GPU training jobs on a shared cluster: it admits them, places whole gangs,"
        " evicts, queues again, heals, and tells people. Begin with `muster demo` or `muster up`.",
        "Muster 在共享集群上运行 GPU 训练任务：校验、整组调度、驱逐、重新排队、自动恢复并通知用户。"
        "可从 `muster demo` 或 `muster up` 开始。",
    ),
    "help.exits": ("Exit codes: {codes}.", "退出码：{codes}。"),
    "exit.done": ("done, or the job succeeded", "完成，或任务运行成功"),
    "exit.failed": ("refused, failed, or a problem was found", "被拒绝、失败，或发现问题"),
    "exit.usage": ("wrong usage", "用法错误"),
    "exit.stopped": ("the job was stopped", "任务已停止"),
    "exit.abnormal": ("the job is abnormal: a person must act", "任务异常：需人工处理"),
    "exit.unreachable": ("no connection to Muster", "无法连接 Muster"),
    "exit.internal": ("a fault of Muster itself", "Muster 自身的故障"),
    "exit.interrupted": ("interrupted with Ctrl-C", "被 Ctrl-C 中断"),
    "panel.start": ("Start here", "入门"),
    "panel.jobs": ("Jobs", "任务"),
    "panel.operate": ("Operate", "运维"),
    "panel.more": ("More", "其他"),
    "comma": (", ", "，"),
    "help.help": ("Show this help and exit.", "显示帮助并退出。"),
    "help.demo": (
        "Show in about a minute what Muster does: a training is evicted, resumes, and proves it.",
        "约一分钟演示 Muster：训练被驱逐、从 checkpoint 恢复，并给出证明。",
    ),
    "help.up": (
        "Run a whole Muster on this machine, with its own nats-server, until Ctrl-C.",
        "在本机运行完整的 Muster（自带 nats-server），按 Ctrl-C 结束。",
    ),
    "help.down": (
        "Stop the Muster of this state folder.",
        "停止该状态目录的 Muster。",
    ),
    "help.init": (
        "Write a commented job.yaml and nodes.yaml to begin with.",
        "生成带注释的 job.yaml 与 nodes.yaml。",
    ),
    "help.submit": (
        "Submit the jobs of a YAML file.",
        "提交 YAML 文件中的任务。",
    ),
    "help.fit": (
        "Say whether a job would be placed now, where, and at whose cost; nothing is submitted.",
        "试算任务现在能否调度、放在哪里、会影响谁；不提交任何任务。",
    ),
    "help.snapshot": (
        "Print a pool's state as JSON, to be asked again later with --snapshot.",
        "以 JSON 输出资源池状态，之后可用 --snapshot 重新试算。",
    ),
    "help.list": ("List jobs.", "列出任务。"),
    "help.show": (
        "Show one job: state, ledgers, deadlines, nodes and timeline.",
        "显示一个任务：状态、计数、期限、节点与时间线。",
    ),
    "help.logs": ("Print the output of a job's workers.", "输出任务各 Worker 的日志。"),
    "help.explain": (
        "Say why a job is where it is, and what it waits for.",
        "说明任务为何处于当前状态、在等待什么。",
    ),
    "help.faults": (
        "Tell every failure of a job: cause, evidence, verdict, ledgers and what followed.",
        "显示任务的每次故障（容错详情）：原因、证据、处理结果、计数与关联的重试。",
    ),
    "help.hang": (
        "Say whether a job's silence is judged, and what each family of signals says.",
        "说明任务是否处于卡死检测中，以及各类信号的判断。",
    ),
    "help.stop": ("Stop jobs.", "停止任务。"),
    "help.debug": (
        "Run a new job with the same resources that only waits, to look inside.",
        "以相同资源重新提交一个仅等待的任务（Debug 重提），便于进入容器排查。",
    ),
    "help.respecify": (
        "Give a job that waits other limits or another node policy.",
        "修改排队中任务的自动排队上限或节点策略。",
    ),
    "option.only_nodes": ("Only these nodes; repeatable.", "仅使用这些节点；可重复。"),
    "option.never_nodes": ("Any nodes but these; repeatable.", "不使用这些节点；可重复。"),
    "usage.respecify": (
        "name what changes: --max-queue-hours, --max-requeues, --only or --never",
        "请指定修改项：--max-queue-hours、--max-requeues、--only 或 --never",
    ),
    "usage.only_or_never": ("give --only or --never, not both", "--only 与 --never 不能同时使用"),
    "help.resume": (
        "Let an abnormal job queue again.",
        "让异常任务重新排队。",
    ),
    "help.events": (
        "Print what is recorded about jobs, as it happens with -f.",
        "输出任务事件；加 -f 持续跟随。",
    ),
    "help.nodes": ("List nodes and who uses them.", "列出节点及其使用情况。"),
    "help.quota": (
        "Shares of tenants: what is guaranteed to each, and how much it may hold.",
        "租户配额：保障份额与使用上限。",
    ),
    "help.quota.show": (
        "List shares, and how much of them is used; also those that use more than theirs.",
        "列出各租户的份额与使用情况（含超额借用者）。",
    ),
    "help.quota.set": (
        "Set a tenant's share of one GPU model; its shares of other models stay.",
        "设置租户某一 GPU 型号的份额；其他型号保持不变。",
    ),
    "help.quota.clear": (
        "Take all shares of a tenant away: it has no limits and no guarantee any more.",
        "删除租户的全部份额：不再有上限与保障。",
    ),
    "help.quota.spot": (
        "Say whether a tenant may use spot capacity; without --on and --off, list what was said."
        " What runs goes on, what waits does not start.",
        "设置租户能否使用 Spot 资源；不带 --on/--off 时列出现有设置。"
        "关闭后运行中的任务继续运行，排队的任务不会启动。",
    ),
    "option.spot.on": ("Whether it may use spot capacity.", "是否可用 Spot 资源。"),
    "option.spot.pool": (
        "Only in this pool; without it in every pool.",
        "仅对该资源池生效；不填则对全部资源池生效。",
    ),
    "usage.spot": ("name the tenant: --on and --off change it", "--on/--off 需要指定租户"),
    "help.block": (
        "Block lists: nodes that jobs of a tenant, or of one of its users, stay off.",
        "屏蔽列表：租户或其用户的任务不得使用的节点。",
    ),
    "help.block.show": ("List them.", "列出屏蔽列表。"),
    "help.block.add": (
        "Keep new work of a tenant off these nodes; what runs there stays.",
        "租户的新任务不再使用这些节点；已在运行的任务不受影响。",
    ),
    "help.block.remove": ("Let it use these nodes again.", "恢复使用这些节点。"),
    "option.share.pool": ("Pool of the share.", "份额所属资源池。"),
    "option.share.model": ("The GPU model, as nodes name it.", "GPU 型号（与节点一致）。"),
    "option.share.guaranteed": (
        "GPUs that are always there for the tenant; others borrow what it leaves idle.",
        "始终保障该租户的 GPU 数；空闲部分可被其他租户借用。",
    ),
    "option.share.ceiling": (
        "The most that all its jobs together may hold; left out: no limit.",
        "该租户全部任务可占用的上限；不填则不限。",
    ),
    "option.block.user": ("Only for this user of the tenant.", "仅针对该租户的某一用户。"),
    "option.block.pool": ("Pool of the nodes.", "节点所属资源池。"),
    "argument.tenant": ("Name of the tenant.", "租户名称。"),
    "argument.tenant.some": ("Only this tenant; default: all.", "仅该租户；默认全部。"),
    "argument.nodes": ("Names of nodes.", "节点名称。"),
    "help.fragments": (
        "Show for each shape of worker what is free and how many fit now; how long idle jobs "
        "keep their places.",
        "按 Worker 规格显示空闲资源以及当前可容纳的数量，以及闲时任务保留位置的概率。",
    ),
    "option.calibration": (
        "Show chances by risk, and those told when jobs were placed against what came.",
        "按风险显示概率，并将放置时给出的概率与实际结果对比。",
    ),
    "help.stock": (
        "Show what of spot capacity can be had now, by zone and GPU model.",
        "按可用区与 GPU 型号显示当前可用的 Spot 库存。",
    ),
    "help.stock.set": (
        "Say how many GPUs spot jobs may hold: what a provider's stock says.",
        "设置 Spot 任务可占用的 GPU 数（等同供应商库存）。",
    ),
    "help.stock.quota": (
        "Show how much spot jobs may hold on nodes that other jobs may take back, and why.",
        "显示 Spot 任务在可被其他任务收回的节点上的配额及其依据。",
    ),
    "option.stock.zone": ("The zone of the nodes.", "节点所在可用区。"),
    "option.stock.model": ("The GPU model.", "GPU 型号。"),
    "option.stock.gpus": (
        "GPUs that spot jobs may hold altogether; 0 = none left.",
        "Spot 任务合计可占用的 GPU 数；0 表示无库存。",
    ),
    "option.stock.withdrawn": ("No longer offered at all.", "不再提供该规格。"),
    "option.stock.price": ("Price for one GPU and hour.", "每卡时单价。"),
    "option.stock.currency": ("Its currency: USD, CNY.", "币种：USD、CNY。"),
    "option.stock.network": ("What connects the nodes.", "节点网络。"),
    "help.node": (
        "Take one node out of use, or back.",
        "操作单个节点。",
    ),
    "help.node.reclaim": (
        "Announce that the node will be taken away: what a cloud's notice says.",
        "通知节点即将被回收（等同云厂商的回收通知）。",
    ),
    "help.node.cordon": ("No new work on the node.", "节点不再接收新任务。"),
    "help.node.uncordon": ("New work is welcome again.", "节点恢复接收新任务。"),
    "help.node.drain": (
        "No new work, and what runs there leaves without using up its requeues.",
        "节点不再接收新任务，现有任务迁出（不消耗重新排队次数）。",
    ),
    "help.node.fence": (
        "Give your word that nothing runs on the node any more (it is switched off).",
        "确认节点上已没有任何进程（例如已断电）。",
    ),
    "help.parked": (
        "Messages that nobody could handle: list, show, replay, drop.",
        "无法处理的消息：列出、查看、重放、丢弃。",
    ),
    "help.parked.list": ("List them.", "列出。"),
    "help.parked.show": ("Show one with its reason and body.", "显示一条消息的原因与内容。"),
    "help.parked.replay": ("Send one, or all, to its handler again.", "重新交给处理者。"),
    "help.parked.drop": ("Delete one, or all, for good.", "永久删除。"),
    "help.doctor": (
        "Check server, streams, backlog, clock, disk and permissions; each finding with a remedy.",
        "检查服务器、流、积压、时钟、磁盘与权限，并给出处理办法。",
    ),
    "help.provision": (
        "Make a NATS server ready for Muster: streams and consumers.",
        "在 NATS 服务器上创建 Muster 所需的流与消费者。",
    ),
    "help.simulate": (
        "Run the real decisions in virtual time.",
        "在虚拟时间中运行真实的决策逻辑。",
    ),
    "help.version": ("Show the version.", "显示版本。"),
    "help.completion": (
        "Print the completion script of a shell.",
        "输出 shell 自动补全脚本。",
    ),
    "option.if": (
        "Suppose this, e.g. 'drain node-3', 'cordon N', 'uncordon N', 'remove N',"
        " 'add 4 nodes like node-1', 'stop JOB'; may be repeated, all hold at once.",
        "假设条件，例如 'drain node-3'、'cordon N'、'uncordon N'、'remove N'、"
        "'add 4 nodes like node-1'、'stop JOB'；可重复，同时生效。",
    ),
    "option.priority": (
        "As if the job had this priority: low, normal, high or 1-99.",
        "假设任务为该优先级：low、normal、high 或 1-99。",
    ),
    "option.snapshot": (
        "Ask this file of `muster snapshot` instead of the scheduler.",
        "使用 `muster snapshot` 生成的文件，而不询问调度器。",
    ),
    "argument.pool": ("Name of the pool.", "资源池名称。"),
    "usage.priority": (
        "{names}, or a number from 1 to {highest}",
        "{names}，或 1-{highest} 之间的整数",
    ),
    "option.json": ("Print JSON for programs.", "以 JSON 输出，供程序使用。"),
    "option.state": (
        "State folder of `muster up`; default: MUSTER_STATE, else .muster here.",
        "`muster up` 的状态目录；默认取 MUSTER_STATE，否则为当前目录的 .muster。",
    ),
    "option.lang": (
        "Language; default: MUSTER_LANG, else the locale.",
        "语言；默认取 MUSTER_LANG，否则取系统语言环境。",
    ),
    "option.debug": ("Show tracebacks and details.", "显示 traceback 与细节。"),
    "option.tenant": (
        "Only this tenant; default: MUSTER_TENANT, else every one.",
        "仅该租户；默认取 MUSTER_TENANT，否则为全部。",
    ),
    "option.tenant.own": (
        "Tenant to submit for; default: MUSTER_TENANT, else default.",
        "提交所属租户；默认取 MUSTER_TENANT，否则为 default。",
    ),
    "option.user": ("Only jobs of this user.", "仅该用户的任务。"),
    "option.phase": ("Only in this phase; may be repeated.", "仅该状态；可重复指定。"),
    "option.label": (
        "Only with this label (key=value); several must all match.",
        "仅带有该标签（key=value）；多个须同时满足。",
    ),
    "option.limit": ("At most so many, the newest.", "最多显示的条数（最新的）。"),
    "option.limit.oldest": ("At most so many, the oldest.", "最多显示的条数（最早的）。"),
    "option.follow.submit": (
        "Follow the job to its end; the exit code is its outcome.",
        "跟随任务直到结束；退出码即任务结果。",
    ),
    "option.follow": ("Go on with what comes.", "持续跟随。"),
    "option.name": ("Another name for the job.", "覆盖任务名称。"),
    "option.set": (
        "Change a field before submitting, e.g. resource.replicas=4; may be repeated.",
        "提交前修改字段，例如 resource.replicas=4；可重复。",
    ),
    "option.event": (
        "Only this event, e.g. preempted; may be repeated.",
        "仅该事件，例如 preempted；可重复。",
    ),
    "option.job": ("Only this job: id, start of the id, or name.", "仅该任务：ID、ID 前缀或名称。"),
    "option.since": (
        "From then on: 10m, 2h, 1d, or an instant; default: everything.",
        "起始时间：10m、2h、1d 或具体时刻；默认全部。",
    ),
    "option.worker": ("Only this worker, e.g. worker-0.", "仅该 Worker，例如 worker-0。"),
    "option.attempt": ("Only this attempt; default: all.", "仅第几次运行；默认全部。"),
    "option.tail": ("Only the last lines of each worker.", "仅每个 Worker 的最后若干行。"),
    "option.max_queue_hours": (
        "New limit of each queueing, 1-12 hours.",
        "新的单次排队上限，1-12 小时。",
    ),
    "option.max_requeues": ("New number of requeues, 0-3.", "新的重新排队次数，0-3。"),
    "option.consumer": ("Only for this consumer.", "仅该消费者。"),
    "option.pool": ("Pool of the node.", "节点所属资源池。"),
    "option.notice": ("Time until the node is taken: 30s, 2m.", "距回收的时间：30s、2m。"),
    "option.all": ("All of them.", "全部。"),
    "option.yes": ("Do not ask.", "不再询问。"),
    "option.force": ("Overwrite what is there.", "覆盖已有文件。"),
    "option.dir": ("Where to write.", "写入的目录。"),
    "option.port": (
        "Port of the web page and HTTP API; 0 = a free one.",
        "网页与 HTTP API 的端口；0 表示任意空闲端口。",
    ),
    "option.nats_port": (
        "Port of the embedded nats-server; 0 = a free one.",
        "内置 nats-server 的端口；0 表示任意空闲端口。",
    ),
    "option.detach": (
        "Go on in the background; `muster down` ends it.",
        "在后台运行；用 `muster down` 停止。",
    ),
    "option.keep_nats": (
        "Leave nats-server running when Muster stops.",
        "停止 Muster 时保留 nats-server。",
    ),
    "option.nodes_file": (
        "Nodes of the local cluster; default: nodes.yaml here, else made from this machine.",
        "本地集群的节点；默认使用当前目录的 nodes.yaml，否则按本机生成。",
    ),
    "option.rules_file": ("Rules of notifications.", "通知规则文件。"),
    "option.workers": ("Also end the worker processes of jobs.", "同时结束任务的 Worker 进程。"),
    "option.keep": (
        "Leave everything running afterwards, to play with.",
        "演示结束后保留运行，供继续体验。",
    ),
    "option.clean": ("Stop the demo and delete its state.", "停止演示并删除其状态。"),
    "option.url": (
        "NATS server; default: MUSTER_NATS_URL, else the state folder's.",
        "NATS 服务器；默认取 MUSTER_NATS_URL，否则取状态目录中的。",
    ),
    "option.replicas": (
        "Copies of each stream: 3 in production.",
        "每个流的副本数：生产环境为 3。",
    ),
    "argument.file": (
        "YAML with one or more jobs; - reads standard input.",
        "包含一个或多个任务的 YAML；- 表示标准输入。",
    ),
    "argument.job": ("Id, start of the id, or name.", "ID、ID 前缀或名称。"),
    "argument.jobs": ("Ids, starts of ids, or names.", "ID、ID 前缀或名称。"),
    "argument.node": ("Name of the node.", "节点名称。"),
    "argument.parked": ("Number from `muster parked list`.", "`muster parked list` 中的编号。"),
    "argument.shell": ("bash, zsh, fish or powershell.", "bash、zsh、fish 或 powershell。"),
    "usage.lang": ("zh or en", "zh 或 en"),
    "usage.duration": ("a duration is like 30s, 5m, 2h or 1d", "时长格式如 30s、5m、2h、1d"),
    "usage.stock": (
        "give either --gpus N (0 = none left) or --withdrawn (no longer offered)",
        "须二选一：--gpus N（0 表示无库存）或 --withdrawn（不再提供）",
    ),
    "usage.notice": ("at most {limit}", "最多 {limit}"),
    "usage.since": (
        "like 10m, 2h, 1d or 2026-01-31T08:00:00+00:00",
        "格式如 10m、2h、1d 或 2026-01-31T08:00:00+00:00",
    ),
    "usage.label": ("a label is key=value", "标签格式为 key=value"),
    "usage.no_field": ("there is no field {field}", "没有字段 {field}"),
    "usage.mapping": ("line {line}: a job is a mapping", "第 {line} 行：任务须为映射"),
    "usage.phase": ("unknown phase {phase}; known: {known}", "未知状态 {phase}；可用：{known}"),
    "usage.event": ("unknown event {event}; known: {known}", "未知事件 {event}；可用：{known}"),
    "usage.one_or_all": ("give a number or --all", "请给出编号或 --all"),
}
