"""Jobs and nodes as their CSV files say, and how a replay may stretch or cut them.

The columns are described in docs/replay.md. Decides nothing about jobs: `intake` does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from muster.cli.errors import CliError
from muster.cli.simulation.replay.tables import Faults, Line, Table
from muster.domain.demand import StabilityLevel
from muster.domain.nodes import NodeShape

JOBS_FILE, NODES_FILE = "jobs.csv", "nodes.csv"

CLASSES = ("guaranteed", "on_demand", "spot", "idle")
"""What a `qos` cell may say; an empty one means on_demand."""

LONGEST_S = 315_360_000
PLENTY_CPUS, PLENTY_MIB = 1_000_000.0, 1 << 40
"""Of a node whose CPU cores or memory the file does not give: they never run short."""

_JOB = ("job_id", "submit_s", "duration_s", "workers", "gpus_per_worker")
_JOB_MORE = (
    "cpu_per_worker",
    "mem_mib_per_worker",
    "gpu_model",
    "qos",
    "priority",
    "stability_level",
    "final_state",
)
_NODE = ("node", "gpu_model", "gpus")
_NODE_MORE = ("cpu", "mem_mib", "spot", "zone")
_YES = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}


@dataclass(frozen=True, slots=True)
class Row:
    """One job of a workload. number: its place in the file, which decides between equals.

    gpus or milli, never both: whole cards, or thousandths of one. duration_s: how long it would
    run if nobody disturbed it.
    """

    number: int
    place: str
    job_id: str
    submit_s: float
    duration_s: float
    workers: int
    gpus: int = 0
    milli: int = 0
    cpus: float = 0.0
    memory_mib: int = 0
    gpu_model: str | None = None
    qos: str = "on_demand"
    priority: int | None = None
    stability_level: str | None = None

    @property
    def gpu_count(self) -> float:
        """GPUs of the whole gang."""
        return self.workers * (self.gpus + self.milli / 1000)


@dataclass(frozen=True, slots=True)
class Workload:
    """rows: in the order of submission."""

    name: str
    rows: tuple[Row, ...]
    nodes: dict[str, NodeShape]


@dataclass(frozen=True, slots=True)
class Cut:
    """How to change what the files say. duration_s: for jobs without one; None = none may lack.

    time: submission times are multiplied by it. jobs: only the first so many. nodes: the list cut,
    or repeated, to so many. one_class: every job is on demand, with one priority.
    """

    time: float = 1.0
    jobs: int | None = None
    nodes: int | None = None
    duration_s: float | None = None
    one_class: bool = False


def read(folder: Path, nodes: Path | None, cut: Cut) -> Workload:
    """Return the workload of a folder. Raises CliError."""
    jobs_file = folder if folder.is_file() else folder / JOBS_FILE
    nodes_file = nodes or jobs_file.parent / NODES_FILE
    if not jobs_file.is_file():
        raise CliError("replay_no_jobs", path=folder)
    if not nodes_file.is_file():
        raise CliError("replay_no_nodes", path=nodes_file)
    faults = Faults()
    rows = _jobs(jobs_file, cut, faults)
    shapes = _nodes(nodes_file, faults)
    faults.check()
    if not rows or not shapes:
        raise CliError("replay_nothing", path=nodes_file if rows else jobs_file)
    return Workload(jobs_file.parent.name, rows, _resized(shapes, cut.nodes))


def with_spot(workload: Workload, count: int) -> Workload:
    """Return the workload with its last `count` nodes as spot capacity."""
    if not count:
        return workload
    names = list(workload.nodes)[-count:]
    marked = {name: workload.nodes[name].model_copy(update={"spot": True}) for name in names}
    return replace(workload, nodes={**workload.nodes, **marked})


# --- jobs --------------------------------------------------------------------------------------


def _jobs(path: Path, cut: Cut, faults: Faults) -> tuple[Row, ...]:
    table = Table(path, _JOB, _JOB_MORE, faults)
    seen: set[str] = set()
    rows: list[Row] = []
    for line in table.lines():
        name = line.needed("job_id")
        if name in seen:
            line.fault("job_id", "double", value=name)
        seen.add(name)
        rows.append(_row(line, len(rows), cut))
    rows.sort(key=lambda row: (row.submit_s, row.number))
    return tuple(rows[: cut.jobs])


def _row(line: Line, number: int, cut: Cut) -> Row:
    gpus, milli = _gpus(line)
    row = Row(
        number=number,
        place=line.place(""),
        job_id=line.text("job_id"),
        submit_s=line.number_in("submit_s", 0, LONGEST_S, None) * cut.time,
        duration_s=line.number_in("duration_s", 0, LONGEST_S, cut.duration_s),
        workers=line.whole_in("workers", 1, 4096, None),
        gpus=gpus,
        milli=milli,
        cpus=line.number_in("cpu_per_worker", 0, 4096, 0),
        memory_mib=math.ceil(line.number_in("mem_mib_per_worker", 0, 1 << 40, 0)),
        gpu_model=line.text("gpu_model") or None,
        qos=line.one_of("qos", {name: name for name in CLASSES}, "on_demand"),
        priority=_priority(line),
        stability_level=_level(line),
    )
    if cut.one_class:
        return replace(row, qos="on_demand", priority=None, stability_level=None)
    return row


def _gpus(line: Line) -> tuple[int, int]:
    """Return whole cards and thousandths of one: below 1 a card is shared."""
    value = line.number_in("gpus_per_worker", 0, 64, None)
    if value == int(value):
        return int(value), 0
    milli = round(value * 1000)
    if not 1 <= milli <= 999:
        line.fault("gpus_per_worker", "share", value=line.text("gpus_per_worker"))
        return 1, 0
    return 0, milli


def _priority(line: Line) -> int | None:
    """Traces count from 0, Muster from 1: the order is what matters."""
    return line.whole_in("priority", 0, 98, 0) + 1 if line.text("priority") else None


def _level(line: Line) -> str | None:
    known: dict[str, str | None] = {level.value: level.value for level in StabilityLevel}
    return line.one_of("stability_level", known, None)


# --- nodes -------------------------------------------------------------------------------------


def _nodes(path: Path, faults: Faults) -> dict[str, NodeShape]:
    shapes: dict[str, NodeShape] = {}
    for line in Table(path, _NODE, _NODE_MORE, faults).lines():
        name = line.needed("node")
        if name in shapes:
            line.fault("node", "double", value=name)
        shapes[name] = NodeShape(
            gpus=line.whole_in("gpus", 0, 1024, None),
            gpu_model=line.text("gpu_model"),
            cpus=line.number_in("cpu", 0, PLENTY_CPUS, PLENTY_CPUS),
            memory_mib=math.floor(line.number_in("mem_mib", 0, PLENTY_MIB, PLENTY_MIB)),
            spot=line.one_of("spot", _YES, default=False),
            zone=line.text("zone") or "default",
        )
    return shapes


def _resized(shapes: dict[str, NodeShape], count: int | None) -> dict[str, NodeShape]:
    """Return the first nodes, or the list over and over with other names."""
    names = list(shapes)
    if count is None or count <= len(names):
        return {name: shapes[name] for name in names[:count]}
    return {_again(names, index): shapes[names[index % len(names)]] for index in range(count)}


def _again(names: Sequence[str], index: int) -> str:
    turn, place = divmod(index, len(names))
    return f"{names[place]}+{turn}" if turn else names[place]
