"""A small pool that lives: rounds are planned and carried out, jobs launch, leave, end and arrive.

Knows nothing of the board: what must hold is found by looking at every state that can follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from random import Random
from typing import Any

from muster.domain import facts as f
from muster.domain.evolve import evolve
from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Listed, Snapshot, is_hold
from muster.scheduler.core.verdicts import Plan
from tests.scheduler.worlds import POOL, at, node, queued, role

Books = dict[str, JobState]


def usage(states: Iterable[JobState]) -> dict[str, int]:
    """Return the GPUs used on each node."""
    used: dict[str, int] = {}
    for state in states:
        for name, workers in state.held.items():
            gpus = sum(state.demand.role_of(worker).gpus for worker in workers)
            used[name] = used.get(name, 0) + gpus
    return used


def awaited(state: JobState, books: Books) -> set[str]:
    """Return the victims for which a placement on paper still waits."""
    return {
        wait.job
        for wait in state.waits_for
        if wait.job in books and books[wait.job].held and books[wait.job].attempt == wait.attempt
    }


def subsets(names: Iterable[str]) -> Iterator[set[str]]:
    """Yield every subset."""
    every = sorted(names)
    sizes = (combinations(every, size) for size in range(len(every) + 1))
    return (set(each) for each in chain.from_iterable(sizes))


def futures(books: Books) -> Iterator[list[JobState]]:
    """Yield the jobs with processes in every state that may follow without another round."""
    holding = {name: state for name, state in books.items() if state.held}
    paper = {name for name, state in holding.items() if is_hold(state)}
    leaving = {victim for name in paper for victim in awaited(holding[name], books)}
    for gone in subsets(leaving):
        started = {name for name in paper if awaited(holding[name], books) <= gone}
        yield [s for n, s in holding.items() if n not in gone and (n not in paper or n in started)]


class SmallWorld:
    """See the module. All choices come from the dice."""

    def __init__(self, dice: Random) -> None:
        self.dice, self.now, self._names = dice, 0.0, 0
        self.nodes = {
            f"n{i}": node(f"n{i}", dice.randint(1, 6), spot=dice.random() < 0.2)
            for i in range(dice.randint(1, 4))
        }
        self.books: Books = {}
        for _ in range(dice.randint(1, 5)):
            self.arrive()

    def arrive(self) -> None:
        """Let a job enter the queue."""
        dice = self.dice
        self._names += 1
        kind = dice.choice(["reserved", "on_demand", "spot", "spot", "idle"])
        roles = [role(replicas=dice.randint(1, 3), gpus=dice.randint(1, 4))]
        if dice.random() < 0.3:
            roles.append(role("head", gpus=dice.randint(0, 2), cpus=1))
        name = f"j{self._names}"
        self.books[name] = queued(
            name,
            kind=kind,
            roles=tuple(roles),
            entered=self.now,
            priority=dice.choice([10, 50, 50, 90]),
            guarantee=kind not in {"idle", "spot"} and dice.random() < 0.2,
            auto=dice.random() < 0.7,
            grace_s=dice.choice([5, 30]),
        )

    def snapshot(self) -> Snapshot:
        """Return what a round would see, in a random order."""
        jobs = [s for s in self.books.values() if s.held or s.phase is Phase.QUEUED]
        nodes = list(self.nodes.values())
        self.dice.shuffle(jobs)
        self.dice.shuffle(nodes)
        return Snapshot(
            pool=POOL,
            now=at(self.now),
            upto=1,
            nodes=tuple(nodes),
            jobs=tuple(Listed(state, 1, state.attempt) for state in jobs),
        )

    def plan(self) -> Plan:
        """Plan a round without carrying it out."""
        return plan(self.snapshot(), Policy())

    def carry_out(self, made: Plan) -> None:
        """Let everything in a plan happen."""
        for move in made.moves:
            for decision in move.decisions:
                self.happen(decision.job[1], decision.fact)

    def happen(self, name: str, fact: f.Fact) -> None:
        """Let one fact happen."""
        self.books[name] = evolve(self.books[name], fact, at(self.now))

    def live(self) -> None:
        """Let something happen outside the scheduler."""
        self.now += self.dice.choice([0.5, 5, 40])
        for name in sorted(self.books):
            if self.dice.random() < 0.5:
                self._go_on(name, self.books[name])
        if self.dice.random() < 0.5:
            self.arrive()
        if self.dice.random() < 0.3:
            self._weather()

    def _go_on(self, name: str, state: JobState) -> None:
        attempt = state.attempt
        if is_hold(state) and not awaited(state, self.books):
            self.happen(name, f.Launching(attempt=attempt))
        elif state.phase is Phase.STARTING and state.launched:
            self.happen(name, f.Started(attempt=attempt))
        elif state.phase is Phase.RUNNING and self.dice.random() < 0.3:
            self.happen(name, f.Succeeded(attempt=attempt))
        elif state.held and (state.terminal or state.phase is Phase.EVICTING):
            self.happen(name, f.Released(attempt=attempt))
        elif state.phase is Phase.INTERRUPTED and state.eviction is not None:
            self.happen(name, f.Requeued(cause=state.eviction.cause, counted=True))

    def _weather(self) -> None:
        name = self.dice.choice(sorted(self.nodes))
        changes: list[dict[str, Any]] = [
            {"condition": NodeCondition.RECLAIMING, "deadline": at(self.now + 20)},
            {"condition": NodeCondition.LOST},
            {"condition": NodeCondition.READY, "deadline": None, "cordoned": False},
            {"cordoned": True},
        ]
        changed = self.dice.choice(changes)
        self.nodes[name] = self.nodes[name].model_copy(update=changed)


def over_capacity(nodes: dict[str, NodeState], books: Books) -> list[str]:
    """Return the nodes that some future state would overfill."""
    return sorted(
        {
            name
            for future in futures(books)
            for name, used in usage(future).items()
            if used > nodes[name].shape.gpus
        }
    )
