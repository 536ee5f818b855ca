"""The catalogue of violations: code -> text in English and Chinese, for every rule.

`violation(code, path, ...)` fills a text in. The text of a rule that a person meets says what is
allowed, never the value of a secret.
"""

from __future__ import annotations

from muster.domain.violations import Violation

RULES: dict[str, tuple[str, str]] = {
    "E_UNKNOWN_FIELD": (
        "unknown field {field}; {hint}",
        "未知字段 {field}；{hint_zh}",
    ),
    "E_MISSING": ("field {field} is required", "缺少必填字段 {field}"),
    "E_TYPE": ("field {field}: {detail}", "字段 {field} 的值不合法：{detail_zh}"),
    "E_REQUEST": ("not a valid request: {detail}", "请求格式不合法：{detail_zh}"),
    "E_TEXT": (
        "field {field} must not hold control characters (NUL is refused everywhere; line breaks and"
        " tabs are for commands, environment values, descriptions and the runtime env only)",
        "字段 {field} 不能包含控制字符（任何字段都不能含 NUL；"
        "换行与制表符仅可用于启动命令、环境变量值、描述与 Runtime Env）",
    ),
    "E_VERB": (
        "unknown request {verb}; known: {known}",
        "未知请求 {verb}；可用：{known}",
    ),
    "E_REQUEST_REUSED": (
        "request id {request} was already used for another body; choose a new id",
        "请求标识 {request} 已用于其他内容，请使用新的标识",
    ),
    "E_NAME_INVALID": (
        "name must match [a-z]([-a-z0-9]*[a-z0-9])? and be at most 40 characters",
        "任务名称须以小写字母开头，仅含小写字母、数字、中划线，且不超过 40 个字符",
    ),
    "E_DISPLAY_NAME": (
        "display name must be 1-128 printable characters",
        "显示名称须为 1-128 个可见字符",
    ),
    "E_JOB_TYPE": (
        "unsupported job type; allowed: PyTorchJob, RayJob",
        "不支持的任务类型；可选：PyTorchJob、RayJob",
    ),
    "E_RESOURCE_TYPE": (
        "unsupported resource type; allowed: reserved, on_demand, spot, idle",
        "不支持的资源类型；可选：reserved、on_demand、spot、idle",
    ),
    "E_REPLICAS": (
        "worker count must be an integer >= 1 (at most 4096)",
        "Worker 数量须为不小于 1 的整数（最多 4096）",
    ),
    "E_SPEC": (
        "GPUs per worker must be an integer between 0 and 64",
        "每个 Worker 的 GPU 数须为 0-64 之间的整数",
    ),
    "E_GPU_SHARE": (
        "a share of one GPU must be an integer between 0 and 999 thousandths (0 = none); for a"
        " whole GPU set gpus_per_replica to 1",
        "单卡共享份额须为 0-999 之间的整数（千分之一卡，0 表示不共享）；"
        "需要整卡请将 gpus_per_replica 设为 1",
    ),
    "E_GPU_SHARE_WHOLE": (
        "a worker takes whole GPUs or a share of one, not both; set gpus_per_replica or"
        " gpu_milli_per_replica to 0",
        "每个 Worker 只能使用整卡或共享一张卡，不能同时设置；"
        "请将 gpus_per_replica 或 gpu_milli_per_replica 设为 0",
    ),
    "E_GPU_MODEL": (
        "gpu_model must be one model or alternatives joined with |, such as A100|H100: 1-16"
        " different models of 1-64 characters, no spaces at their ends, none empty",
        "gpu_model 须为一个型号，或用 | 分隔的多个可选型号，如 A100|H100："
        "1-16 个互不相同的型号，每个 1-64 个字符，首尾不能为空格，不能为空",
    ),
    "E_LOCALITY_LEVEL": (
        "locality level must be node, zone or the key of a node label, such as"
        " topology.example.com/switch",
        "就近级别须为 node、zone 或节点标签的键，如 topology.example.com/switch",
    ),
    "E_LOCALITY_MODE": (
        "locality mode must be required or preferred",
        "就近模式须为 required 或 preferred",
    ),
    "E_TOLERATION": (
        "a toleration names the key of a taint and perhaps its value; leave both out to tolerate"
        " every taint; a value needs a key",
        "容忍须填写污点的键，可再填写值；两者都不填表示容忍所有污点；填写值时必须填写键",
    ),
    "E_TOLERATIONS": (
        "at most 20 tolerations, each with a key and a value as text",
        "最多 20 条容忍，键和值均须为文本",
    ),
    "E_IDLE_PRIORITY": (
        "priority cannot be set for idle resources; remove it",
        "闲时资源不支持设置优先级，请删除该字段",
    ),
    "E_IDLE_GUARANTEE": (
        "resource guarantee cannot be set for idle resources; remove it",
        "闲时资源不支持资源保障，请删除该字段",
    ),
    "E_SPOT_GUARANTEE": (
        "spot resources are reclaimable and cannot be guaranteed; remove the guarantee",
        "Spot 属于非保障型资源，不支持资源保障",
    ),
    "E_STABILITY_LEVEL": (
        "stability level applies to idle resources only; allowed: low, medium, high",
        "稳定性等级仅适用于闲时资源，可选：低、中、高",
    ),
    "E_PRIORITY": (
        "priority must be low, normal, high or an integer 1-99",
        "优先级须为 低/普通/高 或 1-99 的整数",
    ),
    "E_MAX_QUEUE_HOURS": (
        "max queue time must be an integer between 1 and 12 hours; write max_queue_hours: 2, for"
        " example",
        "单次最大排队时长须为 1-12 之间的整数（小时）；例如 max_queue_hours: 2",
    ),
    "E_MAX_REQUEUES": (
        "max requeues must be an integer between 0 and 3; write max_requeues: 1, for example, or 0"
        " to queue only once",
        "最大重新排队次数须为 0-3 之间的整数；例如 max_requeues: 1，0 表示不再重新排队",
    ),
    "E_REQUEUES_TWICE": (
        "max_requeues and max_retries are two names of one limit and were given different values;"
        " keep max_requeues alone",
        "max_requeues 与 max_retries 是同一项配置的两个名称，但取值不同；请只保留 max_requeues",
    ),
    "E_AUTO_QUEUE_OFF": (
        "queue limits are set but auto-queue is disabled; write enabled: true, or remove"
        " max_queue_hours and max_requeues",
        "未开启自动排队，不能设置排队时长或重新排队次数；"
        "请设置 enabled: true，或删除 max_queue_hours 与 max_requeues",
    ),
    "E_NODE_POLICY": (
        "node policy must be NodeIn or NodeNotIn",
        "节点调度策略须为 NodeIn 或 NodeNotIn",
    ),
    "E_NODES_EMPTY": (
        "node list must name 1-100 nodes",
        "节点列表须包含 1-100 个节点",
    ),
    "E_NODES_DUP": ("duplicate node: {node}", "节点重复：{node}"),
    "E_INCIDENT_UNKNOWN": (
        "there is no incident {incident} that goes on; `muster incidents` lists them",
        "没有正在进行的故障事件 {incident}；用 `muster incidents` 查看列表",
    ),
    "E_NODE_UNKNOWN": ("unknown node: {node}", "节点不存在：{node}"),
    "E_NODE_BLACKLIST": (
        "quota check failed due to node blacklist: {nodes}",
        "quota check failed due to node blacklist: {nodes}；请检查当前用户和租户范围内的屏蔽策略",
    ),
    "E_QUOTA": (
        "quota check failed: requested {requested}, available {available}",
        "配额不足：申请 {requested}，可用 {available}",
    ),
    "E_SPOT_DISABLED": (
        "spot resources are not enabled for tenant {tenant}; choose another resource type, or ask"
        " an operator for them (muster quota spot {tenant} --on)",
        "当前租户未开通 Spot 资源；请更换资源类型，"
        "或联系管理员为租户 {tenant} 开通（muster quota spot {tenant} --on）",
    ),
    "E_SHARE_RANGE": (
        "the guaranteed share {guaranteed} is above the ceiling {ceiling}; raise the ceiling, or"
        " leave it out for no limit",
        "保障份额 {guaranteed} 超过上限 {ceiling}；请提高上限，或不设上限",
    ),
    "E_SHARE_DUP": (
        "{gpu_model} of pool {pool} is named more than once; give each model one share",
        "资源池 {pool} 的 {gpu_model} 重复出现；每个型号只能设置一次",
    ),
    "E_BLOCK_DUP": (
        "node {node} is named more than once; name it once, under add or under remove",
        "节点 {node} 重复出现；请仅在 add 或 remove 中列出一次",
    ),
    "E_BLOCK_NOTHING": (
        "no node is named: give nodes to add or to remove",
        "未指定节点：请给出要屏蔽（add）或恢复（remove）的节点",
    ),
    "E_IMAGE": ("image must not be empty", "镜像不能为空"),
    "E_COMMAND": (
        "command must be a list with at least one word",
        "启动命令须为至少包含一项的列表",
    ),
    "E_SHARED_STORAGE_TYPE": (
        "shared storage is supported for RayJob only",
        "共享存储仅支持 RayJob",
    ),
    "E_MOUNT_CONFLICT": (
        "mount path {mount} conflicts: paths must be absolute, unique, not / and not in or above"
        " /tmp/ray when shared storage is on",
        "挂载路径 {mount} 冲突：须为绝对路径且不重复，不能为 /；"
        "开启共享存储时不能包含或位于 /tmp/ray",
    ),
    "E_PUBLIC_DATA_OUTPUT": (
        "public data is read-only and cannot be an output path",
        "公共数据为只读路径，不能作为输出目录",
    ),
    "E_RAY_RANGE": (
        "autoscaling range invalid: need 0 <= min <= workers <= max",
        "自动扩缩容范围无效：须满足 0 ≤ 下限 ≤ Worker 数 ≤ 上限",
    ),
    "E_RAY_IDLE": (
        "scale-down idle time must be between 10 and 86400 seconds",
        "回收时间须在 10-86400 秒之间",
    ),
    "E_RAY_MODE": (
        "upscaling mode must be Default, Aggressive or Conservative",
        "扩容模式须为 Default、Aggressive 或 Conservative",
    ),
    "E_RUNTIME_ENV": (
        "runtime env is not a valid YAML mapping of at most 64 KiB",
        "Runtime Env 不是合法的 YAML 映射（最大 64 KiB）",
    ),
    "E_RAY_ONLY": ("{field} is supported for RayJob only", "{field} 仅支持 RayJob"),
    "E_DEBUG_HOLD": (
        "debug hold time must be 0 or between 60 and 86400 seconds, and needs a RayJob",
        "集群保存时间须为 0 或在 60-86400 秒之间，且仅支持 RayJob",
    ),
    "E_MAX_RETRIES": (
        "max retries must be an integer between 0 and 99",
        "最大重试次数须为 0-99 之间的整数",
    ),
    "E_EXIT_CODES": (
        'exit codes must be like "1,200-205" within 1-255',
        "异常退出码格式须如“1,200-205”，范围 1-255",
    ),
    "E_FAULT_ALWAYS": (
        "strategy always restarts whatever the failure is, so max_retries is 1-3;"
        " lower it, or choose on_failure",
        "无条件重试（always）的最大重试次数为 1-3；请调小 max_retries，或改用 on_failure",
    ),
    "E_FAULT_NOOP": (
        "fault strategy has no effect when max retries is 0 or fault tolerance is off",
        "未开启容错或最大重试次数为 0 时容错策略无效",
    ),
    "E_KEYWORD": (
        "at most 20 log keywords of 3-200 characters each",
        "日志关键字最多 20 个，每个须为 3-200 个字符",
    ),
    "E_HANG": (
        "hang detection: action off, notify or restart (restart needs retries); window 300-86400"
        " seconds",
        "卡死检测：动作须为 off、notify 或 restart（restart 需要重试次数），"
        "时长须在 300-86400 秒之间",
    ),
    "E_ENV_NAME": (
        "invalid environment variable name: letters, digits and _, not starting with a digit,"
        " at most 256 characters",
        "环境变量名不合法：仅含字母、数字、下划线，不以数字开头，不超过 256 个字符",
    ),
    "E_ENV_RESERVED": (
        "environment variable {name} must not start with KUBERNETES_",
        "环境变量 {name} 不能使用 KUBERNETES_ 前缀",
    ),
    "E_ENV_PLATFORM": (
        "environment variable {name} is managed by the platform",
        "环境变量 {name} 由平台管理，不可设置",
    ),
    "E_ENV_VALUE": (
        "environment variable {name} needs either value or secret_ref",
        "环境变量 {name} 须设置 value 或 secret_ref 其中之一",
    ),
    "E_ENV_LIMIT": (
        "at most 100 variables of 4096 bytes each, 64 KiB in all",
        "最多 100 个环境变量，单个值不超过 4096 字节，总计不超过 64 KiB",
    ),
    "E_ENV_DUP": ("duplicate environment variable: {name}", "环境变量重复：{name}"),
    "E_LABEL_FORMAT": (
        "invalid label {key}: key 1-128 and value at most 255 characters (letters, digits, space,"
        " _ . : = + - @ /), no spaces at the ends, not _sys_, at most 20 labels",
        "标签格式不合法：{key}（键 1-128 个字符、值不超过 255 个字符，首尾不能为空格，"
        "不能以 _sys_ 开头，最多 20 个）",
    ),
    "E_PROGRESS_LINE": (
        "a line of progress is 1-200 characters of text, at least 3 of them neither blank, * nor"
        " #; * stands for anything (at most 8 times) and # for the step, exactly once"
        " in checkpoint_saved and step; at most 8 lines of each kind",
        "进度行须为 1-200 个字符的文本，除空格、* 和 # 外至少 3 个字符；"
        "* 表示任意内容（最多 8 个），# 表示步数，"
        "checkpoint_saved 与 step 中须恰好出现一次；每类最多 8 行",
    ),
    "E_METRICS": (
        "metrics port and path must be set together; port 1-65535, path starts with / and has no"
        ' host and no ".."',
        "指标端口与路径须同时填写；端口 1-65535，路径以 / 开头，不含主机名和“..”",
    ),
    "E_SPEC_GONE": (
        "the specification of job {job} is no longer in the log, since it ended long ago; submit"
        " it yourself with the command `sleep inf`",
        "任务 {job} 结束已久，日志中不再保留其配置；请自行提交，并将启动命令设为 `sleep inf`",
    ),
    "E_JOB_UNKNOWN": ("there is no job {job} in tenant {tenant}", "租户 {tenant} 中没有任务 {job}"),
    "E_STATE": (
        "cannot {action} a job in state {state}",
        "任务处于{state_zh}状态，不能{action}",
    ),
    "E_STILL_HELD": (
        "the job still gives its nodes back; try again in a moment",
        "任务仍在释放节点，请稍后再试",
    ),
    "E_NODE_STATE": (
        "cannot {action} node {node} in condition {condition}",
        "节点 {node} 处于 {condition} 状态，不能{action}",
    ),
    "E_NOTHING": (
        "nothing to change: give auto_queue or node_policy",
        "没有需要修改的内容：请提供 auto_queue 或 node_policy",
    ),
    "E_RULE_TRIGGER": (
        "a notification rule takes exactly one trigger; create more rules for more states",
        "同一条通知规则只能选择一个触发条件，如需多个请创建多条规则",
    ),
    "E_WHAT_IF": (
        "at character {at}: expected {expected}; what-ifs are {forms}",
        "第 {at} 个字符处：应为 {expected_zh}；可用的假设：{forms}",
    ),
    "E_WHAT_IF_MANY": (
        "at most {limit} what-ifs in one question; ask several",
        "每次最多 {limit} 个假设，请分次提问",
    ),
    "E_WHAT_IF_NODE": (
        "pool {pool} has no node of this name; `muster nodes` shows them",
        "资源池 {pool} 中没有该名称的节点；用 `muster nodes` 查看",
    ),
    "E_WHAT_IF_JOB": (
        "pool {pool} has no queued or running job of this id or name; `muster list` shows them",
        "资源池 {pool} 中没有该 ID 或名称的排队或运行任务；用 `muster list` 查看",
    ),
    "E_WHAT_IF_JOBS": (
        "{count} jobs of pool {pool} have this name; give an id: {jobs}",
        "资源池 {pool} 中有 {count} 个同名任务，请给出 ID：{jobs}",
    ),
    "E_QUESTION": (
        "unknown question {kind}; known: {known}",
        "未知的查询 {kind}；可用：{known}",
    ),
    "E_QUESTION_POOL": (
        "the question was sent to pool {asked}, and the job names pool {pool}; ask there",
        "查询发往资源池 {asked}，但任务指定的资源池为 {pool}；请向该资源池查询",
    ),
}


def violation(code: str, path: str, **values: object) -> Violation:
    """Return a violation with its texts. Raises KeyError for an unknown code or missing value."""
    english, chinese = RULES[code]
    return Violation(code=code, path=path, en=english.format(**values), zh=chinese.format(**values))
