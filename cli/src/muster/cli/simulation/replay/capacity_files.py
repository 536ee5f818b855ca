"""Reads what happens to nodes: spot capacity in steps, and single events, from CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from muster.cli.errors import CliError
from muster.cli.simulation.replay.capacity import Happens, NodeStep
from muster.cli.simulation.replay.tables import Faults, Table
from muster.cli.simulation.replay.workload import LONGEST_S, Workload

_STEPS = ("trace", "t_s", "capacity")
_EVENTS = ("t_s", "node", "event")
END = "end"


def spot_steps(path: Path, trace: str | None, workload: Workload, time: float) -> list[NodeStep]:
    """Return what a trace of spot capacity means to the workload's spot nodes.

    While n can be had, the first n of them are there. time: as for submissions.
    """
    spot = [name for name, shape in workload.nodes.items() if shape.spot]
    if not spot:
        raise CliError("replay_no_spot")
    faults = Faults()
    found: dict[str, list[tuple[float, int]]] = {}
    for line in Table(path, _STEPS, (), faults).lines():
        steps = found.setdefault(line.text("trace"), [])
        at = line.number_in("t_s", 0, LONGEST_S, None) * time
        if line.text("capacity") != END:
            steps.append((at, line.whole_in("capacity", 0, 1 << 20, None)))
    faults.check()
    if trace is None and len(found) == 1:
        trace = next(iter(found))
    if trace is None or trace not in found:
        raise CliError("replay_trace", path=path, known=_some(sorted(found)))
    return list(_node_steps(sorted(found[trace]), spot))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown}, … ({len(names)})" if len(names) > 5 else shown


def _node_steps(steps: Sequence[tuple[float, int]], spot: Sequence[str]) -> Iterator[NodeStep]:
    had = len(spot)
    for at, capacity in steps:
        have = min(capacity, len(spot))
        happens = Happens.BACK if have > had else Happens.RECLAIM
        for index in range(min(have, had), max(have, had)):
            yield NodeStep(at, spot[index], happens)
        had = have


def node_events(path: Path, workload: Workload, time: float) -> list[NodeStep]:
    """Return single events of nodes."""
    faults = Faults()
    known = {each.value: each for each in Happens}
    steps = []
    for line in Table(path, _EVENTS, (), faults).lines():
        at = line.number_in("t_s", 0, LONGEST_S, None) * time
        node = line.needed("node")
        if node and node not in workload.nodes:
            line.fault("node", "no_node", value=node)
        line.needed("event")
        steps.append(NodeStep(at, node, line.one_of("event", known, Happens.LOST)))
    faults.check()
    return sorted(steps, key=lambda step: step.at_s)
