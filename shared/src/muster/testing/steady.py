"""Going on without chance: everything that can happen at an instant happens, then time jumps.

For scenarios, and for the end of a random walk, when faults have stopped and the world must come to
rest. One coroutine runs to its end before the next begins.
"""

from __future__ import annotations

from collections.abc import Callable

from muster.testing.process import Life, Process, Turning
from muster.testing.violation import Violation
from muster.testing.world import World

AT_ONE_INSTANT = 20_000
"""More steps than this without time passing is work that makes itself."""


def settle(world: World) -> None:
    """Go on until nothing more can happen at this instant."""
    world.surroundings_catch_up()
    world.bus.collect()
    for _ in range(AT_ONE_INSTANT):
        if not _anything(world):
            return
        world.look()
    raise Violation("I14", "the world does not come to rest although no time passes")


def _anything(world: World) -> bool:
    return any(kind(world) for kind in (_run, _boot, _ring, _deliver, _turn))


def _awake(world: World) -> list[Process]:
    return [p for p in world.processes if p.paused_until <= world.time.elapsed]


def _run(world: World) -> bool:
    for process in _awake(world):
        for task in process.tasks:
            if not task.blocked:
                world.dice.note(task.name)
                _to_its_end(world, process, len(process.tasks), process.tasks.index(task))
                return True
    return False


def _to_its_end(world: World, process: Process, count: int, index: int) -> None:
    task = process.tasks[index]
    while task in process.tasks and not task.blocked and process in _awake(world):
        world.go_on(process, task)


def _boot(world: World) -> bool:
    for process in world.processes:
        if process.life is Life.DOWN and process.restart_at <= world.time.elapsed:
            world.boot(process)
            return True
    return False


def _ring(world: World) -> bool:
    due = world.bus.due_alarms()
    if due:
        world.ring(due[0])
    return bool(due)


def _deliver(world: World) -> bool:
    up = [p for p in _awake(world) if p.life is Life.UP]
    for durable in world.bus.durables.values():
        if not durable.open:
            continue
        name = durable.consumer.durable
        takers = [p for p in up if name in p.subscriptions]
        if not takers:
            continue
        delivery = next(durable.ready(world.time.elapsed, len(takers)), None)
        if delivery is not None:
            turn = delivery.message.seq + delivery.delivered
            world.deliver(takers[turn % len(takers)], durable, delivery)
            return True
    return False


def _turn(world: World) -> bool:
    for process in _awake(world):
        if process.life is not Life.UP:
            continue
        for turning in process.turning:
            if not turning.busy and _due(world, turning) <= world.time.elapsed:
                world.turn(process, turning)
                return True
    return False


def _due(world: World, turning: Turning) -> float:
    """A loop that has seen everything may wait longer than it would; late turns are allowed."""
    if turning.seen != world.activity:
        return turning.due
    return max(turning.due, turning.turned_at + world.idle_s)


def advance(world: World, seconds: float, until: Callable[[World], bool] | None = None) -> None:
    """Settle, and go on so for some seconds, or until the world looks as asked."""
    end = world.time.elapsed + seconds
    settle(world)
    while world.time.elapsed < end and not (until and until(world)):
        world.pass_by(min(end, _next(world)) - world.time.elapsed)
        settle(world)


def _next(world: World) -> float:
    """Return the true second of the next thing to do; loops that see nothing new may wait."""
    now = world.time.elapsed
    up = [p for p in world.processes if p.life is Life.UP]
    loops = [due for p in up for t in p.turning if not t.busy and (due := _due(world, t)) > now]
    return min([*loops, *world.next_times()], default=now + world.idle_s)
