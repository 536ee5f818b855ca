"""What is done to a timing-dependent story: told with doubles, in another order, with new leaders.

A twist changes when and how often things happen, never what. The last `then` must hold each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from muster.cli.simulation import scenario_steps as s
from muster.cli.simulation import scenario_watchers as w
from muster.cli.simulation.scenario import Scenario
from muster.cli.simulation.scenario_acts import change_leader
from muster.cli.simulation.scenario_stage import Stage
from muster.testing.process import Life
from muster.testing.world import World

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
    for name, begin in _BEGINNINGS.items():
        yield replace(base, name=name, begin=begin, twice=begin is _double)
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
            world.kill(process, w.AWAY_S)


def _new_leader(world: World) -> None:
    change_leader(world, FROZEN_S)


# --- from second 0 on ----------------------------------------------------------------------------


def _double(stage: Stage) -> None:
    stage.world.watchers += [w.EachEvent(stage.world, w.deliver_twice), w.AlarmsTwice()]


def _newest_first(stage: Stage) -> None:
    stage.world.watchers.append(w.NewestFirst())


def _swap(stage: Stage) -> None:
    stage.world.watchers.append(w.SwapNeighbours())


def _after_each(act: Callable[[World, int], None]) -> Callable[[Stage], None]:
    return lambda stage: stage.world.watchers.append(w.EachEvent(stage.world, act))


def _step(seconds: float, at: float) -> Callable[[Stage], None]:
    def begin(stage: Stage) -> None:
        stage.world.watchers.append(w.Stepper(stage.world.time, stage.zero + at, seconds))

    return begin


_BEGINNINGS: dict[str, Callable[[Stage], None]] = {
    "every request, event and alarm doubled": _double,
    "every consumer reads the newest first": _newest_first,
    "every event is read after the one behind it": _swap,
    "every writer dies after each event it writes": _after_each(w.kill_writer),
    "everything restarts after each event": _after_each(w.restart_everything),
    "another leader after each event": _after_each(w.lead_anew),
}


def steps_in(twist: Twist, steps: Sequence[s.Step]) -> list[tuple[float, int, s.Step]]:
    """Return (second, number, step) as the twist orders them: times stay, what is done moves."""
    return [(steps[place].at, n, steps[n]) for place, n in enumerate(twist.order)]
