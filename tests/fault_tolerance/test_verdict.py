"""Verdicts by exit code, budget and node, each from its own ledger."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muster.domain import facts as f
from muster.domain.phases import Phase, Shown
from muster.domain.reasons import ReasonCode
from muster.fault_tolerance.core.ledger import INFRASTRUCTURE_LIMIT
from muster.fault_tolerance.core.verdict import by_event
from tests.support.lives import START, Life, auto_queue, spec


def tolerant(retries: int = 2, **more: object) -> Life:
    return Life(spec(fault_tolerance={"enabled": True, "max_retries": retries, **more}))


def failure(exit_code: int | None = 1, cause: str = "exited", node: str = "n1") -> f.WorkersFailed:
    one = f.WorkerFailure(worker="worker-0", node=node, exit_code=exit_code, cause=cause)
    return f.WorkersFailed(attempt=1, failures=(one,))


def test_a_failure_without_a_budget_ends_the_job() -> None:
    life = Life().faulted()
    fact = by_event(life.state, failure(), life.at)
    assert isinstance(fact, f.Failed)
    assert fact.reason.code is ReasonCode.NOT_RETRIED
    assert "exit code 1" in fact.reason.en
    assert life.then(fact).state.phase is Phase.FAILED


@pytest.mark.parametrize("retries", [1, 3])
def test_the_budget_is_used_up_one_by_one(retries: int) -> None:
    life = tolerant(retries).faulted()
    for used in range(1, retries + 1):
        fact = by_event(life.state, failure(), life.at)
        assert isinstance(fact, f.Restarted)
        life.then(fact)
        assert (life.state.ledgers.restarts, life.state.attempt) == (used, used + 1)
        assert life.state.shown is Shown.RESTARTING
        life.then(
            f.Launching(attempt=life.state.attempt),
            f.Started(attempt=life.state.attempt),
            failure().model_copy(update={"attempt": life.state.attempt}),
        )
    fact = by_event(life.state, failure(), life.at)
    assert isinstance(fact, f.Failed)
    assert fact.reason.code is ReasonCode.RESTART_LIMIT
    assert life.state.ledgers.requeues == 0


@pytest.mark.parametrize(("code", "again"), [(199, False), (200, True), (205, True), (206, False)])
def test_only_the_exit_codes_that_the_user_names_are_retried(code: int, again: bool) -> None:
    life = tolerant(strategy="exit_codes", exit_codes="1,200-205").faulted(code)
    assert isinstance(by_event(life.state, failure(code), life.at), f.Restarted) is again


def test_an_unknown_exit_is_not_one_of_the_named_codes() -> None:
    life = tolerant(strategy="exit_codes", exit_codes="1").faulted(None, "vanished")
    assert isinstance(by_event(life.state, failure(None, "vanished"), life.at), f.Failed)


def test_a_lost_node_never_costs_the_user_a_restart() -> None:
    life = Life().faulted(None, "node_lost")
    fact = by_event(life.state, failure(None, "node_lost"), life.at)
    assert isinstance(fact, f.ReplacementOrdered)
    assert fact.avoid == ("n1",)
    life.then(fact)
    assert life.state.ledgers.restarts == 0
    assert len(life.state.ledgers.infrastructure) == 1


@pytest.mark.parametrize(("step", "avoid"), [(None, ("n1", "n2")), (7, ("n2",))])
def test_a_node_is_kept_away_from_until_there_is_progress(
    step: int | None, avoid: tuple[str, ...]
) -> None:
    life = Life().faulted(None, "node_lost")
    first = by_event(life.state, failure(None, "node_lost"), life.at)
    assert isinstance(first, f.ReplacementOrdered)
    life.then(first, f.Released(attempt=1))
    again = f.Requeued(cause=first.cause, counted=False, avoid=life.state.avoid)
    life.then(again).running(placement={"n2": ("worker-0", "worker-1")})
    if step is not None:
        life.then(f.CheckpointSaved(attempt=2, step=step))
    second = failure(None, "node_lost", "n2").model_copy(update={"attempt": 2})
    life.then(second)
    fact = by_event(life.state, second, life.at)
    assert isinstance(fact, f.ReplacementOrdered)
    assert fact.avoid == avoid


@pytest.mark.parametrize(
    ("count", "age_h", "escalated"),
    [(INFRASTRUCTURE_LIMIT - 1, 1, False), (INFRASTRUCTURE_LIMIT, 1, True), (99, 25, False)],
)
def test_too_many_lost_nodes_within_a_day_need_a_person(
    count: int, age_h: int, escalated: bool
) -> None:
    life = Life().faulted(None, "node_lost")
    then = life.at - timedelta(hours=age_h)
    ledgers = life.state.ledgers.model_copy(update={"infrastructure": (then,) * count})
    state = life.state.model_copy(update={"ledgers": ledgers})
    fact = by_event(state, failure(None, "node_lost"), life.at)
    assert isinstance(fact, f.Escalated) is escalated


def test_a_failure_under_an_eviction_order_restarts_elsewhere() -> None:
    life = tolerant().running()
    life.then(f.Preempted(cause="spot_reclaim", grace_s=30), failure())  # type: ignore[arg-type]
    fact = by_event(life.state, failure(), life.at)
    assert isinstance(fact, f.ReplacementOrdered)
    assert life.then(fact).state.ledgers.restarts == 1


def test_without_evidence_a_person_decides_once_the_time_is_over() -> None:
    life = Life().faulted()
    due = life.state.deadlines["verdict"]  # type: ignore[index]
    assert by_event(life.state, None, due - timedelta(seconds=1)) is None
    fact = by_event(life.state, None, due)
    assert isinstance(fact, f.Escalated)
    assert life.then(fact).state.phase is Phase.ABNORMAL


def test_a_hang_costs_a_restart() -> None:
    life = tolerant().running().then(f.Hung(evidence=("no new step",), seconds=1800))
    evidence = f.Hung(evidence=("no new step",), seconds=1800)
    assert isinstance(by_event(life.state, evidence, life.at), f.Restarted)


def test_nothing_is_decided_about_a_job_that_is_not_faulted() -> None:
    assert by_event(Life().running().state, failure(), START) is None
    assert by_event(Life(spec(auto_queue=auto_queue())).queued().state, failure(), START) is None
