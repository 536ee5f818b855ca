"""What is done to a timing-dependent story: told with doubles, in another order, with new leaders.

A twist changes when and how often things happen, never what. The last `then` must hold each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from muster.cli.simulation import scenario_steps as s
from muster.cli.simulation.scenario import Scenario
from muster.cli.simulation.scenario_acts import change_leader, deliver_again, running
from muster.cli.simulation.scenario_stage import Stage
from muster.contracts.subjects import BadSubject, parse
from muster.testing.process import Life
from muster.testing.virtual_time import VirtualTime
from muster.testing.world import World

AWAY_S = 2.0
FROZEN_S = 30.0
AT_ONCE_S = 1.0
"""Two steps no further apart than this might as well come the other way round."""

After = Callable[[Stage, int], None]


def _nothing(stage: Stage, number: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Twist:
    """order: of the steps, by their numbers. begin: at second 0. after: right after a step."""

    name: str
    order: tuple[int, ...]
    begin: Callable[[Stage], None] = lambda stage: None
    after: After = _nothing
    twice: bool = False


def plain(scenario: Scenario) -> Twist:
    """Return the story as it is written."""
    return Twist("as written", tuple(range(len(scenario.when))))


def twists(scenario: Scenario) -> Iterator[Twist]:
    """Yield every twist of a timing-dependent story."""
    if not scenario.timing_dependent:
        return
    base = plain(scenario)
    yield replace(base, name="every request and event doubled", begin=_double, twice=True)
    yield replace(base, name="every consumer reads the newest first", begin=_newest_first)
    yield replace(base, name="every writer dies after each event it writes", begin=_die)
    halfway = max(check.at for check in scenario.then) / 2
    for hour, where in ((3600.0, "ahead"), (-3600.0, "back")):
        name = f"the server's clock steps an hour {where} at {halfway:g}"
        yield replace(base, name=name, begin=_step(hour, halfway))
    if not scenario.keep_order:
        yield from _swaps(scenario, base)
    for number, step in enumerate(scenario.when):
        what = f"{step.do} at {step.at:g}"
        restart, lead = _at(number, _restart), _at(number, _new_leader)
        if not isinstance(step, s.Clock):  # of that step nobody could know who was not up
            yield replace(base, name=f"everything restarts after {what}", after=restart)
        yield replace(base, name=f"another leader after {what}", after=lead)


def _step(seconds: float, at: float) -> Callable[[Stage], None]:
    def begin(stage: Stage) -> None:
        stage.world.watchers.append(_Stepper(stage.world.time, stage.zero + at, seconds))

    return begin


def _swaps(scenario: Scenario, base: Twist) -> Iterator[Twist]:
    for number, (one, other) in enumerate(zip(scenario.when, scenario.when[1:], strict=False)):
        if abs(other.at - one.at) <= AT_ONCE_S:
            order = list(base.order)
            order[number], order[number + 1] = order[number + 1], order[number]
            name = f"{other.do} before {one.do} at {one.at:g}"
            yield replace(base, name=name, order=tuple(order))


def _at(number: int, do: Callable[[World], None]) -> After:
    def after(stage: Stage, here: int) -> None:
        if here == number:
            do(stage.world)

    return after


def _restart(world: World) -> None:
    for process in world.processes:
        if process.life is not Life.DOWN:
            world.kill(process, AWAY_S)


def _new_leader(world: World) -> None:
    change_leader(world, FROZEN_S)


# --- watchers ----------------------------------------------------------------------------------


class _Stepper:
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


class _EachEvent:
    """A watcher that does something for every new event about a job or a node."""

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
        return parse(subject).kind in {"job", "node"}
    except BadSubject:
        return False


def _deliver_twice(world: World, number: int) -> None:
    world.bus.collect()
    if world.store.entries[number].event is not None:
        deliver_again(world, world.store.entries[number])


def _kill_writer(world: World, number: int) -> None:
    for process in world.processes:
        if process.name == running(world) and process.life is not Life.DOWN:
            world.kill(process, AWAY_S)


class _Reverser:
    def look(self, world: World) -> None:
        for durable in world.bus.durables.values():
            if len(durable.open) > 1:
                newest = sorted(durable.open.items(), reverse=True)
                durable.open.clear()
                durable.open.update(newest)


def _double(stage: Stage) -> None:
    stage.world.watchers.append(_EachEvent(stage.world, _deliver_twice))


def _newest_first(stage: Stage) -> None:
    stage.world.watchers.append(_Reverser())


def _die(stage: Stage) -> None:
    stage.world.watchers.append(_EachEvent(stage.world, _kill_writer))


def steps_in(twist: Twist, steps: Sequence[s.Step]) -> list[tuple[float, int, s.Step]]:
    """Return (second, number, step) as the twist orders them: times stay, what is done moves."""
    return [(steps[place].at, n, steps[n]) for place, n in enumerate(twist.order)]
