"""One random step of a world: what may happen now, by weight, and one of it happens.

Ordinary choices go on with the work; faults come beside them as often as the world's `Faults` say.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from muster.contracts.alarms import Alarm
from muster.testing.durables import Delivery, Durable
from muster.testing.gates import Task
from muster.testing.process import Life, Process
from muster.testing.world import Option, World

RUN_WEIGHT = 6.0
DELIVER_WEIGHT = 4.0
TURN_WEIGHT = 3.0
IDLE_TURN_WEIGHT = 0.5
RING_WEIGHT = 1.0
TIME_WEIGHT = 1.0
BOOT_WEIGHT = 3.0


def step(world: World) -> None:
    """Make one choice and carry it out."""
    options = _options(world)
    option = world.dice.weighted(options, [each.weight for each in options])
    world.dice.note(option.name)
    world.steps += 1
    option.act()
    world.bus.collect()
    world.look()


def _options(world: World) -> list[Option]:
    options = [Option(TIME_WEIGHT, "time passes", partial(_pass_time, world))]
    awake = [p for p in world.processes if p.paused_until <= world.time.elapsed]
    up = [p for p in awake if p.life is Life.UP]
    _add_runs(world, awake, options)
    _add_deliveries(world, up, options)
    _add_turns(world, up, options)
    _add_alarms(world, options)
    _add_lives(world, options)
    _add_faults(world, options)
    for each in world.surroundings:
        options.extend(each.options(world))
    return options


# --- the work goes on -------------------------------------------------------------------


def _add_runs(world: World, awake: list[Process], options: list[Option]) -> None:
    tasks = [(p, t) for p in awake for t in p.tasks if not t.blocked]
    if tasks:
        process, task = world.dice.one_of(tasks)
        options.append(Option(RUN_WEIGHT, task.name, partial(_run, world, process, task)))


def _run(world: World, process: Process, task: Task) -> None:
    world.go_on(process, task)
    while task in process.tasks and not task.blocked and world.dice.chance(world.faults.burst):
        world.go_on(process, task)


def _add_deliveries(world: World, up: list[Process], options: list[Option]) -> None:
    found: list[tuple[Durable, Delivery, list[Process]]] = []
    for durable in world.bus.durables.values():
        if not durable.open:
            continue
        takers = [p for p in up if durable.consumer.durable in p.subscriptions]
        if takers:
            ready = durable.ready(world.time.elapsed, len(takers))
            found.extend((durable, delivery, takers) for delivery in ready)
    if found:
        durable, delivery, takers = world.dice.one_of(found)
        process = world.dice.one_of(takers)
        act = partial(_deliver, world, process, durable, delivery)
        options.append(Option(DELIVER_WEIGHT, f"deliver {delivery.message.subject}", act))


def _deliver(world: World, process: Process, durable: Durable, delivery: Delivery) -> None:
    if world.dice.chance(world.faults.double_delivery):
        durable.add(delivery.message)
    world.deliver(process, durable, delivery)


def _add_turns(world: World, up: list[Process], options: list[Option]) -> None:
    now = world.time.elapsed
    due = [(p, t) for p in up for t in p.turning if not t.busy and t.due <= now]
    eager = [(p, t) for p, t in due if t.seen != world.activity]
    for weight, some in ((TURN_WEIGHT, eager), (IDLE_TURN_WEIGHT, due)):
        if some:
            process, turning = world.dice.one_of(some)
            name = f"turn {process.name} {turning.loop.name}"
            options.append(Option(weight, name, partial(world.turn, process, turning)))


def _add_alarms(world: World, options: list[Option]) -> None:
    due = world.bus.due_alarms()
    if due:
        alarm = world.dice.one_of(due)
        options.append(Option(RING_WEIGHT, f"ring {alarm.rings_on}", partial(_ring, world, alarm)))
    if world.faults.early_alarm and world.store.alarms:
        early = world.dice.one_of(list(world.store.alarms.values()))
        act = partial(world.ring, early, keep=True)
        options.append(Option(world.faults.early_alarm, f"ring early {early.rings_on}", act))


def _ring(world: World, alarm: Alarm) -> None:
    if world.dice.chance(world.faults.lost_alarm):
        world.bus.take_alarm(alarm)
        return
    world.ring(alarm, keep=world.dice.chance(world.faults.double_alarm))


# --- time -------------------------------------------------------------------------------


def _pass_time(world: World) -> None:
    world.pass_by(_how_long(world))


def _how_long(world: World) -> float:
    dice = world.dice
    if any(p.tasks for p in world.processes):
        return dice.between(0.001, 40.0 if dice.chance(0.05) else 1.5)
    times = world.next_times()
    if times and dice.chance(0.6):
        at = min(times) if dice.chance(0.7) else dice.one_of(times)
        return at - world.time.elapsed + dice.one_of((0.0, 0.0, 0.5, 3.0))
    return dice.between(0.1, dice.one_of((2.0, 30.0, 300.0)))


# --- what goes wrong --------------------------------------------------------------------


def _add_lives(world: World, options: list[Option]) -> None:
    options.extend(
        Option(BOOT_WEIGHT, f"boot {process.name}", partial(world.boot, process))
        for process in world.processes
        if process.life is Life.DOWN and process.restart_at <= world.time.elapsed
    )


def _add_faults(world: World, options: list[Option]) -> None:
    faults, dice = world.faults, world.dice
    process = dice.one_of(world.processes)
    chances: list[tuple[float, str, Callable[[], object]]] = [
        (faults.pause, f"pause {process.name}", partial(_pause, world, process)),
        (faults.clock_step, "the server's clock steps", partial(_step_clock, world)),
        (faults.skew, f"skew {process.name}", partial(_skew, world, process)),
        (faults.poison, "poison", partial(_poison, world)),
    ]
    if process.life is not Life.DOWN:
        chances.append((faults.crash, f"crash {process.name}", partial(_crash, world, process)))
    options.extend(Option(weight, name, act) for weight, name, act in chances if weight > 0)


def _crash(world: World, process: Process) -> None:
    world.kill(process, world.dice.one_of((0.0, 1.0, 20.0, 300.0)))


def _pause(world: World, process: Process) -> None:
    """A virtual machine that stands still: its coroutines go on later with what they knew."""
    process.paused_until = world.time.elapsed + world.dice.one_of((1.0, 20.0, 100.0))


def _step_clock(world: World) -> None:
    world.time.step_by(world.dice.one_of((-3600.0, -30.0, 30.0, 3600.0)))


def _skew(world: World, process: Process) -> None:
    process.clock.skew = world.dice.between(-3.0, 3.0)


def _poison(world: World) -> None:
    """A foreign message stands on a job's subject: nonsense, or an old event once more."""
    entries = [e for e in world.store.entries if e.event and e.subject.startswith("jobs.")]
    if not entries:
        return
    entry = world.dice.one_of(entries)
    if world.dice.chance(0.5):
        world.store.put(entry.subject, entry.body)
    else:
        world.store.put(f"{entry.subject.rpartition('.')[0]}.scribbled", b"{not json")
