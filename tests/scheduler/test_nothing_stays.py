"""What a round has gathered is gone with it, without a collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.round import Round
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.victims import Candidate
from tests.scheduler.worlds import node, queued, running, victims, world

KEEPS = Policy(reserve_after_s=0, reserve_max_s=3600)


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def kept() -> list[object]:
    """Return what is in memory of rounds."""
    return [one for one in gc.get_objects() if isinstance(one, Round | Candidate)]


def pressed() -> Snapshot:
    """Return a full pool, and somebody who may send others off."""
    jobs = [running(f"low{i}", [f"n{i}"], since=-9000, priority=10) for i in range(3)]
    gang = queued("high", 2, priority=90)
    return world([node(f"n{i}") for i in range(3)], [*jobs, gang])


def test_a_round_that_sends_others_off() -> None:
    made = plan(pressed(), Policy())
    assert len(victims(made)) == 2
    assert kept() == []


def test_a_round_that_keeps_room() -> None:
    full = [running("low", ["n0"], priority=90)]
    made = plan(world([node("n0")], [*full, queued("next", priority=50)]), KEEPS)
    assert made.reservation is not None
    assert kept() == []
