"""Slots of restarts: a burst, then one after the other, however many replicas ask."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy.engine import Connection, Engine

from muster.fault_tolerance.store import Lane, take_token

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)
CLUSTER = Lane("cluster", per_minute=60, burst=3)
STORAGE = Lane("storage/nfs-1", per_minute=6, burst=1)

Run = Callable[[Callable[[Connection], Any]], Any]


def take(run: Run, job: str, seconds: float = 0, lanes: tuple[Lane, ...] = (CLUSTER,)) -> float:
    at = NOW + timedelta(seconds=seconds)
    waits: float = run(partial(take_token, lanes=lanes, attempt=("acme", job, 1), now=at))
    return round(waits, 3)


def test_a_burst_passes_and_the_rest_follows_one_by_one(run: Run) -> None:
    assert [take(run, f"j{n}") for n in range(6)] == [0, 0, 0, 1, 2, 3]


def test_a_pause_fills_the_bucket_and_not_more(run: Run) -> None:
    assert [take(run, f"j{n}") for n in range(4)] == [0, 0, 0, 1]
    assert [take(run, f"k{n}", 3600) for n in range(4)] == [0, 0, 0, 1]


@pytest.mark.parametrize(("later", "waits"), [(0.5, 0.5), (1.0, 0.0)])
def test_a_slot_comes_back_with_time(run: Run, later: float, waits: float) -> None:
    for n in range(3):
        take(run, f"j{n}")
    assert take(run, "next", later) == waits


def test_the_slowest_lane_decides(run: Run) -> None:
    both = (STORAGE, CLUSTER)
    assert [take(run, f"j{n}", 0, both) for n in range(3)] == [0, 10, 20]
    assert take(run, "elsewhere") == 1


def test_asking_again_takes_nothing_more(run: Run) -> None:
    assert [take(run, "same", 0, (STORAGE,)) for _ in range(3)] == [0, 0, 0]
    assert take(run, "next", 0, (STORAGE,)) == 10
    assert take(run, "next", 4, (STORAGE,)) == 6
    assert take(run, "after", 4, (STORAGE,)) == 16


def test_without_a_lane_nobody_waits(run: Run) -> None:
    assert take(run, "j", 0, ()) == 0


def test_replicas_that_ask_at_once_never_share_a_slot(engine: Engine) -> None:
    asking, each = 8, 6
    together = Barrier(asking)

    def replica(number: int) -> list[float]:
        together.wait()
        return [_take(engine, f"j{number}-{turn}", (STORAGE, CLUSTER)) for turn in range(each)]

    with ThreadPoolExecutor(asking) as pool:
        waits = sorted(wait for some in pool.map(replica, range(asking)) for wait in some)
    assert waits == [10.0 * slot for slot in range(asking * each)]


def test_replicas_that_ask_for_one_attempt_get_one_slot(engine: Engine) -> None:
    asking = 8
    together = Barrier(asking)

    def replica(_: int) -> float:
        together.wait()
        return _take(engine, "same", (STORAGE,))

    _take(engine, "first", (STORAGE,))
    with ThreadPoolExecutor(asking) as pool:
        assert len(set(pool.map(replica, range(asking)))) == 1


def _take(engine: Engine, job: str, lanes: tuple[Lane, ...]) -> float:
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        waits = take_token(connection, lanes, ("acme", job, 1), NOW)
        connection.commit()
        return round(waits, 3)
