"""The lines of `gangs` as a table in Markdown: printed, or put into both introductions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

PAGES = {"en": "README.md", "zh": "README.zh.md"}
MARKED = re.compile(
    r"(<!-- bench-gangs: begin -->\n).*?(\n<!-- bench-gangs: end -->)", flags=re.DOTALL
)

Line = Mapping[str, Any]

HEADS = {
    "en": ("on 2 cores of one machine", "Muster", "others, same work"),
    "zh": ("单机双核", "Muster", "其他系统，相同负载"),
}

NAMES = {
    "b1": {
        "en": "100 gangs of 10 workers, {nodes} nodes",
        "zh": "100 个 10 worker 的作业，{nodes} 节点",
    },
    "b2": {
        "en": "200 gangs of 8 × 8 GPUs, {nodes} nodes, room for {placed}",
        "zh": "200 个 8×8 GPU 的作业，{nodes} 节点，可容纳 {placed} 个",
    },
    "preempt": {
        "en": "a gang of 16 nodes evicts, {nodes} full nodes",
        "zh": "{nodes} 个满载节点上 16 节点的作业发起抢占",
    },
    "behind_unfit": {
        "en": "one job that fits behind {queued:,} that do not, {nodes:,} nodes",
        "zh": "{queued:,} 个放不下的作业之后一个放得下的，{nodes:,} 节点",
    },
    "takeover": {
        "en": "a scheduler starts with {queued:,} queued jobs",
        "zh": "调度器在 {queued:,} 个排队作业时启动",
    },
}

OURS = {
    "b1": {
        "en": "{gangs_per_s:g} gangs/s, p99 {p99_ms:.0f} ms",
        "zh": "{gangs_per_s:g} 个/秒，p99 {p99_ms:.0f} ms",
    },
    "preempt": {
        "en": "p99 {p99_ms:.0f} ms, running {started_p99_ms:.0f} ms, {gangs_touched} gangs touched",
        "zh": "p99 {p99_ms:.0f} ms，运行 {started_p99_ms:.0f} ms，影响 {gangs_touched} 个作业",
    },
    "behind_unfit": {"en": "p99 {p99_ms:.0f} ms", "zh": "p99 {p99_ms:.0f} ms"},
    "takeover": {
        "en": "{from_log_s:g} s from the log, {from_checkpoint_s:g} s from a checkpoint,"
        " {scheduler_mb} MB",
        "zh": "从日志 {from_log_s:g} 秒，从检查点 {from_checkpoint_s:g} 秒，{scheduler_mb} MB",
    },
}
OURS["b2"] = OURS["b1"]


def table(lines: Sequence[Line], language: str) -> str:
    """Return one row for each line."""
    heads = HEADS[language]
    rows = [f"| {' | '.join(heads)} |", "|---|---|---|"]
    for line in lines:
        name, ours = (text[line["case"]][language].format(**line) for text in (NAMES, OURS))
        rows.append(f"| {name} | {ours} | {_others(line)} |")
    return "\n".join(rows)


def put_into(folder: Path, lines: Sequence[Line]) -> None:
    """Replace the table of both introductions."""
    for language, name in PAGES.items():
        page, made = folder / name, table(lines, language)
        text = page.read_text(encoding="utf-8")
        new = MARKED.sub(partial(_filled, made), text)
        page.write_text(new, encoding="utf-8")


def _filled(made: str, found: re.Match[str]) -> str:
    return found[1] + made + found[2]


def _others(line: Line) -> str:
    match line["case"]:
        case "b1" | "b2":
            found = {name: f"{rate:g}/s" for name, rate in line.get("peer_gangs_per_s", {}).items()}
        case "preempt":
            touched = line["peer_gangs_touched"]
            found = {
                name: f"{ms / 1000:g} s ({touched[name]})"
                for name, ms in line["peer_bound_p50_ms"].items()
            }
        case _:
            found = dict(line.get("peer", {}))
    return ", ".join(f"{name} {text}" for name, text in found.items()) or "-"
