"""Texts of errors: `error.<key>` says what is wrong, `error.<key>.fix` what to do about it."""

from __future__ import annotations

ERRORS: dict[str, tuple[str, str]] = {
    "error": ("error: ", "错误："),
    "remedy": ("what to do: ", "处理办法："),
    "error.setting": (
        "the environment variable {name} has a value that cannot be: {why}",
        "环境变量 {name} 的取值无效：{why}",
    ),
    "error.settings": (
        "environment variables contradict each other: {why}",
        "环境变量相互矛盾：{why}",
    ),
    "error.settings.fix": (
        "change one of them; docs/reference/settings.md tells what each means and its default",
        "请修改其中之一；含义与默认值见 docs/reference/settings.md",
    ),
    "error.setting.fix": (
        "set it to one of what docs/reference/settings.md allows, or unset it for the default",
        "按 docs/reference/settings.md 的说明修改，或取消设置以使用默认值",
    ),
    "error.unexpected": ("this should not happen: {what}", "意外错误：{what}"),
    "error.unexpected.fix": (
        "run the command again with --debug and report what it prints",
        "请加 --debug 再次运行，并反馈输出内容",
    ),
    "error.usage": ("{why}", "{why}"),
    "error.usage.fix": ("see {command} --help", "见 {command} --help"),
    "error.system": ("the system refused: {why}", "系统拒绝了操作：{why}"),
    "error.system.fix": (
        "look at the path, its permissions and the free disk space",
        "请检查路径、权限与磁盘空间",
    ),
    "error.refused": ("{why}", "{why}"),
    "error.refused.fix": ("", ""),
    "error.trouble": ("{cause} ({why})", "{cause}（{why}）"),
    "error.trouble.fix": ("{remedy}", "{remedy}"),
    "error.not_running": (
        "no Muster runs on state folder {state}",
        "状态目录 {state} 没有运行中的 Muster",
    ),
    "error.not_running.fix": (
        "run `muster up`, name its folder with --state, or set MUSTER_NATS_URL",
        "运行 `muster up`，或用 --state 指定目录，或设置 MUSTER_NATS_URL",
    ),
    "error.unreachable": ("Muster cannot be reached: {why}", "无法连接 Muster：{why}"),
    "error.unreachable.fix": (
        "run `muster up` or set MUSTER_NATS_URL; `muster doctor` looks closer",
        "运行 `muster up` 或设置 MUSTER_NATS_URL；`muster doctor` 可进一步检查",
    ),
    "error.no_answer": (
        "nobody answered the request within {seconds} s; it stays in the queue of requests",
        "{seconds} 秒内没有应答；请求仍保留在请求队列中",
    ),
    "error.no_answer.fix": (
        "see with `muster doctor` whether admission runs; `muster list` shows what became of it",
        "用 `muster doctor` 检查 admission 是否运行；用 `muster list` 查看结果",
    ),
    "error.already_up": (
        "Muster already runs on {state}: process {pid}, {gateway}",
        "{state} 上已有 Muster 运行：进程 {pid}，{gateway}",
    ),
    "error.already_up.fix": (
        "use it, stop it with `muster down`, or give another folder with --state",
        "可直接使用，或用 `muster down` 停止，或用 --state 指定其他目录",
    ),
    "error.starting": (
        "another `muster up` is just starting or stopping on {state}",
        "{state} 上另一个 `muster up` 正在启动或停止",
    ),
    "error.starting.fix": ("try again in a few seconds", "请几秒后再试"),
    "error.start_failed": ("Muster did not start: {why}", "Muster 启动失败：{why}"),
    "error.start_failed.fix": (
        "the whole story is in {log}",
        "详细信息见 {log}",
    ),
    "error.sandbox_mode": ("there is no mode {mode}", "没有应答方式 {mode}"),
    "error.sandbox_mode.fix": ("one of {modes}", "可选值：{modes}"),
    "error.sandbox_token": (
        "--token: letters, digits and -._~ only",
        "--token：只能包含字母、数字和 -._~",
    ),
    "error.sandbox_token.fix": ("leave it out, and one is made", "可不指定，将自动生成"),
    "error.sandbox_port": ("port {port}: {why}", "端口 {port}：{why}"),
    "error.sandbox_port.fix": ("give another with --port, or 0", "请用 --port 指定其他端口或 0"),
    "error.still_runs": ("process {pid} does not end", "进程 {pid} 未能结束"),
    "error.still_runs.fix": ("look at it with `ps -p {pid}`", "请用 `ps -p {pid}` 查看"),
    "error.no_job": ("there is no job {text}", "没有任务 {text}"),
    "error.no_job.fix": ("`muster list` shows them", "用 `muster list` 查看所有任务"),
    "error.many_jobs": ("{text} means {count} jobs: {jobs}", "{text} 对应 {count} 个任务：{jobs}"),
    "error.many_jobs.fix": ("give the id, or more of it", "请给出 ID 或更长的前缀"),
    "error.no_node": ("there is no node {node} in pool {pool}", "资源池 {pool} 中没有节点 {node}"),
    "error.no_node.fix": ("`muster nodes` shows them", "用 `muster nodes` 查看所有节点"),
    "error.no_parked": ("no message is parked as number {number}", "没有编号为 {number} 的消息"),
    "error.no_parked.fix": ("`muster parked list` shows them", "用 `muster parked list` 查看"),
    "error.spec": ("{where} breaks {count} rule(s)", "{where} 有 {count} 处不符合规则"),
    "error.spec.fix": (
        "correct the lines above and submit again; nothing was sent",
        "请修正以上各处后重新提交；未发送任何请求",
    ),
    "error.request": ("{what} was refused", "{what} 被拒绝"),
    "error.request.fix": ("correct what is listed and try again", "请按提示修正后重试"),
    "error.what_if": ("{count} what-if(s) cannot be read", "有 {count} 个假设无法识别"),
    "error.what_if.fix": (
        "write each in quotes behind its own --if: {forms}",
        "每个 --if 后跟一个带引号的假设：{forms}",
    ),
    "error.question": ("the question about {what} was refused", "关于 {what} 的查询被拒绝"),
    "error.question.fix": ("correct what is listed and ask again", "请按提示修正后重试"),
    "error.no_scheduler": (
        "no scheduler of pool {pool} answered within {seconds} s",
        "{seconds} 秒内没有资源池 {pool} 的调度器应答",
    ),
    "error.no_scheduler.fix": (
        "see with `muster doctor` whether it runs; `muster snapshot {pool} > FILE` and --snapshot"
        " FILE answer without it",
        "用 `muster doctor` 检查其是否运行；也可用 `muster snapshot {pool} > FILE` 与"
        " --snapshot FILE 离线试算",
    ),
    "error.no_fault_tolerance": (
        "fault tolerance did not answer within {seconds} s",
        "{seconds} 秒内容错服务没有应答",
    ),
    "error.no_fault_tolerance.fix": (
        "see with `muster doctor` whether it runs",
        "用 `muster doctor` 检查其是否运行",
    ),
    "error.no_pool": ("nothing is known of pool {pool}", "没有资源池 {pool} 的任何信息"),
    "error.no_pool.fix": ("`muster nodes` shows the pools", "用 `muster nodes` 查看资源池"),
    "error.snapshot_file": ("{path} cannot be used: {why}", "无法使用 {path}：{why}"),
    "error.snapshot_file.fix": (
        "give a file that `muster snapshot` of this version wrote",
        "请提供由同版本 `muster snapshot` 生成的文件",
    ),
    "error.file_read": ("{path} cannot be read: {why}", "无法读取 {path}：{why}"),
    "error.file_read.fix": (
        "give the path of a YAML file; `muster init` writes one",
        "请给出 YAML 文件路径；`muster init` 可生成示例",
    ),
    "error.yaml": ("{path} is not YAML that can be read: {why}", "{path} 不是可读取的 YAML：{why}"),
    "error.yaml.fix": ("correct the file at that line", "请修正该行"),
    "error.no_documents": ("{path} holds no job", "{path} 中没有任务"),
    "error.no_documents.fix": (
        "`muster init` writes an example to begin with",
        "`muster init` 可生成示例",
    ),
    "error.set": ("--set {change}: {why}", "--set {change}：{why}"),
    "error.set.fix": (
        "write it like resource.replicas=4; lists take numbers, like environment.0.value=x",
        "格式如 resource.replicas=4；列表用数字下标，如 environment.0.value=x",
    ),
    "error.nodes_file": ("{path} breaks {count} rule(s)", "{path} 有 {count} 处不符合规则"),
    "error.nodes_file.fix": (
        "correct the lines above; `muster init --dir DIR` writes an example",
        "请修正以上各处；`muster init --dir DIR` 可生成示例",
    ),
    "error.exists": ("{paths} exist(s) already", "{paths} 已存在"),
    "error.exists.fix": (
        "overwrite with --force, or choose another --dir",
        "用 --force 覆盖，或用 --dir 指定其他目录",
    ),
    "error.no_logs": ("no output of job {job} is to be found here", "此处找不到任务 {job} 的日志"),
    "error.no_logs.fix": (
        "it has not started yet, or ran elsewhere; with -f, lines are shown as they come",
        "任务尚未启动，或运行在别处；加 -f 可实时查看",
    ),
    "error.demo_missing": (
        "the demo's training program is not at {path}",
        "找不到演示所用的训练程序 {path}",
    ),
    "error.demo_missing.fix": (
        "run the demo from a checkout of Muster's source, where examples/training is",
        "请在 Muster 源码目录（包含 examples/training）中运行演示",
    ),
    "error.demo_runs": ("another demo runs in {state}", "{state} 中已有演示在运行"),
    "error.demo_runs.fix": (
        "wait for it, or end it with `muster demo --clean`",
        "请等待其结束，或用 `muster demo --clean` 清理",
    ),
    "error.not_a_demo": (
        "{state} is no folder of a demo: it will not be deleted",
        "{state} 不是演示目录，不会删除",
    ),
    "error.not_a_demo.fix": (
        "give an empty folder with --state, or leave it out",
        "请用 --state 指定空目录，或不指定",
    ),
    "error.demo_stuck": (
        "the demo waited too long for this: {what}",
        "演示等待超时：{what}",
    ),
    "error.demo_stuck.fix": (
        "what the services said is in {log}; on a very slow machine, try again",
        "服务日志见 {log}；若机器很慢，请重试",
    ),
    "error.no_simulator": ("the simulator is not installed", "未安装模拟器"),
    "error.no_simulator.fix": ("install Muster from its source", "请从源码安装 Muster"),
}
