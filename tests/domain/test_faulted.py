"""A job's failures, read back from its history."""

from __future__ import annotations

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.diagnosis import Diagnosis
from muster.domain.evolve import evolve
from muster.domain.faulted import Faulted, Step, faulted
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import JobState
from tests.support.lives import START, Life, spec

WHY = reason(ReasonCode.RESTARTING, count=1, limit=3, why="w")


def told(life: Life, *facts: f.Fact) -> tuple[list[Step], Life]:
    steps: list[Step] = []
    for fact in facts:
        life.then(fact)
        steps.append((fact, life.state, life.at))
    return steps, life


def failure(attempt: int) -> f.WorkersFailed:
    one = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
    return f.WorkersFailed(attempt=attempt, failures=(one,))


def running() -> Life:
    return Life(spec(fault_tolerance={"enabled": True})).running()


def test_an_attempt_its_verdict_and_what_followed() -> None:
    steps, life = told(
        running(),
        failure(1),
        f.Restarted(reason=WHY, diagnosis=Diagnosis(rule="py.key")),
        f.Launching(attempt=2),
        f.Started(attempt=2),
        failure(2),
        f.Failed(reason=WHY),
    )
    first, second = faulted(steps)
    assert (first.attempt, first.event, first.next_attempt, first.ran) == (1, "restarted", 2, True)
    assert first.diagnosis is not None
    assert first.diagnosis.rule == "py.key"
    assert first.nodes == ("n1", "n2")
    assert first.failed_at == steps[0][2]
    assert (second.attempt, second.event, second.next_attempt) == (2, "failed", None)
    assert second.phase is Phase.FAILED
    assert life.state.terminal


def test_one_that_is_placed_elsewhere_is_linked_to_the_attempt_there() -> None:
    steps, _ = told(
        running(),
        failure(1),
        f.ReplacementOrdered(
            cause=EvictionCause.NODE_LOST, reason=WHY, infrastructure=True, avoid=("n1",)
        ),
        f.Released(attempt=1),
        f.Requeued(cause=EvictionCause.NODE_LOST, counted=False),
        f.Scheduled(placement={"n3": ("worker-0", "worker-1")}),
    )
    (only,) = faulted(steps)
    assert (only.next_attempt, only.ran, only.phase) == (2, False, None)


def test_a_job_that_never_failed_has_none() -> None:
    life, at = running(), START
    assert faulted([(f.Started(attempt=1), life.state, at)]) == ()


def test_the_first_event_alone_tells_nothing() -> None:
    life = running()
    state: JobState = evolve(life.state, failure(1), life.at)
    found: tuple[Faulted, ...] = faulted([(f.Failed(reason=WHY), state, life.at)])
    assert found == ()
