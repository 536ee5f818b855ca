"""Four separate counts: what moves each, what forgives it, and at which limit it ends."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import QueueLimits
from muster.domain.edges import IllegalEdge
from muster.domain.phases import Phase
from muster.domain.state import JobState, Ledgers
from tests.domain.making import WHY
from tests.domain.stages import waiting
from tests.support.lives import START, Life

DAY = timedelta(hours=24)


def with_ledgers(life: Life, **counts: object) -> Life:
    ledgers = Ledgers.model_validate(counts)
    life.state = life.state.model_copy(update={"ledgers": ledgers})
    return life


@pytest.mark.parametrize(
    ("age", "kept"),
    [(DAY - timedelta(seconds=1), 2), (DAY, 1), (DAY + timedelta(seconds=1), 1)],
)
def test_a_failure_of_the_infrastructure_counts_for_a_day(age: timedelta, kept: int) -> None:
    life = Life().faulted(None, "node_lost")
    now = life.at + timedelta(seconds=1)
    with_ledgers(life, infrastructure=(now - age,))
    order = f.ReplacementOrdered(cause=EvictionCause.NODE_LOST, reason=WHY, infrastructure=True)
    ledgers = life.then(order).state.ledgers
    assert len(ledgers.infrastructure) == kept
    assert ledgers.infrastructure[-1] == now
    assert (ledgers.restarts, ledgers.requeues, ledgers.starts) == (0, 0, 0)


@pytest.mark.parametrize(
    ("infrastructure", "restart", "moved"),
    [
        (True, False, (1, 0)),
        (False, True, (0, 1)),
        (False, False, (0, 0)),
        (True, True, (1, 0)),  # never both
    ],
)
def test_a_replacement_debits_one_ledger_or_none(
    *, infrastructure: bool, restart: bool, moved: tuple[int, int]
) -> None:
    life = Life().faulted()
    order = f.ReplacementOrdered(
        cause=EvictionCause.FAULT, reason=WHY, infrastructure=infrastructure, restart=restart
    )
    ledgers = life.then(order).state.ledgers
    assert (len(ledgers.infrastructure), ledgers.restarts) == moved


def test_a_resume_forgives_what_the_user_used_and_not_what_the_nodes_did() -> None:
    life = Life(waiting()).queued().then(f.QueueTimedOut(entry=1))
    with_ledgers(life, requeues=1, restarts=2, starts=2, infrastructure=(START,))
    state = life.then(f.Resumed(by="ann", request="q1")).state
    assert state.ledgers == Ledgers(infrastructure=(START,))


@pytest.mark.parametrize(
    ("fact", "starts"),
    [
        (f.StartRefused(attempt=1, permanent=True, why="no image"), 2),
        (f.StartRefused(attempt=1, permanent=False, why="no room"), 1),
        (f.Started(attempt=1), 0),
        (f.StartFailed(attempt=1, why="slow"), 1),
    ],
    ids=["refused for good", "refused for now", "started", "failed"],
)
def test_what_moves_the_budget_of_starts(fact: f.Fact, starts: int) -> None:
    life = with_ledgers(Life(waiting()).launching(), starts=1)
    assert life.then(fact).state.ledgers == Ledgers(starts=starts)


@pytest.mark.parametrize(("same_entry", "starts"), [(True, 2), (False, 0)])
def test_the_budget_of_starts_is_that_of_an_entry(*, same_entry: bool, starts: int) -> None:
    life = Life(waiting()).launching().then(f.StartFailed(attempt=1, why="x"))
    with_ledgers(life.then(f.Released(attempt=1)), starts=2)
    again = f.Requeued(cause=EvictionCause.START_FAILED, counted=False, same_entry=same_entry)
    assert life.then(again).state.ledgers == Ledgers(starts=starts)


def test_an_entry_that_ended_takes_its_refusals_with_it() -> None:
    """A start that is refused after the job ran begins a new entry, and is its first refusal."""
    life = Life(waiting()).faulted().then(f.Restarted(reason=WHY), f.Launching(attempt=2))
    state = life.then(f.StartRefused(attempt=2, permanent=True, why="no image")).state
    assert (state.queue_entry, state.ledgers) == (2, Ledgers(restarts=1, starts=1))


@pytest.mark.parametrize(
    ("queue", "used", "left"),
    [(None, 0, 0), ((2, 0), 0, 0), ((2, 3), 0, 3), ((2, 3), 2, 1), ((2, 3), 3, 0), ((2, 1), 3, 0)],
)
def test_how_many_requeues_are_left(queue: tuple[int, int] | None, used: int, left: int) -> None:
    limits = queue and QueueLimits(max_queue_hours=queue[0], max_requeues=queue[1])
    life = with_ledgers(Life().queued(), requeues=used)
    demand = life.state.demand.model_copy(update={"queue": limits})
    state: JobState = life.state.model_copy(update={"demand": demand})
    assert state.requeues_left == left


def _failed(life: Life) -> f.WorkersFailed:
    failure = f.WorkerFailure(worker="worker-1", node="n2", exit_code=1)
    return f.WorkersFailed(attempt=life.state.attempt, failures=(failure,))


@pytest.mark.parametrize("cause", [EvictionCause.FAULT, EvictionCause.NODE_LOST])
def test_the_rest_of_a_failed_gang_is_not_judged_again(cause: EvictionCause) -> None:
    """Its workers end of the same cause while they leave: that is paid for once."""
    life = Life().faulted().then(f.ReplacementOrdered(cause=cause, reason=WHY, restart=True))
    with pytest.raises(IllegalEdge, match="after a failure"):
        life.then(_failed(life))
    assert life.then(f.Released(attempt=1)).state.ledgers == Ledgers(restarts=1)


def test_nor_is_that_of_a_start_that_was_given_up() -> None:
    life = Life().launching().then(f.StartFailed(attempt=1, why="slow"))
    with pytest.raises(IllegalEdge, match="after a failure"):
        life.then(_failed(life))


def test_who_fails_before_the_signal_of_an_eviction_is_judged() -> None:
    life = Life().running().then(f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30))
    assert life.then(_failed(life)).state.phase is Phase.FAULTED
