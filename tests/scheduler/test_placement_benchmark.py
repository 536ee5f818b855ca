"""The benchmark of placement: its method, and one run on the published trace where it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.placement_data import NoTraces, Trace, folder, published, trace
from benchmarks.placement_run import POLICIES, arrivals, run, size
from muster.domain.demand import Demand, JobType, ResourceClass
from muster.domain.nodes import NodeShape
from tests.scheduler.worlds import role


def task(gpus: int = 0, milli: int = 0, cpus: float = 1) -> Demand:
    """Make a task of one worker."""
    one = role(gpus=gpus, gpu_milli=milli, cpus=cpus)
    return Demand(type=JobType.PYTORCH, resource_class=ResourceClass.RESERVED, roles=(one,))


def small() -> Trace:
    """Make a trace for a small cluster."""
    shape = NodeShape(gpus=4, gpu_model="A", cpus=32, memory_mib=10_000)
    kinds = [task(gpus=1), task(milli=500), task(milli=300), task(gpus=4), task(gpus=0)]
    return Trace("small", {f"n{i}": shape for i in range(6)}, tuple(kinds * 3))


def test_tasks_come_until_the_load_is_asked_for() -> None:
    tasks = arrivals(small(), 42)
    assert 0 <= 1.3 * 24_000 - sum(size(one) for one in tasks) < 4000
    assert arrivals(small(), 42) == tasks
    assert arrivals(small(), 43) != tasks


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_fills_the_cluster_and_no_more(policy: str) -> None:
    found = run(small(), policy, 42)
    assert 50 < found.alloc_100 <= found.alloc_130 <= 100
    assert 0 <= found.frag_130 <= 100 - found.alloc_130 + 1e-9
    again = run(small(), policy, 42)
    assert (again.alloc_100, again.alloc_130) == (found.alloc_100, found.alloc_130)


def _root() -> Path:
    try:
        return folder()
    except NoTraces as why:
        pytest.skip(str(why))


def test_the_published_figure_is_reached_on_the_published_trace() -> None:
    root = _root()
    known = trace(root, "default")
    assert len(known.nodes) == 1213
    assert len(known.tasks) == 8152
    theirs = published(root).get(("default", "fgd"))
    fgd, ours = (run(known, policy, 42) for policy in ("fgd", "default"))
    least = (theirs.alloc_100 if theirs else 95.23) - 0.3
    assert fgd.alloc_100 >= least
    assert ours.alloc_100 >= fgd.alloc_100
