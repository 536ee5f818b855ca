"""Tells one scenario: real services on the in-memory log, in virtual time, and compares."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from muster.cli.simulation import scenario_steps as s
from muster.cli.simulation.history import history_of
from muster.cli.simulation.scenario import Scenario
from muster.cli.simulation.scenario_acts import act, watch
from muster.cli.simulation.scenario_compare import differences
from muster.cli.simulation.scenario_stage import Stage
from muster.cli.simulation.scenario_then import Check
from muster.cli.simulation.scenario_twists import Twist, plain, steps_in, twists
from muster.testing.steady import advance, settle
from muster.testing.violation import Violation

PATIENCE_S = 90.0
"""After a twist the last `then` may hold so much later."""

_REQUESTS = (s.Submit, s.AskJob, s.AskNode, s.SetShare, s.Block)


class Differs(AssertionError):
    """The world is not as the scenario says; the text names both and shows what happened."""


@dataclass(order=True)
class _Due:
    at: float
    number: int
    do: Callable[[], None] = field(compare=False)
    check: bool = field(compare=False, default=False)


class _Telling:
    """One telling of one scenario under one twist."""

    def __init__(self, scenario: Scenario, twist: Twist) -> None:
        self._scenario, self._twist = scenario, twist
        self.stage = Stage(scenario.given)
        watch(self.stage.world)
        self._due: list[_Due] = []
        self._numbers = count()

    def tell(self) -> None:
        """Set up, carry out, compare."""
        self.stage.set_up()
        self._twist.begin(self.stage)
        for at, number, step in steps_in(self._twist, self._scenario.when):
            self._at(at, partial(self._act, number, step))
        written = self._twist == plain(self._scenario)
        checks = sorted(self._scenario.then, key=lambda check: check.at)
        for check in checks if written else checks[-1:]:
            self._at(check.at, partial(self._check, check, 0.0 if written else PATIENCE_S))
        while self._due:
            due = heapq.heappop(self._due)
            self._advance_to(due.at)
            due.do()

    def _at(self, at: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._due, _Due(at, next(self._numbers), do))

    def _advance_to(self, at: float) -> None:
        world = self.stage.world
        left = self.stage.zero + at - world.time.elapsed
        if left > 0:
            advance(world, left)

    def _act(self, number: int, step: s.Step) -> None:
        for _ in range(2 if self._twist.twice and isinstance(step, _REQUESTS) else 1):
            act(self.stage, step, number, self._later)
        self._twist.after(self.stage, number)

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        self._at(self.stage.world.time.elapsed - self.stage.zero + seconds, do)

    def _check(self, check: Check, patience: float) -> None:
        world = self.stage.world
        settle(world)
        if patience and differences(self.stage, check, patience):
            as_wanted = partial(differences, self.stage, check, patience)
            advance(world, patience, until=lambda world: not as_wanted())
        found = differences(self.stage, check, patience)
        if found:
            raise Differs(f"at second {check.at:g}:\n" + "\n".join(f"  {line}" for line in found))


def tell(scenario: Scenario, twist: Twist | None = None) -> None:
    """Tell a scenario once. Raises Differs or Violation, with what happened."""
    twist = twist or plain(scenario)
    telling = _Telling(scenario, twist)
    world = telling.stage.world
    try:
        telling.tell()
    except AssertionError as error:
        broken = error if isinstance(error, Violation) else Violation("", "")
        happened = "\n".join(_named(telling.stage, line) for line in history_of(world, broken))
        raise Differs(f"{scenario.title} ({twist.name})\n{error}\n{happened}") from error
    finally:
        world.close()


def _named(stage: Stage, line: str) -> str:
    for name, identity in stage.ids.items():
        line = line.replace(identity, name)
    return line


def tellings(scenario: Scenario) -> Iterator[Twist]:
    """Yield every way in which a scenario is told."""
    yield plain(scenario)
    yield from twists(scenario)
