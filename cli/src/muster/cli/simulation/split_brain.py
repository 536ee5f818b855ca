"""Two schedulers that both believe to lead: walks in which they take the pool from each other.

They are paused with a batch in hand, read late, hear nothing of what they wrote, and what timed out
may land at any later time. Only the schedulers are real here: jobs live by `lives`. A round is one
batch that one of them sent; the invariants look on at every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from time import perf_counter

from muster.cli.simulation.history import history_of
from muster.cli.simulation.lives import POOL, Lives
from muster.cli.simulation.sameness import scheduler_of
from muster.cli.simulation.walks import be_quiet
from muster.log.memory import LogFault
from muster.runtime.service import Runtime, Service
from muster.scheduler import service as scheduler
from muster.scheduler.cycle.metrics import Outcome as Ended
from muster.scheduler.cycle.metrics import rounds_ended
from muster.scheduler.settings import SchedulerSettings
from muster.testing.cluster import Script, SimCluster, shape
from muster.testing.dice import Dice
from muster.testing.faults import CALM, Faults
from muster.testing.gates import ProcessHooks
from muster.testing.invariants.base import Fold, Invariant, Known
from muster.testing.invariants.capacity import (
    BooksEqualFacts,
    GangsAreWhole,
    NoNodeOverCapacity,
)
from muster.testing.invariants.life import NothingStaleCounts, OneWriter, WholeJobsLeave
from muster.testing.invariants.preemption import GuaranteeIsKept, VictimsAreUseful
from muster.testing.process import Life, Process, ServicePlan
from muster.testing.steady import advance
from muster.testing.violation import Violation
from muster.testing.walk import step
from muster.testing.world import Option, World

ROUNDS_A_WORLD = 50
STEPS_A_ROUND = 400
"""A world in which nothing more is decided has no more rounds to give."""

LOOK_EVERY = 25
CALM_S = 60.0
LATE_LANDS = 0.7
PAUSES_S = (0.3, 1.0, 3.0, 10.0, 40.0)

RIVAL = SchedulerSettings(
    turn_s=0.2, gather_s=0, standby_look_s=0.3, standby_misses=1, checkpoint_s=0
)
"""It loses patience with the other one at the first look."""

WATCHED: tuple[type[Invariant], ...] = (
    NoNodeOverCapacity,
    OneWriter,
    NothingStaleCounts,
    GangsAreWhole,
    WholeJobsLeave,
    GuaranteeIsKept,
    VictimsAreUseful,
    BooksEqualFacts,
)
"""What a second leader could break."""

_BATCHES = (Ended.WRITTEN, Ended.CONFLICT, Ended.UNKNOWN)


@dataclass(frozen=True, slots=True)
class RivalFaults(Faults):
    """late: how likely a write is under way for long, and nobody knows what becomes of it."""

    late: float = 0.0

    def order(self, operation: str, dice: Dice) -> LogFault:
        """See Faults."""
        writes = operation in {"append", "append_all"}
        if writes and dice.chance(self.late):
            return LogFault.LATE
        # not by `super()`: a dataclass with slots is another class than the one it was written in
        return Faults.order(self, operation, dice)


def drawn(dice: Dice) -> RivalFaults:
    """Return a mixture of its own for a seed."""
    return RivalFaults(
        stale=dice.one_of((0.0, 0.1, 0.4)),
        lost_write=dice.one_of((0.0, 0.03)),
        unknown_stored=dice.one_of((0.03, 0.1, 0.2)),
        unknown_lost=dice.one_of((0.0, 0.05)),
        late=dice.one_of((0.05, 0.15, 0.3)),
        lost_timer=0.1,
        lost_acknowledgement=dice.one_of((0.0, 0.15)),
        double_delivery=dice.one_of((0.0, 0.2)),
        lost_alarm=0.1,
        double_alarm=0.1,
        crash=dice.one_of((0.0, 0.05)),
        clock_step=dice.one_of((0.0, 0.03)),
        skew=dice.one_of((0.0, 0.2)),
        burst=dice.one_of((0.3, 0.6, 0.9)),
    )


@dataclass(slots=True)
class Rivals:
    """Surroundings: a scheduler stands still for a while, and what timed out arrives or is lost."""

    landed: int = 0
    refused: int = 0
    lost: int = 0

    def next_time(self, world: World) -> float | None:
        """See Surroundings; chance says when."""
        return None

    def pass_time(self, world: World) -> None:
        """See Surroundings."""

    def options(self, world: World) -> Iterable[Option]:
        """Yield what may go wrong now."""
        rivals = [p for p in world.named("scheduler") if p.life is not Life.DOWN]
        if rivals:
            process = world.dice.one_of(rivals)
            seconds = world.dice.one_of(PAUSES_S)
            act = partial(setattr, process, "paused_until", world.time.elapsed + seconds)
            yield Option(0.5, f"pause {process.name} for {seconds} s", act)
        if world.store.under_way:
            number = world.dice.whole(0, len(world.store.under_way) - 1)
            yield Option(
                0.5, f"write {number} arrives or is lost", partial(self._end, world, number)
            )

    def _end(self, world: World, number: int) -> None:
        if not world.dice.chance(LATE_LANDS):
            world.store.under_way.pop(number)
            self.lost += 1
        elif world.store.land(number):
            world.activity += 1
            self.landed += 1
        else:
            self.refused += 1

    def settle(self, world: World) -> None:
        """Let everything that is still under way arrive."""
        while world.store.under_way:
            self._end(world, 0)


@dataclass(frozen=True, slots=True)
class Counts:
    """What happened. rounds: batches that a scheduler sent; epochs: how often one took the pool.

    late: of all writes that timed out and came later, those that were stored, refused and lost.
    two_leaders: steps at which both believed to lead.
    """

    rounds: int = 0
    written: int = 0
    conflicts: int = 0
    timed_out: int = 0
    epochs: int = 0
    evictions: int = 0
    late_stored: int = 0
    late_refused: int = 0
    late_lost: int = 0
    two_leaders: int = 0
    steps: int = 0
    events: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, n) + getattr(other, n) for n in self.__slots__))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one seed came to."""

    seed: int
    counts: Counts
    seconds: float
    invariant: str = ""
    text: str = ""
    report: tuple[str, ...] = field(default=())

    @property
    def broken(self) -> bool:
        """Whether an invariant did not hold."""
        return bool(self.invariant)


