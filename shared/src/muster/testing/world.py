"""A world in virtual time: real services on the in-memory log, and every interleaving a choice.

This file holds what exists and what can be done to it: start and kill a process, deliver a message,
turn a loop, ring an alarm, let a coroutine go on to its next gate. Who chooses is elsewhere: chance
(`walk`) or order (`steady`). Watchers look at the world after every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from muster.contracts.alarms import Alarm
from muster.domain.errors import MusterError
from muster.log.memory import LogFault, Store
from muster.testing.dice import Dice
from muster.testing.durables import Delivery, Durable
from muster.testing.faults import CALM, Faults
from muster.testing.gates import Mood, Task
from muster.testing.memory_bus import MemoryBus
from muster.testing.process import Life, Process, ServicePlan, Site, Turning
from muster.testing.violation import Violation
from muster.testing.virtual_time import VirtualTime

IDLE_S = 30.0
"""While nothing happens every loop looks at the world so often, and no more."""
RESTART_S = 5.0
FAILED_LOOP_S = 1.0
SYNCHRONISE_S = 60.0


@dataclass(frozen=True, slots=True)
class Option:
    """Something that may happen next. weight: against the other options."""

    weight: float
    name: str
    act: Callable[[], object]


class Surroundings(Protocol):
    """What surrounds the services: a cluster, users, operators."""

    def options(self, world: World) -> Iterable[Option]:
        """Yield what it may do now in a random walk."""
        ...

    def next_time(self, world: World) -> float | None:
        """Return the true second at which it changes by itself, None if it does not."""
        ...

    def pass_time(self, world: World) -> None:
        """Do by itself what is due now."""
        ...


class Watcher(Protocol):
    """Looks at the world after every step; raises Violation."""

    def look(self, world: World) -> None:
        """Check what is new."""
        ...


class World:
    """See the module. plans: the services; surroundings: everything else that acts."""

    def __init__(
        self,
        seed: int,
        plans: Sequence[ServicePlan],
        *,
        faults: Faults = CALM,
        surroundings: Sequence[Surroundings] = (),
        watchers: Sequence[Watcher] = (),
        state_dir: Path = Path("/nonexistent"),
        time: VirtualTime | None = None,
    ) -> None:
        self.dice = Dice(seed)
        self.faults = faults
        self.time = time or VirtualTime()
        self.store = Store(self.time.now)
        self.bus = MemoryBus(self.store, self.time)
        self.surroundings, self.watchers = list(surroundings), list(watchers)
        self.steps = 0
        self.activity = 0
        self._ids = 0
        self._synchronise_at = SYNCHRONISE_S
        self.mood = Mood()
        self.idle_s = IDLE_S
        site = Site(self.store, self.time, self.bus, self.new_id, state_dir, self.mood)
        self.processes = [
            Process(plan, number, site) for plan in plans for number in range(plan.replicas)
        ]
        for process in self.processes:
            self.boot(process)

    def new_id(self) -> str:
        """Return the next identifier; the same in every run of a seed."""
        self._ids += 1
        return f"id{self._ids:08d}"

    def named(self, name: str) -> list[Process]:
        """Return the replicas of a service, or the one replica of that name."""
        found = [p for p in self.processes if name in {p.name, p.plan.name}]
        if not found:
            raise KeyError(f"no service or replica {name!r} in this world")
        return found

    # --- lives of processes ------------------------------------------------------------------

    def boot(self, process: Process) -> None:
        """Start a process that is down; it works once its `start` has ended."""
        service = process.boot()
        self.activity += 1

        def started(error: Exception | None) -> None:
            if error is None:
                process.life = Life.UP
                return
            self._only_known(f"start of {process.name}", error)
            self.kill(process)

        self._begin(process, Task(f"{process.name} start", service.start, started))

    def kill(self, process: Process, away: float = RESTART_S) -> None:
        """End a process at once, wherever it is. It may be started again after `away` seconds."""
        process.die()
        process.restart_at = self.time.elapsed + away
        self.activity += 1

    def close(self) -> None:
        """End every process; nothing of the world goes on after this."""
        for process in self.processes:
            process.die()

    def _begin(self, process: Process, task: Task) -> None:
        process.tasks.append(task)

    # --- what a process does -----------------------------------------------------------------

    def go_on(self, process: Process, task: Task, answer: LogFault | None = None) -> None:
        """Let a coroutine run to its next gate. answer: how its operation goes; None: by chance."""
        gate = task.gate
        self.steps += 1
        if answer is None:
            asked = gate is not None and gate.moment == "before"
            answer = self.faults.order(gate.operation, self.dice) if gate and asked else None
        before = len(self.store.entries)
        if task.resume(answer or LogFault.NONE) and task in process.tasks:
            process.tasks.remove(task)
        if len(self.store.entries) != before:
            self.activity += 1
            self.bus.collect()
        self.look()

    def deliver(self, process: Process, durable: Durable, delivery: Delivery) -> None:
        """Hand a message to a replica."""
        subscription = process.subscriptions[durable.consumer.durable]
        delivery.delivered += 1
        delivery.busy += 1
        delivery.taken_at = self.time.elapsed
        delivery.silent = lambda: process.paused_until > self.time.elapsed
        self.activity += 1
        trigger = replace(delivery.message, delivered=delivery.delivered)

        def finished(error: Exception | None) -> None:
            self._handled(durable, delivery, error)

        def lost() -> None:
            durable.lose_acknowledgement(delivery, self.time.elapsed)

        name = f"{process.name} {trigger.subject}"
        self._begin(process, Task(name, partial(subscription.handler, trigger), finished, lost))

    def _handled(self, durable: Durable, delivery: Delivery, error: Exception | None) -> None:
        if error is not None:
            self._only_known(f"{durable.consumer.durable} on {delivery.message.subject}", error)
        elif self.dice.chance(self.faults.lost_acknowledgement):
            durable.lose_acknowledgement(delivery, self.time.elapsed)
            return
        parked = durable.settle(delivery, error, self.time.elapsed)
        if parked is not None:
            self.bus.parked.append(parked)

    def turn(self, process: Process, turning: Turning) -> None:
        """Let a loop do one turn."""
        turning.busy = True
        turning.seen, turning.turned_at = self.activity, self.time.elapsed

        def finished(error: Exception | None) -> None:
            turning.busy = False
            turning.due = self.time.elapsed + turning.loop.every
            if error is not None:
                self._only_known(f"loop {turning.loop.name} of {process.name}", error)
                turning.due += FAILED_LOOP_S

        name = f"{process.name} loop {turning.loop.name}"
        self._begin(process, Task(name, turning.loop.step, finished))

    def _only_known(self, where: str, error: Exception) -> None:
        """An error that no service raises on purpose is a fault of the code, found."""
        if not isinstance(error, MusterError):
            raise Violation("I14", f"{where}: {type(error).__name__}: {error}") from error

    def ring(self, alarm: Alarm, *, keep: bool = False) -> None:
        """Deliver an alarm. keep: it will ring once more."""
        if not keep:
            self.bus.take_alarm(alarm)
        self.bus.ring(alarm)
        self.activity += 1

    # --- time ----------------------------------------------------------------------------------

    def pass_by(self, seconds: float) -> None:
        """Let time go on, for the surroundings too."""
        self.time.pass_by(seconds)
        if self.time.elapsed >= self._synchronise_at:
            self._synchronise_at = self.time.elapsed + SYNCHRONISE_S
            for process in self.processes:
                if process.life is not Life.DOWN and process.paused_until <= self.time.elapsed:
                    process.clock.synchronise()
        self.surroundings_catch_up()

    def surroundings_catch_up(self) -> None:
        """Let the surroundings do what is due."""
        for each in self.surroundings:
            each.pass_time(self)
        self.bus.collect()

    def next_times(self) -> list[float]:
        """Return the future true seconds at which something other than a loop is due."""
        now = self.time.elapsed
        times = [self.time.at(alarm.rings_at) for alarm in self.store.alarms.values()]
        for durable in self.bus.durables.values():
            times += durable.next_times()
        times += [p.restart_at for p in self.processes if p.life is Life.DOWN]
        times += [p.paused_until for p in self.processes]
        times += [t for each in self.surroundings if (t := each.next_time(self)) is not None]
        return [time for time in times if time > now]

    # --- after every step ------------------------------------------------------------------------

    def look(self) -> None:
        """Let every watcher look: nothing happens between two looks but one step to one gate."""
        for watcher in self.watchers:
            watcher.look(self)
