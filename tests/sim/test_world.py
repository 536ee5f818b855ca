"""What a world promises to those who test in it: deliveries, crashes, time, and late effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from muster.bus import NobodyAnswers, Question, Responder, Subscription, Trigger
from muster.bus.topology import REQUEUE_ALARMS, REQUEUE_JOBS, SCHEDULER_QUERIES
from muster.cli.simulation.installation import Installation, install
from muster.cli.simulation.services import service_plans
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.contracts.events import job_event
from muster.domain.edges import Owner
from muster.domain.errors import Conflict, Permanent, Temporary
from muster.domain.facts import Admitted
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState
from muster.runtime.service import Loop, Runtime, Service
from muster.testing.cluster import Script, SimCluster, shape
from muster.testing.durables import DELIVERIES
from muster.testing.faults import CALM
from muster.testing.gates import ProcessDied, ProcessHooks
from muster.testing.process import Process, ServicePlan
from muster.testing.steady import advance, settle
from muster.testing.violation import Violation
from muster.testing.virtual_time import START, VirtualTime
from muster.testing.walk import step
from muster.testing.world import World
from tests.support.lives import Life


@dataclass
class Echo:
    """A service that notes what it gets, and fails as it is told."""

    heard: list[int] = field(default_factory=list)
    rung: list[str] = field(default_factory=list)
    turns: int = 0
    lives: int = 0
    fail: Callable[[Trigger], Exception | None] = lambda trigger: None

    def build(self, runtime: Runtime, hooks: ProcessHooks) -> Service:
        self.lives += 1

        async def on_job(trigger: Trigger) -> None:
            await runtime.log.last(subjects.job_key("acme", "j1"))
            self.heard.append(trigger.delivered)
            error = self.fail(trigger)
            if error is not None:
                raise error

        async def on_alarm(trigger: Trigger) -> None:
            assert trigger.alarm is not None
            self.rung.append(trigger.alarm.kind)

        async def turn() -> None:
            self.turns += 1

        return Service(
            owner=Owner.REQUEUE,
            subscriptions=(
                Subscription(REQUEUE_JOBS, on_job),
                Subscription(REQUEUE_ALARMS, on_alarm),
            ),
            loops=(Loop("turn", turn, 1.0),),
        )


def world_of(echo: Echo, replicas: int = 1) -> World:
    world = World(1, [ServicePlan("echo", echo.build, replicas)])
    settle(world)
    return world


def tell(world: World) -> None:
    """One event that the consumer wants stands in the log."""
    state = Life().queued().state
    event = job_event(state, Admitted(), event_id="e1", source="muster/admission", at=START)
    world.store.put(event.subject, event.to_bytes(), conditioned=True)


@dataclass
class Asking:
    """One service that asks, and one that answers."""

    said: list[bytes] = field(default_factory=list)
    lives: int = 0

    def answerer(self, runtime: Runtime, hooks: ProcessHooks) -> Service:
        self.lives += 1
        life = b"%d" % self.lives

        async def answer(question: Question) -> bytes:
            await runtime.log.last(subjects.job_key("acme", "j1"))
            return life + question.body

        return Service(owner=Owner.SCHEDULER, responders=(Responder(SCHEDULER_QUERIES, answer),))

    def asker(self, runtime: Runtime, hooks: ProcessHooks) -> Service:
        async def turn() -> None:
            try:
                found = await runtime.bus.ask("queries.default.fit", b"?", 1.0)
            except NobodyAnswers:
                found = b"nobody"
            self.said.append(found)

        return Service(owner=Owner.GATEWAY, loops=(Loop("ask", turn, 1.0),))


def test_a_question_is_answered_by_a_replica_that_lives() -> None:
    asking = Asking()
    plans = [ServicePlan("answers", asking.answerer, 2), ServicePlan("asks", asking.asker)]
    world = World(1, plans)
    advance(world, 3)
    assert set(asking.said) == {b"1?"}
    world.kill(world.named("answers-0")[0], away=1000)
    asking.said.clear()
    advance(world, 3)
    assert set(asking.said) == {b"2?"}
    world.kill(world.named("answers-1")[0], away=5)
    asking.said.clear()
    advance(world, 20)
    assert asking.said[0] == b"nobody"
    assert asking.said[-1] == b"3?"


class TestDeliveries:
    def test_a_message_is_handled_once_and_is_done(self) -> None:
        echo = Echo()
        world = world_of(echo)
        tell(world)
        advance(world, 600)
        assert echo.heard == [1]

    @pytest.mark.parametrize("error", [Temporary("away", delay=5), Conflict("raced")])
    def test_what_may_work_later_comes_again_for_ever(self, error: Exception) -> None:
        echo = Echo(fail=lambda trigger: error)
        world = world_of(echo)
        tell(world)
        advance(world, 100)
        assert len(echo.heard) > DELIVERIES
        assert not world.bus.parked

    def test_what_never_works_is_parked_at_once(self) -> None:
        echo = Echo(fail=lambda trigger: Permanent("no"))
        world = world_of(echo)
        tell(world)
        advance(world, 600)
        assert echo.heard == [1]
        (parked,) = world.bus.parked
        assert parked.why == "no"
        echo.fail = lambda trigger: None
        world.bus.replay(parked)
        advance(world, 1)
        assert echo.heard == [1, 1]

    def test_an_error_that_nobody_raises_on_purpose_is_a_fault_found(self) -> None:
        echo = Echo(fail=lambda trigger: ZeroDivisionError())
        world = world_of(echo)
        tell(world)
        with pytest.raises(Violation, match="ZeroDivisionError"):
            settle(world)

    def test_something_unreadable_is_parked_and_the_stream_goes_on(self) -> None:
        echo = Echo()
        world = world_of(echo)
        world.store.put("jobs.acme.j1.admitted", b"{no json")
        tell(world)
        settle(world)
        assert [each.why for each in world.bus.parked] == ["unreadable"]
        assert echo.heard == [1]

    def test_a_lost_acknowledgement_brings_a_message_twice(self) -> None:
        echo = Echo()
        world = world_of(echo)
        world.faults = replace(CALM, lost_acknowledgement=1.0)
        tell(world)
        settle(world)
        world.faults = CALM
        advance(world, REQUEUE_JOBS.ack_wait + 1)
        assert echo.heard == [1, 2]


class TestCrashes:
    def test_a_killed_process_forgets_and_its_message_comes_again(self) -> None:
        echo = Echo()
        world = world_of(echo)
        (process,) = world.processes
        tell(world)
        world.bus.collect()
        (durable, *_) = world.bus.durables.values()
        world.deliver(process, durable, next(durable.ready(0, 1)))
        world.go_on(process, process.tasks[0])
        world.kill(process)
        assert echo.heard == []
        advance(world, REQUEUE_JOBS.ack_wait + 10)
        assert echo.heard == [2]
        assert echo.lives == 2

    def test_nothing_of_a_dead_process_happens_any_more(self) -> None:
        echo = Echo()
        world = world_of(echo)
        (process,) = world.processes
        tell(world)
        world.bus.collect()
        (durable, *_) = world.bus.durables.values()
        world.deliver(process, durable, next(durable.ready(0, 1)))
        task = process.tasks[0]
        world.kill(process)
        with pytest.raises(ProcessDied):
            task.resume()
        assert echo.heard == []


class TestTime:
    def test_an_alarm_rings_at_its_instant_once(self) -> None:
        echo = Echo()
        world = world_of(echo)
        at = world.time.instant(50)
        alarm = Alarm(
            owner=Owner.REQUEUE, kind=DeadlineKind.QUEUE, tenant="t", job="j", version=1, at=at
        )
        world.store.alarms[alarm.waits_on] = alarm
        advance(world, 49)
        assert echo.rung == []
        advance(world, 100)
        assert echo.rung == ["queue"]

    def test_a_step_of_the_servers_clock_takes_no_time(self) -> None:
        world = world_of(Echo())
        before = world.time.now()
        world.time.step_by(3600)
        assert (world.time.now() - before).total_seconds() == 3600
        assert world.time.elapsed == 0
        assert world.time.at(world.time.now()) == 0

    def test_a_process_hears_of_the_step_when_it_asks(self) -> None:
        world = world_of(Echo())
        (process,) = world.processes
        world.time.step_by(3600)
        before = process.clock.now()
        assert process.clock.on_server(before) == before < world.time.now()
        advance(world, 61)
        assert process.clock.now() == before + timedelta(seconds=61)
        assert process.clock.on_server(process.clock.now()) == world.time.now()
        assert process.clock.monotonic() == world.time.elapsed

    def test_loops_rest_while_nothing_happens(self) -> None:
        echo = Echo()
        world = world_of(echo)
        advance(world, 3600)
        assert 100 < echo.turns < 200


# --- an effect that comes when its executor has lost the cluster ------------------------


def _launching(world: World) -> Process | None:
    for process in world.named("executor"):
        for task in process.tasks:
            gate = task.gate
            if gate and (gate.operation, gate.moment) == ("cluster launch", "before"):
                return process
    return None


def _until(world: World, look: Callable[[World], Process | None]) -> Process:
    for _ in range(5000):
        found = look(world)
        if found is not None:
            return found
        step(world)
    raise AssertionError("it never came so far")


def _two_executors() -> Installation:
    def plans(cluster: SimCluster, time: VirtualTime, replicas: int) -> list[ServicePlan]:
        found = service_plans(cluster, time, replicas)
        return [replace(one, replicas=2) if one.name == "executor" else one for one in found]

    installation = install(
        3, {"n1": shape(8)}, lambda who: Script(), faults=replace(CALM, burst=0.0), plans=plans
    )
    installation.world.watchers.clear()  # the late effect breaks I13, for a moment
    return installation


def test_the_late_launch_of_an_executor_that_lost_its_cluster_is_found_and_ended() -> None:
    installation = _two_executors()
    world = installation.world
    spec = {
        "name": "late",
        "image": "i",
        "command": ["run"],
        "resource": {"type": "on_demand", "replicas": 1, "gpus_per_replica": 8},
    }
    job = installation.client.submit("late", spec)
    old = _until(world, _launching)
    old.paused_until = float("inf")
    for other in world.named("executor"):
        if other is not old:
            world.kill(other, 0.0)
    advance(world, 30)
    installation.client.ask("stop", "stop", job=job)
    advance(world, 60)
    state = _last(world, job)
    assert state.phase is Phase.STOPPED
    assert not state.held
    old.paused_until = 0.0
    advance(world, 120)
    assert installation.cluster.started, "the late launch has happened"
    assert not list(installation.cluster.alive()), "and is over"


def _last(world: World, job: str) -> JobState:
    found = [e.event for e in world.store.entries if e.event and f".{job}." in e.subject]
    state = found[-1].data.job
    assert isinstance(state, JobState)
    return state
