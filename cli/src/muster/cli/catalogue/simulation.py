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
