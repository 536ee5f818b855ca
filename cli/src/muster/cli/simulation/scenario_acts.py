"""Carries out the steps of a scenario on its stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from muster.bus import Trigger
from muster.bus.topology import Stream
from muster.cli.simulation import scenario_steps as s
from muster.cli.simulation.scenario_stage import Stage, shape_of
from muster.contracts import subjects
from muster.contracts.alarms import Alarm
from muster.domain.evidence import Scope
from muster.domain.nodes import ForeignUse
from muster.domain.pools import EpochTaken
from muster.log.memory import LogFault, StoredEntry, matches
from muster.testing.cluster import Script, WorkerId
from muster.testing.dice import Dice
from muster.testing.faults import CALM, Faults
from muster.testing.gates import Task
from muster.testing.process import Life, Process
from muster.testing.world import World

Later = Callable[[float, Callable[[], None]], None]
"""Have something done so many seconds from now."""

_OPERATIONS = {
    "cluster": ("cluster",),
    "log": ("append",),
    "database": ("database",),
    "timers": ("timer",),
}


@dataclass(frozen=True, slots=True)
class Absence(Faults):
    """While something is away every operation on it is lost. prefixes: of operations."""

    prefixes: tuple[str, ...] = ()

    def order(self, operation: str, dice: Dice) -> LogFault:
        """See Faults."""
        return LogFault.LOST if operation.startswith(self.prefixes) else LogFault.NONE


def act(stage: Stage, step: s.Step, number: int, later: Later) -> None:
    """Carry one step out; nothing is settled yet. number: of the step, names its request."""
    match step:
        case s.Submit():
            stage.submit(step.job, step.change)
        case s.AskJob():
            request = step.label or f"step-{number}"
            job = stage.ids[step.job]
            stage.client(step.job).ask(step.do, request, job=job, **step.fields)
        case s.AskNode():
            _ask_node(stage, step, number)
        case s.SetShare() | s.Block() | s.SetStock() | s.SetSpot():
            _ask_operator(stage, step, number)
        case s.Machine() | s.Says():
            _machine(stage, step)
        case s.Exit():
            _exit(stage, step)
        case s.Foreign() | s.Leftover() | s.Cleared():
            _strangers(stage, step)
        case s.Again():
            _again(stage, step)
        case s.Publish():
            _publish(stage, step)
        case _:
            _trouble(stage.world, step, later)


def _trouble(world: World, step: s.Step, later: Later) -> None:
    match step:
        case s.Outage():
            _outage(world, step)
        case s.NewLeader():
            change_leader(world, step.seconds)
        case s.Away():
            _away(world, step, later)
        case s.Alarms():
            _alarms(world, step)
        case s.Lost():
            _lose_messages(world)
        case s.Clock():
            _clock(world, step)
        case _:
            raise TypeError(f"no scenario may do {step}")


def _ask_node(stage: Stage, step: s.AskNode, number: int) -> None:
    more = {"notice_s": step.notice} if step.do == "reclaim" else {}
    request = step.label or f"step-{number}"
    if step.do == "fence":
        stage.cluster.power_off(step.node, stage.world.time.elapsed)
    stage.operator().ask(f"{step.do}_node", request, node=step.node, **more)


def _ask_operator(
    stage: Stage, step: s.SetShare | s.Block | s.SetStock | s.SetSpot, number: int
) -> None:
    request = step.label or f"step-{number}"
    match step:
        case s.SetShare():
            share = step.model_dump(include={"gpu_model", "guaranteed", "ceiling"})
            stage.share(request, step.tenant, share)
        case s.Block():
            field = "add" if step.do == "block" else "remove"
            stage.block(request, step.tenant, step.user, {field: list(step.nodes)})
        case s.SetStock():
            item = step.model_dump(include={"gpus", "gpu_model", "zone"})
            stage.operator().ask("set_stock", request, notice_s=step.notice, **item)
        case s.SetSpot():
            who = {"tenant": step.tenant, "enabled": step.enabled}
            stage.operator().ask("set_spot", request, **who)


def _machine(stage: Stage, step: s.Machine | s.Says) -> None:
    cluster, now = stage.cluster, stage.world.time.elapsed
    if isinstance(step, s.Says):
        cluster.say(step.node, step.text, now, Scope(step.scope))
        return
    match step.do:
        case "taken":
            cluster.remove(step.node, now)
        case "cut_off":
            cluster.silence(step.node)
        case "off":
            cluster.power_off(step.node, now)
        case "back":
            cluster.nodes[step.node].reclaim_at = None
            cluster.restore(step.node)
        case "join":
            cluster.add(step.node, shape_of(stage.given.nodes[step.node]))
        case "resize":
            given = shape_of(stage.given.nodes[step.node])
            cluster.add(step.node, given.model_copy(update={"gpus": step.gpus}))
        case "announce":
            end = stage.world.time.now() + timedelta(seconds=step.notice)
            cluster.nodes[step.node].reclaim_at = end


def _strangers(stage: Stage, step: s.Foreign | s.Leftover | s.Cleared) -> None:
    cluster, now = stage.cluster, stage.world.time.elapsed
    match step:
        case s.Foreign():
            use = ForeignUse(gpus=step.gpus, cpus=step.cpus, memory_mib=step.memory_mib)
            cluster.occupy(step.node, use)
        case s.Leftover():
            who = WorkerId(stage.ids[step.of] if step.of else "never-submitted", 0, "worker-0")
            cluster.stray(who, step.node, step.gpus, _ENDLESS, now)
        case s.Cleared():
            for worker in list(cluster.alive(step.node)):
                if worker.stray:
                    cluster.end(worker.id, now, None)


_ENDLESS = Script(start_s=0.0, stop_s=None, kill_s=None)


def _exit(stage: Stage, step: s.Exit) -> None:
    state = stage.job(step.job)
    attempt = state.attempt if state else 0
    for who in list(stage.cluster.workers):
        wanted = WorkerId(stage.ids[step.job], attempt, step.worker)
        every = step.worker == "all" and who[:2] == wanted[:2]
        if who == wanted or every:
            stage.cluster.end(who, stage.world.time.elapsed, step.code)


# --- services ------------------------------------------------------------------------------------


def _chosen(world: World, service: str) -> list[Process]:
    return list(world.processes) if service == "all" else world.named(service)


def _outage(world: World, step: s.Outage) -> None:
    if step.do == "pause_in_work":
        world.watchers.append(_InWork(world, step))
        return
    for process in _chosen(world, step.service):
        if step.do == "crash" and process.life is not Life.DOWN:
            world.kill(process, step.seconds)
        elif step.do == "pause":
            _freeze(world, process, step.seconds)


def _freeze(world: World, process: Process, seconds: float) -> None:
    process.paused_until = world.time.elapsed + seconds


class _InWork:
    """A watcher that freezes a replica which is about to write what a message calls for; once."""

    def __init__(self, world: World, step: s.Outage) -> None:
        self._step = step
        world.mood.hurried = False

    def look(self, world: World) -> None:
        """See Watcher."""
        for process in _chosen(world, self._step.service):
            if any(_about_to_write(task) for task in process.tasks):
                _freeze(world, process, self._step.seconds)
                world.watchers.remove(self)
                world.mood.hurried = True
                return


def _about_to_write(task: Task) -> bool:
    gate, job = task.gate, task.name.partition(" ")[2]
    writes = gate is not None and gate.moment == "before" and gate.operation.startswith("append")
    return writes and not job.startswith(("loop", "start"))


def leader(world: World) -> Process:
    """Return the scheduler that may decide now: the one that wrote the newest epoch."""
    for process in world.named("scheduler"):
        if process.name == _Writers.of(world).epoch_by:
            return process
    return world.named("scheduler")[0]


def change_leader(world: World, seconds: float) -> None:
    """Freeze the leader, and start the other one afresh, which then takes the epoch at once."""
    old = leader(world)
    _freeze(world, old, seconds)
    for process in world.named("scheduler"):
        if process is not old and process.life is not Life.DOWN:
            world.kill(process, 0.0)
            process.paused_until = 0.0


class _Writers:
    """A watcher that notes which process wrote the newest epoch."""

    def __init__(self) -> None:
        self.epoch_by = ""
        self._read = 0

    @classmethod
    def of(cls, world: World) -> _Writers:
        """Return the world's watcher of this kind."""
        return next(each for each in world.watchers if isinstance(each, cls))

    def look(self, world: World) -> None:
        """See Watcher."""
        for entry in world.store.entries[self._read :]:
            if entry.event is not None and isinstance(entry.event.data.detail, EpochTaken):
                self.epoch_by = running(world)
        self._read = len(world.store.entries)


