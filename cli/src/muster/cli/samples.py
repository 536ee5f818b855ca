"""The files that `muster init` writes: short, commented, and valid as they are."""

from __future__ import annotations

from muster.cli.texts import pick

JOB_FILE = "job.yaml"
NODES_FILE = "nodes.yaml"

_JOB_EN = """\
# A training job. Submit it with: muster submit job.yaml --follow
# Only name, image, command and resource are needed; the rest shows what there is.
name: hello
image: python:3.11            # the local cluster runs processes of this machine and pulls nothing
command:
  - python
  - -uc
  - |
    import os, time
    for step in range(1, 11):
        print(f"step {step} of rank {os.environ['RANK']}")
        time.sleep(0.5)

resource:
  type: on_demand             # reserved, on_demand, spot (may be evicted) or idle
  replicas: 2                 # workers: all of them run, or none
  gpus_per_replica: 1
  # gpu_milli_per_replica: 250  # instead of whole GPUs: a quarter of one, shared with others
  # gpu_model: A100|H100      # one of these; any model when left out
  # priority: high            # low, normal, high or 1-99

# Where the workers go: near to each other, and onto nodes with marks that keep others off:
# locality: {level: node, mode: required}   # node, zone or the key of a node label
# tolerations:
#   - {key: dedicated, value: vision}

# Queue again after an eviction, instead of failing:
# auto_queue:
#   enabled: true
#   max_queue_hours: 2        # each wait, 1-12
#   max_requeues: 3           # 0-3; max_retries is read as the same

# Start again after a failure of the job's own processes:
# fault_tolerance:
#   enabled: true
#   max_retries: 2

# How its output tells of checkpoints and steps, where it is not one of the usual ways
# (* = anything, # = the step); so Muster can say whether it really went on after a restart:
# progress:
#   step: ["tick # of *"]
#   checkpoint_saved: ["snapshot # written"]
#   checkpoint_loaded: ["back at tick #"]
#   evaluating: ["exam begins"]        # phases without steps: saving, evaluating, loading
#   over: ["exam is over"]             # a new step ends them, too

# grace_s: 30                 # between the stop signal and the kill: time for a checkpoint
# labels: {team: nlp}
"""

_JOB_ZH = """\
# 一个训练任务。提交：muster submit job.yaml --follow
# 必填的只有 name、image、command 和 resource；其余为可选项示例。
name: hello
image: python:3.11            # 本地集群直接运行本机进程，不拉取镜像
command:
  - python
  - -uc
  - |
    import os, time
    for step in range(1, 11):
        print(f"step {step} of rank {os.environ['RANK']}")
        time.sleep(0.5)

resource:
  type: on_demand             # reserved、on_demand、spot（可能被驱逐）或 idle
  replicas: 2                 # Worker 数：要么全部运行，要么都不运行
  gpus_per_replica: 1
  # gpu_milli_per_replica: 250  # 不用整卡：每个 Worker 共享一张卡的四分之一
  # gpu_model: A100|H100      # 其中任意一种；不填表示任意型号
  # priority: high            # low、normal、high 或 1-99

# Worker 的位置：彼此就近，以及容忍带污点的节点：
# locality: {level: node, mode: required}   # node、zone 或节点标签的键
# tolerations:
#   - {key: dedicated, value: vision}

# 被驱逐后自动重新排队，而不是失败：
# auto_queue:
#   enabled: true
#   max_queue_hours: 2        # 单次最大排队时长，1-12
#   max_requeues: 3           # 最大重新排队次数，0-3；也可写作 max_retries

# 任务自身进程失败后自动重启：
# fault_tolerance:
#   enabled: true
#   max_retries: 2

# 日志以何种形式报告 checkpoint 与步数（常见框架无需填写；* 为任意内容，# 为步数），
# 用于判断重启后训练是否真正继续：
# progress:
#   step: ["tick # of *"]
#   checkpoint_saved: ["snapshot # written"]
#   checkpoint_loaded: ["back at tick #"]
#   evaluating: ["exam begins"]        # 不产生步数的阶段：saving、evaluating、loading
#   over: ["exam is over"]             # 出现新的步数也视为阶段结束

# grace_s: 30                 # 停止信号到强制结束之间的时间，用于写 checkpoint
# labels: {team: nlp}
"""

_NODES_EN = """\
# The nodes of the local cluster; `muster up` reads this file where it is started.
# They may be pretended: GPUs are numbers that jobs see as CUDA_VISIBLE_DEVICES.
# The file is read again when it changes; a broken edit never removes a node.
- name: node-1
  gpus: 4
  cpus: 8
  memory_mib: 16384
- name: node-2
  gpus: 4
  cpus: 8
  memory_mib: 16384
- name: spot-1
  gpus: 4
  cpus: 8
  memory_mib: 16384
  spot: true                  # takes spot and idle jobs only; may be taken back at any time
  # labels: {topology.example.com/switch: s1}       # levels that a job's locality may name
  # taints: [{key: dedicated, value: vision}]       # only for jobs that tolerate it
  # foreign: {gpus: 1}                              # pretend that others use a GPU
  # kernel_log: spot-1.log                          # its kernel's lines, as of `dmesg`
"""

_NODES_ZH = """\
# 本地集群的节点；`muster up` 读取启动目录下的这个文件。
# 节点可以是虚拟的：GPU 只是编号，任务通过 CUDA_VISIBLE_DEVICES 看到。
# 文件修改后自动重新读取；写错不会导致节点丢失。
- name: node-1
  gpus: 4
  cpus: 8
  memory_mib: 16384
- name: node-2
  gpus: 4
  cpus: 8
  memory_mib: 16384
- name: spot-1
  gpus: 4
  cpus: 8
  memory_mib: 16384
  spot: true                  # 只接收 spot 与闲时任务；随时可能被回收
  # labels: {topology.example.com/switch: s1}       # 任务的就近级别可使用的标签
  # taints: [{key: dedicated, value: vision}]       # 仅接收容忍该污点的任务
  # foreign: {gpus: 1}                              # 模拟其他程序占用的 GPU
  # kernel_log: spot-1.log                          # 该节点的内核日志，格式同 `dmesg`
"""

SAMPLES: dict[str, tuple[str, str]] = {
    JOB_FILE: (_JOB_EN, _JOB_ZH),
    NODES_FILE: (_NODES_EN, _NODES_ZH),
}
"""File -> its content in English and Chinese."""


def sample(file: str) -> str:
    """Return the content of a file in the language that is spoken."""
    return pick(SAMPLES[file])
