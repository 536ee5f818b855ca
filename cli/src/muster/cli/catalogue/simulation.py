"""Texts of `muster simulate`."""

from __future__ import annotations

SIMULATION: dict[str, tuple[str, str]] = {
    "help.simulate.faults": (
        "Walk many seeds at random with every fault there is, and check the invariants.",
        "以随机方式注入各种故障，遍历多个种子并检查不变量。",
    ),
    "help.simulate.scenarios": (
        "Tell scenarios in every order and with every restart; compare their ends.",
        "执行场景文件，并与其中的预期结果比较。",
    ),
    "help.simulate.split_brain": (
        "Let two schedulers take a pool from each other, with writes that land late; check the"
        " invariants at every step.",
        "让两个调度器互相夺取资源池，且写入可能迟到；每一步都检查不变量。",
    ),
    "option.rounds": (
        "Batches that the schedulers send in all.",
        "调度器共发送的批次数。",
    ),
    "option.seeds": ("How many seeds.", "种子数量。"),
    "option.steps": (
        "Random steps of each seed, before the faults stop.",
        "每个种子在故障停止前的随机步数。",
    ),
    "option.first": ("The first seed.", "起始种子。"),
    "option.processes": ("Processes of this machine.", "本机并行进程数。"),
    "option.replay": (
        "Only this seed, and what led to its end.",
        "只重放该种子，并显示其经过。",
    ),
    "argument.scenario": ("Scenario files or folders.", "场景文件或目录。"),
    "simulate.broken": (
        "seed {seed} broke {invariant} at step {step}: {text}",
        "种子 {seed} 在第 {step} 步违反 {invariant}：{text}",
    ),
    "simulate.again": (
        "again: muster simulate faults --replay {seed} --steps {steps}",
        "重放：muster simulate faults --replay {seed} --steps {steps}",
    ),
    "simulate.held": (
        "seed {seed}: every invariant held ({steps} steps, {events} events, {jobs} jobs)",
        "种子 {seed}：所有不变量均成立（{steps} 步，{events} 个事件，{jobs} 个任务）",
    ),
    "simulate.total": (
        "{seeds} seeds, {steps} steps, {events} events in {seconds} s ({rate} seeds/s):"
        " {broken} broke an invariant",
        "{seeds} 个种子，{steps} 步，{events} 个事件，用时 {seconds} 秒（{rate} 种子/秒）："
        "{broken} 个违反不变量",
    ),
    "simulate.split_brain": (
        "{rounds} rounds in {seeds} worlds ({steps} steps, {events} events, {seconds} s): {epochs}"
        " times one took the pool, {two_leaders} steps with two leaders, {conflicts} batches"
        " refused, {timed_out} timed out; of writes that came late {late_stored} stored,"
        " {late_refused} refused, {late_lost} lost; {evictions} evictions; {broken} broke an"
        " invariant",
        "{seeds} 个世界共 {rounds} 轮（{steps} 步，{events} 个事件，{seconds} 秒）：夺取资源池"
        " {epochs} 次，双领导者 {two_leaders} 步，批次被拒 {conflicts} 次，超时 {timed_out} 次；"
        "迟到的写入中 {late_stored} 次落盘、{late_refused} 次被拒、{late_lost} 次丢失；"
        "驱逐 {evictions} 次；{broken} 个违反不变量",
    ),
    "simulate.told": (
        "{stories} scenario(s), told in {count} ways: {broken} do not end as they promise",
        "{stories} 个场景，以 {count} 种方式执行：{broken} 次与预期不符",
    ),
    "error.scenario": ("no valid scenario file:\n{text}", "场景文件无效：\n{text}"),
    "error.scenario.fix": (
        "correct the fields named; tests/scenarios has examples",
        "请修正所列字段；示例见 tests/scenarios",
    ),
}