class _Armed:
    """A watcher that notes every alarm that was ever armed."""

    def __init__(self) -> None:
        self.alarms: dict[str, Alarm] = {}

    @classmethod
    def of(cls, world: World) -> _Armed:
        """Return the world's watcher of this kind."""
        return next(each for each in world.watchers if isinstance(each, cls))

    def look(self, world: World) -> None:
        """See Watcher."""
        for alarm in world.store.alarms.values():
            self.alarms[alarm.model_dump_json()] = alarm


def watch(world: World) -> None:
    """Begin to note who leads, and what is armed."""
    world.watchers += [_Writers(), _Armed()]


def running(world: World) -> str:
    """Return the name of the process whose coroutine went on last."""
    return world.dice.choices[-1].partition(" ")[0] if world.dice.choices else ""


def _away(world: World, step: s.Away, later: Later) -> None:
    world.faults = Absence(prefixes=_OPERATIONS[step.what])
    world.mood.hurried = False

    def back() -> None:
        world.faults, world.mood.hurried = CALM, True

    later(step.seconds, back)


# --- messages ------------------------------------------------------------------------------------


def _again(stage: Stage, step: s.Again) -> None:
    entries = [e for e in stage.entries(step.job) if e.event is not None]
    if step.event is not None:
        entries = [e for e in entries if e.subject.endswith(f".{step.event}")]
    for entry in entries if step.do == "replay" else entries[-1:]:
        deliver_again(stage.world, entry)


