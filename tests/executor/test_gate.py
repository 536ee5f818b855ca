"""Before a further attempt the checkpoint folder is looked at; a dead one holds nobody up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muster.domain import facts as f
from muster.domain.errors import Temporary
from muster.domain.evidence import CheckpointFolder, CheckpointFound
from muster.domain.spec import JobSpec, ResourceSpec
from muster.domain.state import JobState
from muster.executor.gate import FRESH_S, TOLD, Gate
from tests.support.log_lives import START

GOOD = CheckpointFound(name="step-100", step=100)


def bad(step: int) -> CheckpointFound:
    return CheckpointFound(name=f"step-{step}", step=step, complete=False, why="torn")


def spec(folder: str | None = "/ckpt") -> JobSpec:
    return JobSpec(
        name="train",
        image="i",
        command=("true",),
        resource=ResourceSpec(),
        checkpoint_dir=folder,
    )


def job(attempt: int) -> JobState:
    demand = spec().demand()
    return JobState(
        tenant="t",
        job="j1",
        user="ann",
        name="train",
        pool="default",
        demand=demand,
        submitted_at=START,
        since=START,
        attempt=attempt,
    )


def over(*found: CheckpointFound, error: str | None = None) -> Gate:
    async def look(path: str) -> CheckpointFolder:
        return CheckpointFolder(path=path, found=found, error=error)

    return Gate(look)


@pytest.mark.parametrize(
    ("attempt", "folder", "expected"),
    [
        (2, "/ckpt", "/ckpt/step-100"),
        (1, "/ckpt", None),  # a first attempt is the user's own
        (2, None, None),
        (2, "", None),
    ],
)
async def test_a_further_attempt_goes_on_from_the_newest_whole_one(
    attempt: int, folder: str | None, expected: str | None
) -> None:
    gate = over(bad(200), GOOD)
    fact = await gate.passed(job(attempt), spec(folder), f.Launching(attempt=attempt))
    assert fact.resume_from == expected
    assert fact.skipped == ((bad(200),) if expected else ())
    assert await gate.resume_from(job(attempt), spec(folder)) == expected


async def test_without_a_whole_one_nothing_is_given_and_the_broken_are_told() -> None:
    gate = over(*(bad(step) for step in range(20, 0, -1)))
    fact = await gate.passed(job(2), spec(), f.Launching(attempt=2))
    assert fact.resume_from is None
    assert len(fact.skipped) == TOLD


async def test_a_folder_that_cannot_be_read_holds_nobody_up() -> None:
    gate = over(error="Stale file handle")
    fact = await gate.passed(job(2), spec(), f.Launching(attempt=2))
    assert fact == f.Launching(attempt=2)


async def test_a_cluster_that_is_away_is_an_error_of_the_folder() -> None:
    async def look(path: str) -> CheckpointFolder:
        raise Temporary("away")

    found = await Gate(look).folder(spec())
    assert found == CheckpointFolder(path="/ckpt", error="away")


async def test_a_dead_mount_is_asked_once_and_waited_for_no_longer_than_allowed() -> None:
    asked: list[str] = []
    answered = asyncio.Event()

    async def look(path: str) -> CheckpointFolder:
        asked.append(path)
        await answered.wait()
        return CheckpointFolder(path=path, found=(GOOD,))

    gate = Gate(look, patience=0.01)
    for _ in range(3):
        found = await gate.folder(spec())
        assert found is not None
        assert found.error == "no answer within 0 s"
    assert asked == ["/ckpt"]
    answered.set()
    await asyncio.sleep(0)
    found = await gate.folder(spec())
    assert found is not None
    assert found.newest == GOOD
    assert Path(found.path) == Path("/ckpt")


async def test_pages_of_one_question_look_once_and_a_start_looks_anew() -> None:
    asked: list[str] = []
    now = [0.0]

    async def look(path: str) -> CheckpointFolder:
        asked.append(path)
        return CheckpointFolder(path=path, found=(GOOD,))

    gate = Gate(look, monotonic=lambda: now[0])
    for second in (0.0, 1.0, FRESH_S - 0.1):
        now[0] = second
        found = await gate.glance(spec())
        assert found is not None
        assert found.newest == GOOD
    assert len(asked) == 1
    await gate.folder(spec())
    assert len(asked) == 2
    now[0] = FRESH_S
    await gate.glance(spec())
    assert len(asked) == 3
    assert await gate.glance(spec(None)) is None
