"""One worker has ended well and the others stay: a failure once nothing of them moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain.demand import HangLimits, JobType
from muster.domain.edges import Owner
from muster.domain.evidence import LEFT_BEHIND
from muster.domain.state import JobState
from muster.executor.core.outliving import IDLE_BYTES, is_of_interest, sight_of, waits
from muster.executor.outlived import Outlived
from muster.log import Recorded
from muster.runtime.service import at_once
from muster.testing.scripts import STUCK, Script
from muster.testing.virtual_time import START
from tests.executor.desk_world import JOB, DeskWorld
from tests.support.log_lives import TENANT

BOUND = 120
LEAVES = Script(start_s=0.0, run_s=10.0)
STAYS = Script(start_s=0.0, stuck_s=5.0)


class Watched:
    """A world with the loop."""

    def __init__(self, world: DeskWorld) -> None:
        self.world = world

    def anew(self) -> None:
        """A new executor: nothing is remembered."""
        world = self.world
        pen = world.lives.pen(Owner.EXECUTOR)
        self._outlived = Outlived(pen, world.backend, world.handlers, BOUND, at_once)

    async def passes(self, seconds: int) -> None:
        for _ in range(0, seconds, 5):
            await self.world.passes(5)
            await self._outlived.step()

    async def failures(self) -> list[tuple[f.WorkerFailure, ...]]:
        history = await self.world.log.history(subjects.job_key(TENANT, JOB))
        details = (i.event.data.detail for i in history if isinstance(i, Recorded))
        return [each.failures for each in details if isinstance(each, f.WorkersFailed)]


async def watched(root: Path, **scripts: Script) -> Watched:
    world = DeskWorld(root, **scripts)
    await world.start()
    await world.runs()
    made = Watched(world)
    made.anew()
    return made


async def test_who_only_waits_for_one_that_has_ended_is_left_behind(tmp_path: Path) -> None:
    gang = await watched(tmp_path, worker_0=STAYS, worker_1=LEAVES)
    await gang.passes(BOUND + 5)
    assert await gang.failures() == []
    await gang.passes(5)
    (told,) = await gang.failures()
    assert [(each.worker, each.node, each.exit_code, each.cause) for each in told] == [
        ("worker-1", "n2", 0, "exited"),
        ("worker-0", "n1", None, LEFT_BEHIND),
    ]
    assert told[0].ended_at == START + timedelta(seconds=10)
    await gang.passes(BOUND * 2)
    assert len(await gang.failures()) == 1


@pytest.mark.parametrize(
    "stays",
    [
        replace(STAYS, stuck_s=None),  # it computes
        replace(STAYS, stuck=replace(STUCK, moves=IDLE_BYTES + 1)),  # it saves
        replace(STAYS, stuck=replace(STUCK, cpu=0.11)),
    ],
)
async def test_who_still_works_is_left_alone(tmp_path: Path, stays: Script) -> None:
    gang = await watched(tmp_path, worker_0=stays, worker_1=LEAVES)
    await gang.passes(BOUND * 4)
    assert await gang.failures() == []


async def test_a_line_from_time_to_time_is_no_work(tmp_path: Path) -> None:
    gang = await watched(tmp_path, worker_0=replace(STAYS, pulse_s=5.0), worker_1=LEAVES)
    await gang.passes(BOUND + 20)
    assert len(await gang.failures()) == 1


@pytest.mark.parametrize("code", [None, 0])
async def test_a_gang_that_nobody_left_or_that_has_ended_is_none(
    tmp_path: Path, code: int | None
) -> None:
    other = STAYS if code is None else LEAVES
    gang = await watched(tmp_path, worker_0=other, worker_1=other)
    await gang.passes(BOUND * 2)
    assert await gang.failures() == []


async def test_a_new_executor_counts_anew(tmp_path: Path) -> None:
    gang = await watched(tmp_path, worker_0=STAYS, worker_1=LEAVES)
    await gang.passes(BOUND)
    gang.anew()
    await gang.passes(BOUND)
    assert await gang.failures() == []
    await gang.passes(10)
    assert len(await gang.failures()) == 1


async def test_of_whom_nobody_can_say_nothing_is_said(tmp_path: Path) -> None:
    gang = await watched(tmp_path, worker_0=STAYS, worker_1=LEAVES)
    await gang.passes(20)
    gang.world.cluster.silence("n1")
    await gang.passes(BOUND * 2)
    assert await gang.failures() == []


async def running(root: Path) -> JobState:
    return (await DeskWorld(root).lives.running(JOB)).job


async def test_only_gangs_that_nobody_else_watches_are_of_interest(tmp_path: Path) -> None:
    state = await running(tmp_path)

    def with_demand(**changed: object) -> JobState:
        demand = state.demand.model_copy(update=changed)
        return state.model_copy(update={"demand": demand})

    assert is_of_interest(state)
    assert not is_of_interest(with_demand(type=JobType.RAY))
    assert not is_of_interest(with_demand(hang=HangLimits(window_s=600, restart=True)))
    assert not is_of_interest(state.model_copy(update={"held": {"n1": ("worker-0",)}}))
    assert not is_of_interest(state.model_copy(update={"phase": "evicting"}))


def test_another_gang_and_what_nobody_sees_begin_anew() -> None:
    later = START + timedelta(seconds=9)
    first = waits(None, sight_of(START, [("a", 1.0, 5), ("b", 1.0, 5)]))
    assert first is not None
    fewer = waits(first, sight_of(later, [("a", 1.0, 5)]))
    assert fewer is not None
    assert fewer.since == later
    assert waits(first, sight_of(later, [("a", 1.0, 5), ("b", None, 5)])) is None
    assert waits(first, sight_of(later, [("a", 1.0, None)])) is None
    assert sight_of(START, []) is None