def _rival(runtime: Runtime, hooks: ProcessHooks) -> Service:
    return scheduler.build(runtime, RIVAL)


class Pair:
    """One seed's world: two schedulers, a cluster, and everything that happens to them."""

    def __init__(self, seed: int, only: tuple[type[Invariant], ...] = ()) -> None:
        dice = Dice(seed)
        self.cluster = SimCluster(lambda who: Script(start_s=0.0, stop_s=None, kill_s=None))
        for number in range(dice.whole(2, 4)):
            self.cluster.add(f"n{number}", shape(8))
        known = Known(self.cluster)
        fold = Fold(known, [each(known) for each in only or WATCHED])
        self.rivals, lives = Rivals(), Lives(self.cluster, known)
        plan = ServicePlan("scheduler", _rival, 2)
        self.world = World(seed, [plan], faults=drawn(dice), watchers=[fold])
        self.world.surroundings += [self.rivals, lives]
        self.two = 0
        lives.open(self.world)

    def step(self) -> None:
        """Make one random step."""
        step(self.world)
        self.two += all(_leads(process) for process in self.world.processes)

    def settle(self) -> None:
        """Let what is under way arrive, and both schedulers find out who leads."""
        self.rivals.settle(self.world)
        self.world.look()
        self.world.faults = CALM
        for process in self.world.processes:
            process.paused_until = 0.0
        advance(self.world, CALM_S)


def _leads(process: Process) -> bool:
    living = scheduler_of(process)
    return living is not None and any(
        cycle.leadership.mine is not None for cycle in living.cycles.values()
    )


def split_brain(
    seed: int, rounds: int = ROUNDS_A_WORLD, *, only: tuple[type[Invariant], ...] = ()
) -> Outcome:
    """Walk one seed until so many rounds were sent. only: these invariants instead of all."""
    began, before = perf_counter(), _ended()
    pair, violation = Pair(seed, only), None
    try:
        while _sent(before) < rounds and pair.world.steps < STEPS_A_ROUND * rounds:
            for _ in range(LOOK_EVERY):
                pair.step()
        pair.settle()
    except Violation as error:
        violation = error
    finally:
        pair.world.close()
    return Outcome(
        seed=seed,
        counts=_counted(pair, before),
        seconds=perf_counter() - began,
        invariant=violation.invariant if violation else "",
        text=violation.text if violation else "",
        report=tuple(history_of(pair.world, violation)) if violation else (),
    )


def _ended() -> dict[Ended, int]:
    """Return how many batches of this process have ended in which way so far."""
    ended = rounds_ended(POOL)
    return {each: ended[each] for each in _BATCHES}


def _sent(before: dict[Ended, int]) -> int:
    return sum(_ended().values()) - sum(before.values())


def _counted(pair: Pair, before: dict[Ended, int]) -> Counts:
    now, entries, rivals = _ended(), pair.world.store.entries, pair.rivals
    ended = {each: now[each] - before[each] for each in _BATCHES}
    return Counts(
        rounds=sum(ended.values()),
        written=ended[Ended.WRITTEN],
        conflicts=ended[Ended.CONFLICT],
        timed_out=ended[Ended.UNKNOWN],
        epochs=sum(entry.subject == f"pools.{POOL}.epoch" for entry in entries),
        evictions=sum(entry.subject.endswith(".preempted") for entry in entries),
        late_stored=rivals.landed,
        late_refused=rivals.refused,
        late_lost=rivals.lost,
        two_leaders=pair.two,
        steps=pair.world.steps,
        events=len(entries),
    )


def simulate_split_brain(rounds: int, first: int = 0, *, workers: int = 1) -> Iterator[Outcome]:
    """Walk seeds until so many rounds were sent in all; yields each outcome as it comes."""
    seeds = range(first, first + 10 * rounds)
    sent = 0
    if workers <= 1:
        for seed in seeds:
            yield (outcome := split_brain(seed))
            sent += outcome.counts.rounds
            if sent >= rounds:
                return
    with get_context("spawn").Pool(workers, initializer=be_quiet) as pool:
        for outcome in pool.imap(split_brain, seeds):
            yield outcome
            sent += outcome.counts.rounds
            if sent >= rounds:
                return