def deliver_again(world: World, entry: StoredEntry) -> None:
    """Deliver an event once more to every consumer that listens to it."""
    trigger = Trigger(entry.subject, entry.seq, entry.at, 0, entry.body, event=entry.event)
    for durable in world.bus.durables.values():
        consumer = durable.consumer
        wanted = not consumer.filters or matches(entry.subject, consumer.filters)
        if consumer.stream is Stream.EVENTS and wanted:
            durable.add(trigger)


def _alarms(world: World, step: s.Alarms) -> None:
    if step.do == "lose_alarms":
        world.store.alarms.clear()
        return
    old = step.do == "ring_old"
    for alarm in list((_Armed.of(world).alarms if old else world.store.alarms).values()):
        world.ring(alarm, keep=True)


def _lose_messages(world: World) -> None:
    world.bus.collect()
    for durable in world.bus.durables.values():
        if durable.consumer.stream is Stream.REQUESTS:
            continue
        for serial, delivery in list(durable.open.items()):
            if not delivery.busy:
                del durable.open[serial]


def _clock(world: World, step: s.Clock) -> None:
    if step.service is None:
        world.time.step_by(step.seconds)
        return
    for process in _chosen(world, step.service):
        process.clock.skew = step.seconds


def _publish(stage: Stage, step: s.Publish) -> None:
    world = stage.world
    if step.job is None:
        world.bus.publish(subjects.request_subject("acme", step.verb), step.body.encode())
        return
    tenant = stage.jobs[step.job].tenant
    world.store.put(f"jobs.{tenant}.{stage.ids[step.job]}.{step.event}", step.body.encode())
    world.bus.collect()
