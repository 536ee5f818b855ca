"""Texts of `muster simulate replay`: options, figures, what is wrong with a file, the report."""

from __future__ import annotations

REPLAY: dict[str, tuple[str, str]] = {
    "help.simulate.replay": (
        "Replay a workload from CSV files through the real decisions, in virtual time.",
        "在虚拟时间中用真实的决策代码重放 CSV 工作负载。",
    ),
    "argument.replay_folder": (
        "Folder with jobs.csv and nodes.csv, or a file of jobs.",
        "包含 jobs.csv 与 nodes.csv 的目录，或任务文件。",
    ),
    "option.replay_nodes": (
        "File of nodes; default: nodes.csv beside the jobs.",
        "节点文件；默认为任务文件旁的 nodes.csv。",
    ),
    "option.replay_node_count": (
        "So many nodes: the list cut, or repeated.",
        "节点数量：截取或重复节点列表。",
    ),
    "option.replay_jobs": ("Only the first so many jobs.", "仅前若干个任务。"),
    "option.scale_time": (
        "Multiply submission times: 0.1 is ten times the load. Run times stay.",
        "将提交时间乘以该系数：0.1 即十倍负载；运行时长不变。",
    ),
    "option.replay_duration": (
        "Run time of jobs whose duration_s is empty, like 10m.",
        "duration_s 为空的任务的运行时长，例如 10m。",
    ),
    "option.one_class": (
        "Every job on demand with one priority: nobody is evicted.",
        "所有任务均为按需且优先级相同：不发生抢占。",
    ),
    "option.order": (
        "Order of the queue: default, fifo_spot, fifo, fifo_skip or sjf.",
        "队列顺序：default、fifo_spot、fifo、fifo_skip 或 sjf。",
    ),
    "option.placement": (
        "Placement: default, fgd, best_fit or first_fit.",
        "放置策略：default、fgd、best_fit 或 first_fit。",
    ),
    "option.policy": (
        "Any field of the scheduler's policy, like min_run_s=600; may be repeated.",
        "调度策略的任意字段，例如 min_run_s=600；可重复。",
    ),
    "option.auto_queue": (
        "Auto-queue of every job, like 12h/3, or off; default: 12h/3 for spot jobs alone.",
        "所有任务的自动排队，例如 12h/3，或 off；默认仅 Spot 任务为 12h/3。",
    ),
    "option.replay_resume": (
        "Resume parked jobs at once, as a patient user would.",
        "任务进入异常状态后立即恢复，如同有人值守。",
    ),
    "option.checkpoint_every": (
        "What ran since the last checkpoint is lost by an eviction; none = everything since the"
        " start. 1h is what published replays of spot clusters assume.",
        "驱逐会丢失自上次检查点以来的进度；none 表示丢失自启动以来的全部进度。"
        "1h 是已发表的 Spot 集群重放所用的假设。",
    ),
    "option.limits": (
        "Jobs declare their true length as max_runtime_s; sjf needs it.",
        "任务以 max_runtime_s 声明真实时长；sjf 需要此项。",
    ),
    "option.round_every": (
        "Rounds at least so far apart, like 30s; default: at every instant with news.",
        "两轮调度的最小间隔，例如 30s；默认有变化即调度。",
    ),
    "option.spot_count": (
        "The last so many nodes are spot capacity.",
        "最后若干个节点为 Spot 资源。",
    ),
    "option.spot": (
        "CSV of spot capacity in steps: trace, t_s, capacity.",
        "Spot 容量变化的 CSV：trace、t_s、capacity。",
    ),
    "option.spot_trace": ("Which trace of that file.", "使用该文件中的哪条序列。"),
    "option.node_events": (
        "CSV of what happens to nodes: t_s, node, event (lost, back, reclaim, drain, uncordon).",
        "节点事件 CSV：t_s、node、event（lost、back、reclaim、drain、uncordon）。",
    ),
    "option.html": (
        "Also write a report with plots, one file that needs no network.",
        "另外生成带图表的报告（单个文件，无需网络）。",
    ),
    # --- usage -----------------------------------------------------------------------------
    "usage.choice": ("one of {known}", "可用值：{known}"),
    "usage.auto_queue": (
        "hours and requeues like 12h/3 (1-12 and 0-3), or off",
        "格式为 小时/次数，例如 12h/3（1-12 与 0-3），或 off",
    ),
    # --- errors ----------------------------------------------------------------------------
    "error.replay_tables": (
        "the files break {count} rule(s): file:line:column",
        "文件有 {count} 处不符合规则：文件:行:列",
    ),
    "error.replay_tables.fix": (
        "correct these cells; docs/replay.md describes every column",
        "请修正这些单元格；各列说明见 docs/replay.md",
    ),
    "error.replay_file": ("{path} cannot be read: {why}", "无法读取 {path}：{why}"),
    "error.replay_file.fix": (
        "give a CSV file in UTF-8 whose quotes are closed",
        "请提供引号闭合的 UTF-8 CSV 文件",
    ),
    "error.replay_no_jobs": ("there is no file of jobs at {path}", "{path} 没有任务文件"),
    "error.replay_no_jobs.fix": (
        "give a folder with jobs.csv, or the file itself; docs/replay.md says where traces are",
        "请给出包含 jobs.csv 的目录或任务文件；数据来源见 docs/replay.md",
    ),
    "error.replay_no_nodes": ("there is no file of nodes at {path}", "{path} 没有节点文件"),
    "error.replay_no_nodes.fix": (
        "name one with --nodes: columns node, gpu_model, gpus, cpu, mem_mib",
        "请用 --nodes 指定：列为 node、gpu_model、gpus、cpu、mem_mib",
    ),
    "error.replay_nothing": ("{path} has no lines", "{path} 没有数据行"),
    "error.replay_nothing.fix": (
        "write one line for each job or node, below the header",
        "请在表头下为每个任务或节点写一行",
    ),
    "error.replay_policy_name": (
        "--policy {change}: the name {name} is not known",
        "--policy {change}：未知的名称 {name}",
    ),
    "error.replay_policy_name.fix": ("known are: {known}", "可用的名称：{known}"),
    "error.replay_policy": ("--policy {change} cannot be", "--policy {change} 无效"),
    "error.replay_policy.fix": (
        "write NAME=VALUE with a value of its kind; there are: {known}",
        "格式为 名称=值，值的类型须相符；可用：{known}",
    ),
    "error.replay_no_spot": (
        "no node of the workload is spot capacity",
        "工作负载中没有 Spot 节点",
    ),
    "error.replay_no_spot.fix": (
        "say how many are with --spot-count, or in a column spot of the nodes' file",
        "请用 --spot-count 指定数量，或在节点文件中加 spot 列",
    ),
    "error.replay_trace": ("{path} holds several traces", "{path} 含有多条序列"),
    "error.replay_trace.fix": (
        "choose one with --spot-trace: {known}",
        "请用 --spot-trace 选择：{known}",
    ),
    "error.replay_limits": (
        "--order sjf needs to know how long jobs run",
        "--order sjf 需要知道任务时长",
    ),
    "error.replay_limits.fix": ("add --limits", "请加 --limits"),
    "error.replay_report": (
        "the plots need a library that is not installed: {what}",
        "绘图所需的库未安装：{what}",
    ),
    "error.replay_report.fix": (
        "pip install 'muster-cli[report]', or in a checkout: pip install -r"
        " requirements/report.txt; without --html the figures need nothing",
        "pip install 'muster-cli[report]'，或在源码目录中 pip install -r"
        " requirements/report.txt；不加 --html 则无需安装",
    ),
    # --- what is wrong with a cell: the rule, and what to do -----------------------------------
    "replay.rule.empty": ("is empty: write a value", "为空：请填写"),
    "replay.rule.number": (
        "must be a number from {low} to {high}, not '{value}'",
        "须为 {low} 到 {high} 之间的数，而不是“{value}”",
    ),
    "replay.rule.whole": (
        "must be a whole number from {low} to {high}, not '{value}'",
        "须为 {low} 到 {high} 之间的整数，而不是“{value}”",
    ),
    "replay.rule.share": (
        "must be a whole number of GPUs or a share of one card (0.001 to 0.999), not '{value}':"
        " round it",
        "须为整数张 GPU 或一张卡的份额（0.001 到 0.999），而不是“{value}”：请取整",
    ),
    "replay.rule.word": (
        "must be one of {known}, not '{value}'",
        "须为 {known} 之一，而不是“{value}”",
    ),
    "replay.rule.double": (
        "'{value}' stands there twice: give each line a name of its own",
        "“{value}”重复出现：每行须有不同的名称",
    ),
    "replay.rule.no_node": (
        "the workload has no node '{value}': name one of its nodes",
        "工作负载中没有节点“{value}”：请使用已有节点的名称",
    ),
    "replay.rule.cells": (
        "has {have} cells where the header has {need}: add or remove commas",
        "有 {have} 个单元格，而表头有 {need} 个：请增减逗号",
    ),
    "replay.rule.header": (
        "there is no header: the first line names the columns; needed are: {columns}",
        "缺少表头：首行须为列名；必需的列：{columns}",
    ),
    "replay.rule.missing": (
        "the column is missing; needed are: {columns}",
        "缺少该列；必需的列：{columns}",
    ),
    "replay.rule.twice": ("the column stands there twice: remove one", "该列重复：请删除一个"),
    "replay.rule.unknown": (
        "the column is not known: remove it, or call it one of {known}",
        "未知的列：请删除，或改为 {known} 之一",
    ),
    # --- figures ---------------------------------------------------------------------------
    "replay.title": (
        "{jobs} jobs on {nodes} nodes with {gpus} GPUs: {name}",
        "{jobs} 个任务，{nodes} 个节点，{gpus} 张 GPU：{name}",
    ),
    "replay.figure.load": ("offered load", "负载（所需 / 可用）"),
    "replay.figure.allocation": ("GPUs allocated", "GPU 分配率"),
    "replay.figure.allocation_submit": (
        "GPUs allocated until the last submission",
        "截至最后一次提交的 GPU 分配率",
    ),
    "replay.figure.fragmentation": (
        "fragmentation: free GPUs that popular shapes cannot use, of all GPUs, mean / worst",
        "碎片率：常见规格无法使用的空闲 GPU 占全部 GPU 的比例，平均 / 最差",
    ),
    "replay.figure.evictions": ("evictions", "驱逐次数"),
    "replay.figure.rate": (
        "promised hours broken by an eviction (spot, idle)",
        "被驱逐打断的承诺小时占比（Spot、闲时）",
    ),
    "replay.figure.lost": ("GPU hours lost by evictions", "因驱逐损失的 GPU 小时"),
    "replay.figure.longest": ("longest wait, and its bound", "最长等待及其上界"),
    "replay.figure.beyond": (
        "jobs that waited beyond their bound",
        "等待超过上界的任务数",
    ),
    "replay.figure.makespan": ("makespan", "总完成时间"),
    "replay.figure.ends": ("how they ended", "结束情况"),
    "replay.figure.refused": ("refused by admission", "被准入拒绝"),
    "replay.figure.never_fit": (
        "never fit, and left out of all figures",
        "永远无法放置（不计入任何指标）",
    ),
    "replay.figure.resumed": ("resumed from a parked state", "由异常状态恢复的次数"),
    "replay.figure.rounds": ("rounds, facts", "调度轮数、事件数"),
    "replay.figure.speed": ("took", "用时"),
    "replay.speed": ("{seconds} s ({rate} jobs/s)", "{seconds} 秒（{rate} 个任务/秒）"),
    "replay.none": ("none", "无"),
    "replay.class.guaranteed": ("guaranteed", "资源保障"),
    "replay.class.on_demand": ("on demand", "按需"),
    "replay.class.spot": ("spot", "Spot"),
    "replay.class.idle": ("idle", "闲时"),
    "replay.class.all": ("all", "全部"),
    "replay.measure.queue_s": ("in the queue", "排队时间"),
    "replay.measure.first_wait_s": ("until the first start", "首次启动前的等待"),
    "replay.measure.jct_s": ("until done (JCT)", "完成时间（JCT）"),
    "replay.column.measure": ("time", "时间"),
    "replay.column.class": ("class", "类别"),
    "replay.column.jobs": ("jobs", "任务"),
    "replay.column.mean": ("mean", "平均"),
    "replay.column.p50": ("p50", "p50"),
    "replay.column.p95": ("p95", "p95"),
    "replay.column.max": ("longest", "最长"),
    "replay.wrote": ("report: {path}", "报告：{path}"),
    # --- the report ------------------------------------------------------------------------
    "report.title": ("Replay of {name}", "{name} 重放报告"),
    "report.figures": ("Figures", "指标"),
    "report.times": ("Times", "时间"),
    "report.settings": ("Settings", "设置"),
    "report.setting": ("setting", "设置项"),
    "report.value": ("value", "值"),
    "report.allocation": ("GPUs allocated, and jobs waiting", "GPU 分配与排队任务"),
    "report.queue": ("Time in the queue", "排队时间分布"),
    "report.fragmentation": ("Fragmentation", "碎片率"),
    "report.heat": ("Nodes over time", "节点占用"),
    "report.axis.days": ("days", "天"),
    "report.axis.hours": ("hours", "小时"),
    "report.axis.gpus": ("GPUs", "GPU 数"),
    "report.axis.waiting": ("jobs waiting", "排队任务数"),
    "report.axis.share_of_jobs": ("share of jobs", "任务占比"),
    "report.axis.wait": ("time in the queue", "排队时间"),
    "report.axis.useless": ("% of all GPUs", "占全部 GPU 的 %"),
    "report.axis.used": ("share used", "占用比例"),
    "report.series.used": ("allocated", "已分配"),
    "report.series.total": ("there", "总量"),
    "report.series.waiting": ("waiting", "排队"),
    "report.note.allocation": (
        "The area is what jobs hold; the line above it what the nodes offer.",
        "填充区域为任务持有的 GPU，其上的线为节点提供的 GPU。",
    ),
    "report.note.queue": (
        "Of the jobs of each class, what share waited no longer than this.",
        "各类任务中，等待不超过该时长的占比。",
    ),
    "report.note.fragmentation": (
        "Free GPUs that jobs of the workload's popular shapes could not use, weighted by how"
        " popular each shape is.",
        "工作负载常见规格的任务无法使用的空闲 GPU，按各规格的占比加权。",
    ),
    "report.note.heat": (
        "One row is a node, or a group of nodes; the darker, the more of its GPUs is held.",
        "每行为一个节点或一组节点；颜色越深，被占用的 GPU 越多。",
    ),
}
