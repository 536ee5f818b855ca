"""Every waiting phase has its clock, with the seconds and the owners that the product promises."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.deadlines import DEADLINES
from muster.domain.phases import Phase
from muster.domain.spec import JobSpec
from muster.domain.state import DeadlineKind, JobState, Wait
from tests.domain.making import WHY
from tests.domain.stages import debug_holding, reclaim, stop, waiting
from tests.support.lives import Life, auto_queue, limits, spec

HOUR = 3600

ROWS: list[tuple[str, str, str, str]] = [
    ("queue", "queued", "requeue", "queue_timed_out"),
    ("round", "queued", "requeue", "declined"),
    ("plan", "starting", "scheduler", "unscheduled"),
    ("start", "starting", "executor", "start_failed"),
    ("grace", "evicting stopping", "executor", ""),
    ("release", "evicting stopping", "executor", "release_overdue"),
    ("settle", "faulted", "fault-tolerance", ""),
    ("verdict", "faulted", "fault-tolerance", "escalated"),
    ("hold", "debug_holding", "executor", "hold_ended"),
    ("run", "running", "executor", "run_timed_out"),
]
"""kind, where it counts, whose it is, what follows."""


@pytest.mark.parametrize(("kind", "phases", "owner", "event"), ROWS, ids=[row[0] for row in ROWS])
def test_a_clock_is_what_the_table_says(kind: str, phases: str, owner: str, event: str) -> None:
    row = DEADLINES[DeadlineKind(kind)]
    assert row.phases == {Phase(phase) for phase in phases.split()}
    assert (row.owner.value, row.event) == (owner, event)
    assert row.launched is (False if kind == "plan" else None)


def test_the_table_has_every_clock() -> None:
    assert [row[0] for row in ROWS] == list(DeadlineKind)


def clocks(state: JobState, life: Life) -> dict[str, float]:
    """Seconds from now to each deadline."""
    return {kind.value: (due - life.at).total_seconds() for kind, due in state.deadlines.items()}


def restarted() -> Life:
    return Life(spec(grace_s=40, start_deadline_s=500)).faulted().then(f.Restarted(reason=WHY))


def victims(grace_s: int) -> f.Scheduled:
    waits = (Wait(tenant="acme", job="victim", attempt=1),)
    return f.Scheduled(placement={"n1": ("worker-0",)}, waits_for=waits, grace_s=grace_s)


def reserved(**more: object) -> JobSpec:
    return spec(resource={"type": "reserved", "replicas": 2}, **more)


LIVES: dict[str, tuple[Life, dict[str, float]]] = {
    "queued for an hour": (Life(spec(auto_queue=auto_queue(1, 0))).queued(), {"queue": HOUR}),
    "queued for twelve": (Life(spec(auto_queue=auto_queue(12, 3))).queued(), {"queue": 12 * HOUR}),
    "one round": (Life().queued(), {"round": 120}),
    "no limit": (Life(reserved()).queued(), {}),
    "placed in free room": (Life().placed(), {"round": 119, "plan": 60}),
    "placed after victims": (Life(waiting()).queued().then(victims(45)), {
        "queue": 2 * HOUR - 1, "plan": 105,
    }),
    "launching": (Life(waiting()).launching(), {"queue": 2 * HOUR - 2, "start": 900}),
    "launching slowly": (Life(reserved(start_deadline_s=77)).launching(), {"start": 77}),
    "running": (Life(waiting()).running(), {}),
    "running for a minute": (Life(spec(max_runtime_s=60)).running(), {"run": 60}),
    "evicted": (Life(waiting()).running().then(reclaim(12)), {"grace": 12, "release": 312}),
    "evicted at once": (Life().running().then(reclaim(0)), {"grace": 0, "release": 300}),
    "stopped": (Life().running().then(stop()), {"grace": 30, "release": 330}),
    "stopped gently": (Life(spec(grace_s=600)).running().then(stop()), {
        "grace": 600, "release": 900,
    }),
    "stopped by its limit": (Life(spec(max_runtime_s=5)).running().then(f.RunTimedOut()), {
        "grace": 30, "release": 330,
    }),
    "start failed": (Life(waiting()).launching().then(f.StartFailed(attempt=1, why="x")), {
        "queue": 2 * HOUR - 3, "grace": 30, "release": 330,
    }),
    "faulted": (Life(waiting()).faulted(), {"settle": 10, "verdict": 60}),
    "hung": (Life().running().then(f.Hung(evidence=("x",), seconds=9)), {"verdict": 60}),
    "restarted": (restarted(), {"start": 540}),
    "restarted and launching": (restarted().then(f.Launching(attempt=2)), {"start": 500}),
    "held for debugging": (debug_holding(seconds=600), {"hold": 600}),
    "released": (Life(waiting()).interrupted(), {}),
    "overdue": (Life().running().then(reclaim(5), f.ReleaseOverdue(nodes=("n1",)), after=400), {
        "grace": -395,
    }),
    "parked": (Life(waiting()).queued().then(f.QueueTimedOut(entry=1)), {}),
}  # fmt: skip


@pytest.mark.parametrize(("life", "expected"), LIVES.values(), ids=list(LIVES))
def test_the_seconds_of_every_wait(life: Life, expected: dict[str, float]) -> None:
    assert clocks(life.state, life) == expected


@pytest.mark.parametrize(
    ("announced", "grace", "release"), [(60, 29, 329), (29, 29, 329), (10, 10, 310), (0, 0, 300)]
)
@pytest.mark.parametrize("order", [reclaim(30), stop()], ids=["evicted", "stopped"])
def test_the_nearer_end_of_a_grace_wins(
    order: f.Fact, announced: int, grace: int, release: int
) -> None:
    life = Life().running().then(order)
    deadline = life.at + timedelta(seconds=announced + 1)
    state = life.then(f.GraceShortened(deadline=deadline)).state
    assert clocks(state, life) == {"grace": grace, "release": release}


def test_what_was_told_to_be_overdue_is_not_told_again() -> None:
    life = Life().running().then(reclaim(30), f.ReleaseOverdue(nodes=("n1",)))
    state = life.then(f.GraceShortened(deadline=life.at)).state
    assert set(state.deadlines) == {DeadlineKind.GRACE}


@pytest.mark.parametrize(("grace_s", "left"), [(600, 29), (31, 29), (29, 29), (28, 28), (1, 1)])
def test_a_stop_takes_the_nearer_of_its_own_grace_and_that_of_the_eviction(
    grace_s: int, left: int
) -> None:
    life = Life(spec(grace_s=grace_s)).running().then(reclaim(30), stop())
    assert clocks(life.state, life) == {"grace": left, "release": left + 300}


def test_a_bounce_keeps_the_clock_of_the_entry_and_begins_the_wait_for_a_round_again() -> None:
    patient, one_shot = Life(waiting()).placed(), Life().placed()
    taken = f.Unscheduled(cause=f.Withdrawal.HOLD_TAKEN, by="j9")
    assert clocks(patient.then(taken, after=50).state, patient) == {"queue": 2 * HOUR - 51}
    assert clocks(one_shot.then(taken, after=50).state, one_shot) == {"round": 120}


def test_a_new_limit_counts_from_the_start_of_the_entry_even_when_that_is_over() -> None:
    life = Life(waiting()).queued()
    demand = life.state.demand.model_copy(update={"queue": limits(1, 1)})
    change = f.Respecified(before=life.state.demand, demand=demand, by="ann", request="q1")
    state = life.then(change, after=5000).state
    assert clocks(state, life) == {"queue": 3600 - 5000}


def test_the_clock_that_an_entry_keeps_says_that_it_goes_on() -> None:
    """Where clocks differ, a job may have started in the instant in which it queues again."""
    life = Life(waiting()).interrupted()
    life.then(f.Requeued(cause=EvictionCause.SPOT_RECLAIM, counted=True))
    life.state = life.state.model_copy(update={"started_at": life.state.entered_at})
    entry, due = life.state.queue_entry, life.state.due(DeadlineKind.QUEUE)
    life.placed().then(f.StartRefused(attempt=2, permanent=False, why="no room"))
    assert (life.state.queue_entry, life.state.due(DeadlineKind.QUEUE)) == (entry, due)
