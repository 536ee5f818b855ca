"""When a history is whole, and what follows from it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.gateway.core.history import archive, may_be_archived, may_be_trimmed, missing
from tests.gateway.worlds import World, state_of


@pytest.mark.parametrize(
    ("versions", "upto", "gap"),
    [
        ([], 0, ()),
        ([1, 2, 3], 3, ()),
        ([3, 1, 2, 2, 1], 3, ()),
        ([1, 3], 3, (2,)),
        ([], 2, (1, 2)),
        ([1, 2, 3, 4], 3, ()),
    ],
)
def test_a_history_is_whole_when_every_version_is_there(
    versions: list[int], upto: int, gap: tuple[int, ...]
) -> None:
    assert missing(versions, upto) == gap


async def ended() -> JobState:
    return state_of(await World().ended("j1"))


async def test_a_job_that_ended_and_holds_nothing_is_archived() -> None:
    state = await ended()
    fact = archive(state, whole_upto=state.version)
    assert fact is not None
    assert fact.phase is Phase.SUCCEEDED


async def test_nothing_is_archived_before_its_history_is_whole() -> None:
    state = await ended()
    assert archive(state, whole_upto=state.version - 1) is None


@pytest.mark.parametrize(
    "change",
    [
        {"archived": True},
        {"held": {"n1": ("worker-0",)}},
        {"phase": Phase.ABNORMAL},
        {"phase": Phase.RUNNING},
    ],
)
async def test_a_job_that_something_may_happen_to_is_not_archived(
    change: dict[str, object],
) -> None:
    state = (await ended()).model_copy(update=change)
    assert not may_be_archived(state)
    assert archive(state, whole_upto=state.version) is None


async def test_the_log_keeps_a_job_for_its_hot_time_and_longer_when_not_archived() -> None:
    state = (await ended()).model_copy(update={"archived": True})
    assert state.ended_at is not None
    hot = timedelta(hours=24)
    assert not may_be_trimmed(state, state.ended_at + hot - timedelta(seconds=1), hot)
    assert may_be_trimmed(state, state.ended_at + hot, hot)
    unarchived = state.model_copy(update={"archived": False})
    assert not may_be_trimmed(unarchived, state.ended_at + 10 * hot, hot)
