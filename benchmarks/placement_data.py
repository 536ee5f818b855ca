"""The cluster, the tasks and the published figures for the benchmark of placement."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from muster.domain.demand import Demand, JobType, ResourceClass, Role
from muster.domain.nodes import NodeShape

OURS = {"fgd": "06-FGD", "best_fit": "05-BestFit", "random": "01-Random"}
"""Policies that the paper has too, and how its figures name them."""


class NoTraces(Exception):
    """The folder with the traces is not there."""


class Published(NamedTuple):
    """Figures of the paper's artifact, mean of ten seeds."""

    alloc_100: float
    alloc_130: float
    frag_130: float


@dataclass(frozen=True, slots=True)
class Trace:
    """nodes: by name. tasks: one worker each; equal ones are the same object."""

    name: str
    nodes: dict[str, NodeShape]
    tasks: tuple[Demand, ...]


def folder() -> Path:
    """Return where the traces are. Raises NoTraces."""
    named = os.environ.get("MUSTER_TRACES")
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    root = Path(named) if named else beside
    if not (root / "normalized" / "openb_default" / "nodes.csv").exists():
        raise NoTraces(
            "no traces: MUSTER_TRACES must name a folder with normalized/openb_default/nodes.csv"
            " and the openb_*/jobs.csv; docs/replay.md says where to get them"
        )
    return root


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def trace(root: Path, name: str) -> Trace:
    """Read a trace."""
    data = root / "normalized"
    nodes = {row["node"]: _shape(row) for row in _rows(data / "openb_default" / "nodes.csv")}
    known: dict[tuple[str, ...], Demand] = {}
    tasks = []
    for row in _rows(data / f"openb_{name}" / "jobs.csv"):
        key = tuple(row[column] for column in _SHAPE)
        if key not in known:
            known[key] = Demand(
                type=JobType.PYTORCH, resource_class=ResourceClass.RESERVED, roles=(_role(row),)
            )
        tasks.append(known[key])
    return Trace(name, nodes, tuple(tasks))


_SHAPE = ("gpus_per_worker", "cpu_per_worker", "mem_mib_per_worker", "gpu_model")


def _shape(row: dict[str, str]) -> NodeShape:
    return NodeShape(
        gpus=int(row["gpus"]),
        gpu_model=row["gpu_model"],
        cpus=float(row["cpu"]),
        memory_mib=int(row["mem_mib"]),
    )


def _role(row: dict[str, str]) -> Role:
    gpus = float(row["gpus_per_worker"])
    whole = int(gpus) if gpus >= 1 else 0
    return Role(
        name="worker",
        replicas=1,
        gpus=whole,
        gpu_milli=0 if whole else round(gpus * 1000),
        gpu_model=row["gpu_model"] if gpus and row["gpu_model"] else None,
        cpus=float(row["cpu_per_worker"]),
        memory_mib=int(row["mem_mib_per_worker"] or 0),
    )


def published(root: Path) -> dict[tuple[str, str], Published]:
    """Return the paper's figures by trace and policy, as far as they are there."""
    path = root / "golden" / "fgd_atc23_expected.csv"
    if not path.exists():
        return {}
    figures: dict[tuple[str, str, str], dict[str, str]] = {
        (row["workload"], row["policy"], row["arrived_pct_of_capacity"]): row for row in _rows(path)
    }
    found = {}
    for trace_name, theirs, load in figures:
        ours = next((our for our, name in OURS.items() if name == theirs), None)
        if ours is None or load != "130":
            continue
        at_100, at_130 = (figures[trace_name, theirs, at] for at in ("100", "130"))
        found[trace_name, ours] = Published(
            round(float(at_100["alloc_pct_mean"]), 2),
            round(float(at_130["alloc_pct_mean"]), 2),
            round(float(at_130["frag_pct_of_all_gpu_mean"]), 2),
        )
    return found
