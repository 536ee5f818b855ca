"""I21: a fresh scheduler, given what stands in the log, decides what the living one would decide.

Looks at real schedulers in a world from outside: what they have folded, and what they would plan
from it, against a fold that begins anew.
"""

from __future__ import annotations

from typing import ClassVar

from muster.log import Recorded, Unreadable
from muster.log.memory import Store, matches
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.cycle.fold import Fold
from muster.scheduler.handlers import Scheduler
from muster.scheduler.stream import FILTERS
from muster.testing.invariants.base import Invariant, Known
from muster.testing.process import Life, Process
from muster.testing.world import World

EVERY = 97
"""Looks between two comparisons; a prime, so that they fall everywhere."""


class FreshDecidesTheSame(Invariant):
    """Compared now and then while a world runs, and once at its end."""

    number: ClassVar[str] = "I21"
    text: ClassVar[str] = (
        "A decision is a function of what stands in the log: a fresh scheduler that reads it from"
        " the start knows, and would decide, what the living one does."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._looks = 0

    def on_step(self, world: World) -> None:
        """Compare one living scheduler with a fresh one."""
        self._looks += 1
        if self._looks % EVERY == 0:
            self.compare(world)

    def at_end(self, world: World) -> None:
        """Compare them all."""
        self.compare(world)

    def compare(self, world: World) -> None:
        """Compare every scheduler that is up with a fresh one at the same place of the log."""
        for process in world.processes:
            living = scheduler_of(process)
            if living is None or any("rounds" in task.name for task in process.tasks):
                continue
            fresh = _read(world.store, living.position)
            self._same(world, process, living.fold, fresh, living.position)

    def _same(
        self, world: World, process: Process, living: Fold, fresh: Fold, position: int
    ) -> None:
        now = world.time.now()
        if living.pools.keys() != fresh.pools.keys():
            raise self.broken(f"{process.name} knows other pools than a fresh one")
        for pool in living.pools:
            both = [fold.pools[pool] for fold in (living, fresh)]
            one, other = (fold.snapshot(now, position, None, frozenset()) for fold in both)
            if one != other:
                raise self.broken(f"{process.name} knows {pool} otherwise than a fresh one")
            if plan(one, Policy()).moves != plan(other, Policy()).moves:
                raise self.broken(f"{process.name} would decide otherwise than a fresh one")


def scheduler_of(process: Process) -> Scheduler | None:
    """Return the scheduler that a process runs, if it runs one and has read something."""
    if process.life is not Life.UP:
        return None
    for turning in process.turning:
        owner = getattr(turning.loop.step, "__self__", None)
        if isinstance(owner, Scheduler) and owner.position:
            return owner
    return None


def _read(store: Store, position: int) -> Fold:
    fold = Fold()
    for entry in store.entries[:position]:
        if not matches(entry.subject, FILTERS):
            continue
        if entry.event is None:
            fold.take(Unreadable(entry.subject, entry.seq, entry.why))
        else:
            fold.take(Recorded(entry.event, entry.seq, entry.at, entry.seq))
    return fold
