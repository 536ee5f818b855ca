"""Gangs that need more to leave than one batch can say: wave by wave, and for nothing never."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Eviction, Listed, Snapshot, is_hold
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.small_world import Books, awaited
from tests.scheduler.worlds import POOL, at, node, queued, running

NODES, GPUS = 5, 4
WAVE = 6
"""Events of one round."""


class Pressed:
    """A full pool, a gang that wants most of it, and ever more small jobs that come behind it."""

    def __init__(self, dice: Random, workers: int, limit: int) -> None:
        self.dice, self.now, self.names = dice, 0.0, 0
        self.policy = Policy(max_decisions=WAVE, max_evictions_per_minute=limit)
        self.nodes = {f"n{i}": node(f"n{i}", GPUS) for i in range(NODES)}
        self.books: Books = {}
        self.evictions: list[Eviction] = []
        for name in self.nodes:
            for slot in range(GPUS):
                job = f"{name}-{slot}"
                since = -dice.randint(10, 1000)
                self.books[job] = running(job, [name], gpus=1, since=since, priority=10)
        self.books["gang"] = queued("gang", workers, GPUS, priority=90)

    def round(self) -> Plan:
        """Plan, and let everything in the plan happen."""
        states = [s for s in self.books.values() if s.held or s.phase is Phase.QUEUED]
        jobs = tuple(Listed(state, 1, state.attempt) for state in states)
        made = plan(
            Snapshot(
                pool=POOL,
                now=at(self.now),
                upto=1,
                nodes=tuple(self.nodes.values()),
                jobs=jobs,
                evictions=tuple(self.evictions),
            ),
            self.policy,
        )
        for move in made.moves:
            for decision in move.decisions:
                self.happen(decision.job[1], decision.fact)
        return made

    def happen(self, name: str, fact: f.Fact) -> None:
        """Let one fact happen."""
        if isinstance(fact, f.Preempted) and fact.by is not None:
            when = at(self.now)
            self.evictions.append(Eviction(when, ("t", name), fact.by, fact.cause))
        self.books[name] = evolve(self.books[name], fact, at(self.now))

    def live(self) -> None:
        """Victims leave and queue again, others start, and somebody new comes."""
        self.now += self.dice.choice([1, 15, 40])
        for name, state in sorted(self.books.items()):
            # who is told to leave is gone in time: on who is not, nobody counts
            late = state.phase is Phase.EVICTING and state.since < at(self.now - 40)
            if late or self.dice.random() < 0.7:
                self._go_on(name, state)
        self.names += 1
        kind = self.dice.choice(["on_demand", "idle"])
        self.books[f"s{self.names}"] = queued(
            f"s{self.names}", gpus=1, kind=kind, priority=10, entered=self.now
        )

    def _go_on(self, name: str, state: JobState) -> None:
        if is_hold(state) and not awaited(state, self.books):
            self.happen(name, f.Launching(attempt=state.attempt))
        elif state.phase is Phase.STARTING and state.launched:
            self.happen(name, f.Started(attempt=state.attempt))
        elif state.phase is Phase.EVICTING:
            self.happen(name, f.Released(attempt=state.attempt))
        elif state.phase is Phase.INTERRUPTED and state.eviction is not None:
            self.happen(name, f.Requeued(cause=state.eviction.cause, counted=False))

    @property
    def placed(self) -> bool:
        """Tell whether the gang has its nodes."""
        return bool(self.books["gang"].held)


def told(world: Pressed) -> set[str]:
    """Return who was told to leave for the gang."""
    return {one.victim[1] for one in world.evictions if one.by == "gang"}


@settings(max_examples=8, deadline=None)
@given(st.integers(min_value=0, max_value=2**32), st.sampled_from([3, 4]))
def test_it_ends_placed_and_nobody_has_left_for_nothing(seed: int, workers: int) -> None:
    world = Pressed(Random(seed), workers, limit=10**6)
    for _ in range(40):
        world.round()
        if world.placed:
            break
        world.live()
    assert world.placed
    where = set(world.books["gang"].held)
    assert {name.partition("-")[0] for name in told(world)} == where
    assert len(world.evictions) == len(told(world)) == workers * GPUS


@settings(max_examples=8, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_nobody_gets_the_room_meanwhile_whatever_the_limit(seed: int) -> None:
    world = Pressed(Random(seed), 4, limit=3)
    for _ in range(60):
        kept = world.round().reservation
        if world.placed:
            break
        if told(world) and kept is not None:
            new = [s for s in world.books.values() if s.job.startswith("s") and s.held]
            assert not {node for s in new for node in s.held} & set(kept.shadow.placement)
        world.live()
    assert world.placed
    assert len(told(world)) == len(world.evictions) == 4 * GPUS


def test_nobody_is_told_to_leave_unless_there_is_a_whole_way() -> None:
    world = Pressed(Random(1), 4, limit=10**6)
    for name in ("n0", "n1"):
        sure = running(f"sure-{name}", [name], gpus=1, priority=10, guarantee=True)
        world.books[f"{name}-0"] = sure.model_copy(update={"job": f"{name}-0"})
    made = world.round()
    assert not made.moves
    assert made.verdicts[("t", "gang")].why is Waiting.NO_ROOM


def test_a_wave_is_of_whole_nodes_and_says_for_whom_the_room_is_kept() -> None:
    world = Pressed(Random(1), 4, limit=10**6)
    made = world.round()
    assert (made.preempted, made.scheduled) == (GPUS, 0)
    assert made.reservation is not None
    assert made.verdicts[("t", "gang")].kept is made.reservation
    assert {name.partition("-")[0] for name in told(world)} == {"n0"}


def test_of_a_node_that_is_too_large_for_a_round_a_part_is_told() -> None:
    world = Pressed(Random(1), 4, limit=10**6)
    world.policy = Policy(max_decisions=3)
    assert world.round().preempted == 3
