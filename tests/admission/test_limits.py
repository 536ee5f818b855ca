"""The limits of auto-queue at both sides, at every door: submit, resume and respecify."""

from __future__ import annotations

from typing import Any

import pytest

from muster.contracts.requests import Answer
from muster.domain import facts as f
from muster.domain.demand import QueueLimits
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.domain.rules import RULES
from muster.domain.state import DeadlineKind, JobState
from tests.admission.test_handlers import Bench

HOURS, REQUEUES = "max_queue_hours", "max_requeues"
GOOD: dict[str, Any] = {"enabled": True, HOURS: 2, REQUEUES: 1}
DOORS = ["submit", "resume", "respecify"]


async def parked(bench: Bench) -> str:
    """A job whose queue clock is over."""
    answer = await bench.submit(auto_queue=GOOD)
    assert answer.job is not None
    pen = bench.journal(Owner.REQUEUE)
    await pen.record(pen.about_job(await bench.last(answer.job), f.QueueTimedOut(entry=1)))
    return answer.job


async def asked(door: str, limits: Any) -> tuple[Bench, Answer, JobState | None]:
    """Ask at a door; the state is the job's afterwards."""
    bench = Bench()
    if door == "submit":
        answer = await bench.submit(auto_queue=limits)
    else:
        submitted = await bench.submit(auto_queue=GOOD) if door == "respecify" else None
        job = submitted.job if submitted else await parked(bench)
        asking = {"user": "ann", "job": job, "auto_queue": limits}
        answer = await bench.tell(door, asking, "r2")
    state = (await bench.last(answer.job)).job if answer.job else None
    return bench, answer, state


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("change", "hours", "requeues"),
    [
        ({HOURS: 1}, 1, 1),
        ({HOURS: 12}, 12, 1),
        ({REQUEUES: 0}, 2, 0),
        ({REQUEUES: 3}, 2, 3),
        ({HOURS: 12, REQUEUES: 3}, 12, 3),
        ({"max_retries": 1}, 2, 1),
        ({REQUEUES: None, "max_retries": 3}, 2, 3),
        ({"max_retries": None}, 2, 1),
    ],
    ids=str,
)
async def test_within_the_limits(
    door: str, change: dict[str, Any], hours: int, requeues: int
) -> None:
    _, answer, state = await asked(door, GOOD | change)
    assert answer.accepted, answer.violations
    assert state is not None
    assert state.demand.queue == QueueLimits(max_queue_hours=hours, max_requeues=requeues)


@pytest.mark.parametrize("door", DOORS)
async def test_the_other_name_alone_is_enough_and_is_kept_under_the_right_one(door: str) -> None:
    bench, answer, state = await asked(door, {"enabled": True, HOURS: 2, "max_retries": 3})
    assert state is not None
    assert state.demand.queue == QueueLimits(max_queue_hours=2, max_requeues=3)
    assert answer.job is not None
    body = (await bench.last(answer.job)).event.to_bytes()
    assert b'"max_requeues":3' in body
    assert b"max_retries" not in body


NO_HOURS: tuple[Any, ...] = (0, 13, -1, 1.5, 2.0, "3", True, None, [2], 10**30)
NO_REQUEUES: tuple[Any, ...] = (-1, 4, 1.5, 1.0, "3", True, None, {}, 10**30)
WRONG: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    *(({HOURS: value}, [("E_MAX_QUEUE_HOURS", f".{HOURS}")]) for value in NO_HOURS),
    *(({REQUEUES: value}, [("E_MAX_REQUEUES", f".{REQUEUES}")]) for value in NO_REQUEUES),
    (
        {HOURS: 0, REQUEUES: 4},
        [("E_MAX_QUEUE_HOURS", f".{HOURS}"), ("E_MAX_REQUEUES", f".{REQUEUES}")],
    ),
    ({"max_retries": 2}, [("E_REQUEUES_TWICE", f".{REQUEUES}")]),
    ({"max_retries": True}, [("E_REQUEUES_TWICE", f".{REQUEUES}")]),
    (
        {HOURS: 13, "max_retries": 2},
        [("E_MAX_QUEUE_HOURS", f".{HOURS}"), ("E_REQUEUES_TWICE", f".{REQUEUES}")],
    ),
    ({"max_retries": 4, REQUEUES: 4}, [("E_MAX_REQUEUES", f".{REQUEUES}")]),
    ({"enabled": False}, [("E_AUTO_QUEUE_OFF", "")]),
    ({"enabled": False, HOURS: None}, [("E_AUTO_QUEUE_OFF", "")]),
    ({"enabled": False, REQUEUES: None}, [("E_AUTO_QUEUE_OFF", "")]),
    ({"enabled": None}, [("E_TYPE", ".enabled")]),
    ({"enabled": 1}, [("E_TYPE", ".enabled")]),
    ({"max_requeue": 1}, [("E_UNKNOWN_FIELD", ".max_requeue")]),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("change", "expected"), WRONG, ids=[str(change) for change, _ in WRONG])
async def test_beyond_the_limits(
    door: str, change: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    root = "$.spec.auto_queue" if door == "submit" else "$.data.auto_queue"
    _, answer, state = await asked(door, GOOD | change)
    assert not answer.accepted
    assert [(v.code, v.path) for v in answer.violations] == [(c, root + p) for c, p in expected]
    if door != "submit":
        assert state is None or state.demand.queue == QueueLimits(max_queue_hours=2, max_requeues=1)


@pytest.mark.parametrize("door", DOORS)
async def test_limits_without_saying_that_it_is_on(door: str) -> None:
    _, answer, _ = await asked(door, {HOURS: 2, REQUEUES: 1})
    assert [v.code for v in answer.violations] == ["E_AUTO_QUEUE_OFF"]


@pytest.mark.parametrize(
    ("code", "english", "chinese"),
    [
        ("E_MAX_QUEUE_HOURS", (HOURS, "between 1 and 12 hours", "write"), (HOURS, "1-12", "例如")),
        ("E_MAX_REQUEUES", (REQUEUES, "between 0 and 3", "write"), (REQUEUES, "0-3", "例如")),
        (
            "E_REQUEUES_TWICE",
            (REQUEUES, "max_retries", "different", "keep max_requeues alone"),
            (REQUEUES, "max_retries", "不同", "只保留"),
        ),
        (
            "E_AUTO_QUEUE_OFF",
            (HOURS, REQUEUES, "disabled", "enabled: true", "remove"),
            (HOURS, REQUEUES, "未开启", "enabled: true", "删除"),
        ),
    ],
)
def test_each_refusal_names_the_field_the_rule_and_the_remedy(
    code: str, english: tuple[str, ...], chinese: tuple[str, ...]
) -> None:
    en, zh = RULES[code]
    assert [part for part in english if part not in en] == []
    assert [part for part in chinese if part not in zh] == []


async def test_a_resume_may_turn_auto_queue_off() -> None:
    """A spot job then has its one round, as if it had never had limits."""
    _, answer, state = await asked("resume", {"enabled": False})
    assert answer.accepted
    assert state is not None
    assert (state.phase, state.demand.queue, state.one_shot) == (Phase.QUEUED, None, True)
    assert set(state.deadlines) == {DeadlineKind.ROUND}


async def test_a_resume_without_limits_keeps_those_that_the_job_has() -> None:
    _, _, state = await asked("resume", None)
    assert state is not None
    assert state.demand.queue == QueueLimits(max_queue_hours=2, max_requeues=1)
