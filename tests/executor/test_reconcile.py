"""One step at a time: what the executor does about a job, in every phase."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.domain.state import DeadlineKind
from muster.executor.core.reconcile import (
    Forget,
    Kill,
    Launch,
    Record,
    Signal,
    Step,
    next_step,
)
from muster.executor.core.view import Seen, View, Worker
from tests.support.lives import Life, auto_queue, spec


def worker(name: str, seen: Seen = Seen.RUNNING, *, attempt: int = 1, **more: Any) -> Worker:
    node = "n1" if name == "worker-0" else "n2"
    return Worker(attempt=attempt, name=name, node=node, seen=seen, **more)


def both(seen: Seen = Seen.RUNNING, **more: Any) -> View:
    return View(workers=(worker("worker-0", seen, **more), worker("worker-1", seen, **more)))


def ended(name: str, code: int, at: Any = None) -> Worker:
    return worker(name, Seen.ENDED, exit_code=code, ended_at=at)


def step(life: Life, view: View, after: float = 0.0) -> Step | None:
    return next_step(life.state, view, life.at + timedelta(seconds=after))


def fact(found: Step | None) -> Any:
    """The fact to record; its own fields are for the test to look at."""
    assert isinstance(found, Record)
    return found.fact


NOBODY = View(workers=())


class TestStarting:
    def test_says_what_it_will_do_before_it_does_it(self) -> None:
        assert fact(step(Life().placed(), NOBODY)) == f.Launching(attempt=1)

    def test_waits_until_the_victims_hold_nothing(self) -> None:
        assert step(Life().placed(), View(workers=(), victims_gone=False)) is None

    @pytest.mark.parametrize(("late", "begun"), [(-0.001, False), (0, True)])
    def test_a_restart_that_is_put_off_waits_on_its_nodes(self, late: float, begun: bool) -> None:
        life = Life().faulted()
        until = life.at + timedelta(seconds=90)
        life.then(f.Restarted(reason=reason(ReasonCode.SUCCEEDED), not_before=until))
        assert step(life, both()) == Kill(both().workers)  # what is left goes at once
        found = step(life, NOBODY, (until - life.at).total_seconds() + late)
        assert found == (Record(f.Launching(attempt=2)) if begun else None)
        life.then(f.Launching(attempt=2), after=90)
        assert life.state.not_before is None

    def test_starts_every_worker_that_is_not_there(self) -> None:
        life = Life().launching()
        assert step(life, NOBODY) == Launch(("worker-0", "worker-1"))
        assert step(life, View(workers=(worker("worker-0"),))) == Launch(("worker-1",))

    def test_has_started_when_every_worker_is_up(self) -> None:
        life = Life().launching()
        assert step(life, both(Seen.STARTING)) is None
        assert fact(step(life, both())) == f.Started(attempt=1)

    def test_a_worker_that_ends_well_at_once_was_up(self) -> None:
        view = View(workers=(ended("worker-0", 0), worker("worker-1")))
        assert fact(step(Life().launching(), view)) == f.Started(attempt=1)

    def test_a_worker_that_fails_while_others_start_is_a_failure(self) -> None:
        view = View(workers=(ended("worker-0", 3), worker("worker-1", Seen.STARTING)))
        assert isinstance(fact(step(Life().launching(), view)), f.WorkersFailed)

    @pytest.mark.parametrize(("late", "failed"), [(-0.001, False), (0, True)])
    def test_gives_up_at_the_start_deadline(self, late: float, failed: bool) -> None:
        life = Life().launching()
        view = View(workers=(worker("worker-0"), worker("worker-1", Seen.STARTING)))
        due = life.state.deadlines[DeadlineKind.START] + timedelta(seconds=late)
        found = next_step(life.state, view, due)
        assert isinstance(found, Record) is failed
        if failed:
            assert isinstance(fact(found), f.StartFailed)
            assert "worker-1" in fact(found).why

    def test_clears_the_attempt_before_away_first(self) -> None:
        life = Life(spec(fault_tolerance={"enabled": True})).faulted()
        assert life.state.reason is not None
        life.then(f.Restarted(reason=life.state.reason))
        old = worker("worker-1")
        assert step(life, View(workers=(old,))) == Kill((old,))
        assert fact(step(life, View(workers=(ended("worker-1", 137),)))) == f.Launching(attempt=2)


class TestRunning:
    def test_succeeds_when_every_worker_ended_with_zero(self) -> None:
        life = Life().running()
        assert step(life, both()) is None
        assert step(life, View(workers=(ended("worker-0", 0), worker("worker-1")))) is None
        view = View(workers=(ended("worker-0", 0), ended("worker-1", 0)))
        assert fact(step(life, view)) == f.Succeeded(attempt=1)

    def test_names_the_worker_that_failed_first(self) -> None:
        life = Life().running()
        late, early = life.at + timedelta(seconds=2), life.at + timedelta(seconds=1)
        view = View(workers=(ended("worker-0", 75, late), ended("worker-1", 1, early)))
        failures = fact(step(life, view)).failures
        assert [(x.worker, x.exit_code) for x in failures] == [("worker-1", 1), ("worker-0", 75)]

    def test_a_worker_gone_without_an_exit_is_a_failure(self) -> None:
        view = View(workers=(worker("worker-0", Seen.GONE), worker("worker-1")))
        assert fact(step(Life().running(), view)).failures[0].cause == "vanished"

    def test_a_lost_node_is_a_failure_without_an_exit(self) -> None:
        view = View(workers=(worker("worker-0", node_down=True), worker("worker-1")))
        assert fact(step(Life().running(), view)).failures[0].cause == "node_lost"

    def test_a_worker_that_the_cluster_no_longer_shows_has_vanished(self) -> None:
        found = fact(step(Life().running(), View(workers=(worker("worker-0"),))))
        assert [x.worker for x in found.failures] == ["worker-1"]

    @pytest.mark.parametrize(("late", "over"), [(-0.001, False), (0, True)])
    def test_ends_at_the_maximum_run_time(self, late: float, over: bool) -> None:
        life = Life(spec(max_runtime_s=60)).running()
        due = life.state.deadlines[DeadlineKind.RUN] + timedelta(seconds=late)
        assert isinstance(next_step(life.state, both(), due), Record) is over

    def test_a_rayjob_ends_with_its_head(self) -> None:
        job = spec(type="RayJob", resource={"type": "reserved", "replicas": 1})
        life = Life(job).running(placement={"n1": ("head-0", "worker-0")})
        head = Worker(attempt=1, name="head-0", node="n1", seen=Seen.ENDED, exit_code=0)
        assert fact(step(life, View(workers=(head, worker("worker-0"))))) == f.Succeeded(attempt=1)


def evicted(**more: Any) -> Life:
    return (
        Life(spec(auto_queue=auto_queue()))
        .running()
        .then(f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30, **more))
    )


class TestLeaving:
    def test_tells_kills_and_proves_in_this_order(self) -> None:
        life = evicted()
        assert fact(step(life, both())) == f.Signalled(attempt=1)
        life.then(f.Signalled(attempt=1))
        grace = life.state.deadlines[DeadlineKind.GRACE]
        assert step(life, both()) == Signal(both().workers, grace)
        assert next_step(life.state, both(), grace) == Kill(both().workers)
        released = fact(step(life, View(workers=(ended("worker-0", 143), ended("worker-1", 137)))))
        assert isinstance(released, f.Released)
        assert released.proofs == {"worker-0": "exit 143", "worker-1": "exit 137"}

    def test_is_not_released_while_one_worker_may_run(self) -> None:
        life = evicted().then(f.Signalled(attempt=1))
        view = View(workers=(ended("worker-0", 143), worker("worker-1")))
        assert isinstance(step(life, view), Signal)

    def test_a_fenced_node_is_proof(self) -> None:
        life = evicted().then(f.Signalled(attempt=1))
        view = View(workers=(ended("worker-0", 143), worker("worker-1")), fenced=frozenset({"n2"}))
        assert fact(step(life, view)).proofs["worker-1"] == "node fenced"

    def test_is_overdue_once_when_a_worker_does_not_end(self) -> None:
        life = evicted().then(f.Signalled(attempt=1))
        due = life.state.deadlines[DeadlineKind.RELEASE]
        assert fact(next_step(life.state, both(), due)) == f.ReleaseOverdue(nodes=("n1", "n2"))
        life.then(f.ReleaseOverdue(nodes=("n1", "n2")))
        assert isinstance(next_step(life.state, both(), due), Kill)

    def test_a_success_before_the_signal_is_a_success(self) -> None:
        view = View(workers=(ended("worker-0", 0), ended("worker-1", 0)))
        assert fact(step(evicted(), view)) == f.Succeeded(attempt=1)

    def test_a_zero_after_the_signal_is_no_success(self) -> None:
        view = View(workers=(ended("worker-0", 0), ended("worker-1", 0)))
        assert isinstance(fact(step(evicted().then(f.Signalled(attempt=1)), view)), f.Released)

    def test_a_failure_before_the_signal_is_the_jobs_own(self) -> None:
        view = View(workers=(ended("worker-0", 1), worker("worker-1")))
        assert isinstance(fact(step(evicted(), view)), f.WorkersFailed)

    def test_a_failure_that_was_already_judged_is_not_told_again(self) -> None:
        life = Life(spec(fault_tolerance={"enabled": True})).faulted()
        assert life.state.reason is not None
        life.then(f.ReplacementOrdered(cause=EvictionCause.FAULT, reason=life.state.reason))
        view = View(workers=(ended("worker-0", 1), worker("worker-1")))
        assert fact(step(life, view)) == f.Signalled(attempt=1)

    def test_nothing_launched_is_released_at_once(self) -> None:
        life = Life().placed().then(f.StopRequested(by="ann", request="r2"))
        assert fact(step(life, NOBODY)).proofs == {
            "worker-0": "never launched",
            "worker-1": "never launched",
        }

    def test_a_stop_is_complete_when_everything_is_given_back(self) -> None:
        life = Life().running().then(f.StopRequested(by="ann", request="r2"))
        life.then(f.Signalled(attempt=1), f.Released(attempt=1))
        assert fact(step(life, NOBODY)) == f.Stopped()
        assert life.then(f.Stopped()).state.phase is Phase.STOPPED


class TestAfterwards:
    def test_a_failed_gang_is_torn_down_whole(self) -> None:
        life = Life().faulted()
        assert life.state.reason is not None
        life.then(f.Failed(reason=life.state.reason))
        view = View(workers=(ended("worker-0", 1), worker("worker-1")))
        assert fact(step(life, view)) == f.Signalled(attempt=1)
        life.then(f.Signalled(attempt=1))
        assert isinstance(step(life, view), Signal)
        assert isinstance(step(life, view, after=31), Kill)
        done = View(workers=(ended("worker-0", 1), ended("worker-1", 143)))
        assert isinstance(fact(step(life, done)), f.Released)

    def test_records_are_dropped_when_the_log_has_everything(self) -> None:
        life = Life().running().then(f.Succeeded(attempt=1), f.Released(attempt=1))
        done = (ended("worker-0", 0), ended("worker-1", 0))
        assert step(life, View(workers=done)) == Forget(done)
        assert step(life, NOBODY) is None

    def test_a_worker_that_should_not_be_there_is_killed(self) -> None:
        life = evicted().then(f.Signalled(attempt=1), f.Released(attempt=1))
        stray = worker("worker-0")
        assert step(life, View(workers=(stray,))) == Kill((stray,))

    @pytest.mark.parametrize(("late", "over"), [(-0.001, False), (0, True)])
    def test_a_debug_hold_ends_in_time(self, late: float, over: bool) -> None:
        job = spec(
            type="RayJob",
            resource={"type": "reserved", "replicas": 1},
            debug={"enabled": True, "hold_seconds": 60},
        )
        life = Life(job).running(placement={"n1": ("head-0", "worker-0")})
        life.then(f.Succeeded(attempt=1))
        assert life.state.phase is Phase.DEBUG_HOLDING
        due = life.state.deadlines[DeadlineKind.HOLD] + timedelta(seconds=late)
        assert isinstance(next_step(life.state, both(), due), Record) is over

    def test_a_faulted_job_is_left_to_its_judge(self) -> None:
        assert step(Life().faulted(), both()) is None


class TestOutlived:
    """A worker of an attempt before that is seen to run, though its node was declared fenced."""

    def beside(self, life: Life, *, fenced: bool = True) -> View:
        old = worker("worker-0", attempt=1)
        now = tuple(worker(name, attempt=2) for name in ("worker-0", "worker-1"))
        present = now if life.state.launched else ()
        return View(workers=(old, *present), fenced=frozenset({"n1"} if fenced else ()))

    def again(self) -> Life:
        life = evicted().then(f.Signalled(attempt=1), f.Released(attempt=1))
        life.then(f.Requeued(cause=EvictionCause.SPOT_RECLAIM, counted=True))
        return life.then(f.Scheduled(placement={"n2": ("worker-0",), "n3": ("worker-1",)}))

    def test_is_killed_and_waited_for_as_long_as_a_grace(self) -> None:
        life = self.again()
        assert isinstance(step(life, self.beside(life)), Kill)
        late = life.state.demand.grace_s
        assert isinstance(step(life, self.beside(life), after=late - 0.001), Kill)
        assert fact(step(life, self.beside(life), after=late)) == f.Launching(attempt=2)
        assert isinstance(step(life, self.beside(life, fenced=False), after=late), Kill)

    def test_is_killed_beside_a_running_attempt_without_holding_it_up(self) -> None:
        life = self.again().then(f.Launching(attempt=2))
        assert fact(step(life, self.beside(life))) == f.Started(attempt=2)
        life.then(f.Started(attempt=2))
        found = step(life, self.beside(life))
        assert isinstance(found, Kill)
        assert [w.attempt for w in found.workers] == [1]

    def test_is_killed_when_its_job_holds_nothing(self) -> None:
        life = evicted().then(f.Signalled(attempt=1), f.Released(attempt=1))
        view = View(workers=(worker("worker-0"),), fenced=frozenset({"n1"}))
        assert isinstance(step(life, view), Kill)

    def test_a_later_attempt_is_never_touched_by_an_old_view(self) -> None:
        life = evicted().then(f.Signalled(attempt=1), f.Released(attempt=1))
        assert step(life, View(workers=(worker("worker-0", attempt=2),))) is None


def test_the_outcome_of_a_hold_stands_though_the_head_ends_well() -> None:
    job = spec(
        type="RayJob",
        resource={"type": "reserved", "replicas": 1},
        debug={"enabled": True, "hold_seconds": 60},
    )
    life = Life(job).running(placement={"n1": ("head-0", "worker-0")})
    failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
    life.then(f.WorkersFailed(attempt=1, failures=(failure,)))
    assert life.state.reason is not None
    life.then(f.Failed(reason=life.state.reason), f.StopRequested(by="ann", request="r2"))
    head = Worker(attempt=1, name="head-0", node="n1", seen=Seen.ENDED, exit_code=0)
    found = fact(step(life, View(workers=(head, ended("worker-0", 1)))))
    assert isinstance(found, f.Released)
