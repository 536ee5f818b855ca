"""Workloads for tests of replays, written here line by line, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from muster.cli.simulation.replay.book import Change
from muster.cli.simulation.replay.capacity import NodeStep
from muster.cli.simulation.replay.engine import Ended, Engine
from muster.cli.simulation.replay.figures import document
from muster.cli.simulation.replay.settings import Settings
from muster.cli.simulation.replay.workload import Cut, Workload, read

JOBS = "job_id,submit_s,duration_s,workers,gpus_per_worker,gpu_model,qos,priority"
NODES = "node,gpu_model,gpus,cpu,mem_mib"

TWO_NODES = ("n1,V100,4,,", "n2,V100,4,,")

FIVE = (
    "a,0,100,1,4,,,",
    "b,0,50,1,4,,,",
    "c,10,100,2,4,,,",
    "d,20,30,1,2,,,",
    "e,20,10,1,4,,,",
)
"""On two nodes of four GPUs: c needs both, d and e would fit before it."""


def write(
    folder: Path,
    jobs: Iterable[str] = FIVE,
    nodes: Iterable[str] = TWO_NODES,
    header: str = JOBS,
    nodes_header: str = NODES,
) -> Path:
    """Write the files of a workload."""
    folder.mkdir(exist_ok=True)
    (folder / "jobs.csv").write_text("\n".join([header, *jobs]) + "\n", encoding="utf-8")
    (folder / "nodes.csv").write_text("\n".join([nodes_header, *nodes]) + "\n", encoding="utf-8")
    return folder


def replayed(
    workload: Workload,
    settings: Settings,
    steps: Iterable[NodeStep] = (),
    watchers: Iterable[Callable[[Change], None]] = (),
) -> tuple[dict[str, Any], Ended]:
    """Replay, and return the figures."""
    ended = Engine(workload, settings, steps, watchers).run()
    return document(ended, workload, settings, Cut()), ended


def loaded(folder: Path, **cut: Any) -> Workload:
    """Read a workload."""
    return read(folder, None, Cut(**cut))
