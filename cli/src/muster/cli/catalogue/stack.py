"""Texts of `up` and `down`: the banner, what is started, what is stopped."""

from __future__ import annotations

STACK: dict[str, tuple[str, str]] = {
    "up.title": ("Muster is up", "Muster 已启动"),
    "up.starting": ("starting Muster in {state} ...", "正在启动 Muster（{state}）……"),
    "up.nats": ("nats-server", "nats-server"),
    "up.nats.value": ("{address}, process {pid} ({how})", "{address}，进程 {pid}（{how}）"),
    "up.how.started": ("started", "新启动"),
    "up.how.adopted": ("was running already: adopted", "已在运行，直接接管"),
    "up.services": ("services", "服务"),
    "up.gateway": ("web and API", "网页与 API"),
    "up.nodes": ("nodes", "节点"),
    "up.nodes.value": (
        "{count} node(s), {gpus} GPUs ({source})",
        "{count} 个节点，{gpus} 个 GPU（{source}）",
    ),
    "up.nodes.machine": ("made from this machine", "按本机生成"),
    "up.state": ("state", "状态目录"),
    "up.log": ("log", "日志"),
    "up.stop": ("stop", "停止"),
    "up.stop.ctrl_c": ("Ctrl-C, or muster down{state}", "Ctrl-C 或 muster down{state}"),
    "up.stop.down": ("muster down{state}", "muster down{state}"),
    "up.try": ("try", "试试"),
    "up.try.value": (
        "muster init, then muster submit job.yaml --follow{state}",
        "muster init，然后 muster submit job.yaml --follow{state}",
    ),
    "up.port_busy": (
        "port {port} is busy: the gateway listens on {instead}",
        "端口 {port} 被占用：网关改用 {instead}",
    ),
    "up.nats_port_busy": (
        "port {port} is busy: nats-server takes another one",
        "端口 {port} 被占用：nats-server 改用其他端口",
    ),
    "up.nats_died": ("nats-server died and is started again", "nats-server 已退出，正在重新启动"),
    "up.nats_restarted": (
        "nats-server runs again, process {pid}",
        "nats-server 已重新运行，进程 {pid}",
    ),
    "up.nats_restart_failed": (
        "nats-server does not start: {detail}",
        "nats-server 启动失败：{detail}",
    ),
    "up.stopping": ("stopping ...", "正在停止……"),
    "up.stopped": ("Muster is down.", "Muster 已停止。"),
    "up.workers_go_on": (
        "{count} worker process(es) keep running; `muster up` finds them again,"
        " `muster down --workers` ends them",
        "{count} 个 Worker 进程仍在运行；`muster up` 会重新接管，"
        "`muster down --workers` 可结束它们",
    ),
    "up.nats_kept": ("nats-server keeps running on {address}", "nats-server 仍在 {address} 运行"),
    "up.detached": (
        "Muster runs in the background, process {pid}",
        "Muster 已在后台运行，进程 {pid}",
    ),
    "down.stopped": ("stopped Muster, process {pid}", "已停止 Muster（进程 {pid}）"),
    "down.killed": (
        "Muster, process {pid}, did not stop in time and was killed",
        "Muster（进程 {pid}）未能按时停止，已强制结束",
    ),
    "down.not_up": ("no Muster was running on {state}", "{state} 上没有运行中的 Muster"),
    "down.nats": ("stopped nats-server, process {pid}", "已停止 nats-server（进程 {pid}）"),
    "down.workers": ("ended {count} worker process(es)", "已结束 {count} 个 Worker 进程"),
    "down.workers_go_on": (
        "{count} worker process(es) keep running; end them with --workers",
        "{count} 个 Worker 进程仍在运行；用 --workers 结束它们",
    ),
}
