"""What happens to every event of a story that is twisted: doubled, swapped, followed by a death.

Watchers of a world, put up by `scenario_twists`. None of them changes what is written.
"""

from __future__ import annotations

from collections.abc import Callable

from muster.bus.topology import Stream
from muster.cli.simulation.scenario_acts import change_leader, deliver_again, running
from muster.contracts.subjects import BadSubject, parse
from muster.testing.durables import Delivery, Durable
from muster.testing.process import Life
from muster.testing.virtual_time import VirtualTime
from muster.testing.world import World

AWAY_S = 2.0
BRIEFLY_S = 1.0
"""So long is everybody away where it happens after each event of a story."""
HELD_S = 3.0
"""So long at most does an event wait for the one behind it, to be read after it."""

_FACTS = frozenset({"job", "node", "tenant"})


class EachEvent:
    """Does something for every new event about a job, a node or a tenant."""

    def __init__(self, world: World, act: Callable[[World, int], None]) -> None:
        self._read, self._act = len(world.store.entries), act

    def look(self, world: World) -> None:
        """See Watcher."""
        entries = world.store.entries
        while self._read < len(entries):
            number, self._read = self._read, self._read + 1
            if _about(entries[number].subject):
                self._act(world, number)


def _about(subject: str) -> bool:
    try:
        return parse(subject).kind in _FACTS
    except BadSubject:
        return False


def deliver_twice(world: World, number: int) -> None:
    """Deliver an event once more."""
    world.bus.collect()
    if world.store.entries[number].event is not None:
        deliver_again(world, world.store.entries[number])


def kill_writer(world: World, number: int) -> None:
    """End the process that has just written; it does not know that it has."""
    for process in world.processes:
        if process.name == running(world) and process.life is not Life.DOWN:
            world.kill(process, AWAY_S)


def restart_everything(world: World, number: int) -> None:
    """End every process, whatever it is in the middle of."""
    for process in world.processes:
        if process.life is not Life.DOWN:
            world.kill(process, BRIEFLY_S)


def lead_anew(world: World, number: int) -> None:
    """Freeze the leading scheduler for a moment; the other one leads."""
    change_leader(world, BRIEFLY_S)


class AlarmsTwice:
    """Every alarm that rings rings once more."""

    def __init__(self) -> None:
        self._rung: set[int] = set()

    def look(self, world: World) -> None:
        """See Watcher."""
        for durable in _of_stream(world, Stream.TIMERS):
            for delivery in list(durable.open.values()):
                if delivery.message.seq not in self._rung:
                    self._rung.add(delivery.message.seq)
                    durable.add(delivery.message)


class NewestFirst:
    """Every consumer reads the newest of the messages that wait for it."""

    def look(self, world: World) -> None:
        """See Watcher."""
        for durable in world.bus.durables.values():
            if len(durable.open) > 1:
                newest = sorted(durable.open.items(), reverse=True)
                durable.open.clear()
                durable.open.update(newest)


class SwapNeighbours:
    """Every consumer reads each second event after the one behind it."""

    def __init__(self) -> None:
        self._held: dict[str, Delivery] = {}
        self._seen: dict[str, int] = {}

    def look(self, world: World) -> None:
        """See Watcher."""
        for durable in _of_stream(world, Stream.EVENTS):
            name = durable.consumer.durable
            new = [serial for serial in durable.open if serial > self._seen.get(name, 0)]
            for serial in sorted(new):
                self._seen[name] = serial
                self._take(durable, name, serial, world.time.elapsed)

    def _take(self, durable: Durable, name: str, serial: int, now: float) -> None:
        held = self._held.pop(name, None)
        if held is None:
            self._held[name] = durable.open[serial]
            durable.open[serial].not_before = now + HELD_S
        elif not held.settled and not held.busy:
            for place, delivery in list(durable.open.items()):
                if delivery is held:
                    del durable.open[place]
                    durable.open[place] = held
            held.not_before = now


class Stepper:
    """Moves the server's clock once, at the first step of the world after a true second.

    Not while nothing is up: nobody could know of it afterwards.
    """

    def __init__(self, time: VirtualTime, second: float, by: float) -> None:
        self._time, self._second, self._by = time, second, by

    def look(self, world: World) -> None:
        """See Watcher."""
        up = any(process.life is Life.UP for process in world.processes)
        if up and self._by and self._time.elapsed >= self._second:
            self._time.step_by(self._by)
            self._by = 0.0


def _of_stream(world: World, stream: Stream) -> list[Durable]:
    return [each for each in world.bus.durables.values() if each.consumer.stream is stream]
