"""I1, I2, I9, I13: rooms are never given twice, gangs are whole, and the books equal the facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from muster.domain.demand import Role
from muster.domain.facts import Launching, Rescaled, Scheduled, Started
from muster.domain.nodes import ForeignUse, NodeState
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.testing.cluster import WorkerId
from muster.testing.invariants.base import Invariant, JobChange, Known
from muster.testing.world import World

CARD = 1000
"""Thousandths of one."""


@dataclass(slots=True)
class _Use:
    """What is used of one node. cards: thousandths given of each shared card."""

    gpus: int = 0
    cpus: float = 0.0
    memory_mib: int = 0
    cards: dict[int, int] = field(default_factory=dict)

    def add(self, role: Role, card: int | None) -> None:
        """Add one worker."""
        self.gpus += role.gpus
        self.cpus += role.cpus
        self.memory_mib += role.memory_mib
        if role.gpu_milli and card is not None:
            self.cards[card] = self.cards.get(card, 0) + role.gpu_milli

    @property
    def whole(self) -> int:
        """GPUs that are used, a shared one as one."""
        return self.gpus + len(self.cards)

    def __str__(self) -> str:
        shared = f", shared cards {self.cards}" if self.cards else ""
        return f"{self.whole} GPUs, {self.cpus:g} cores, {self.memory_mib} MiB{shared}"


def _used(states: Iterable[JobState], nodes: Iterable[str]) -> dict[str, _Use]:
    """Return what jobs hold on some nodes."""
    used = {node: _Use() for node in nodes}
    for state in states:
        for node in used.keys() & state.held.keys():
            for worker in state.held[node]:
                used[node].add(state.demand.role_of(worker), state.cards.get(worker))
    return used


class NoNodeOverCapacity(Invariant):
    """Also I9: room that is freed for one job is never given to another meanwhile."""

    number: ClassVar[str] = "I1"
    text: ClassVar[str] = (
        "No node is over its capacity: neither by what jobs hold, nor by what was promised to jobs"
        " that wait for their victims, nor by the processes that really run. A shared card counts"
        " as one GPU, is never given away beyond itself, and what others were known to take on a"
        " node when a job is placed there is not given to it."
    )

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._launched: set[str] = set()

    def on_job(self, change: JobChange) -> None:
        state = change.after
        if not state.held:
            self._launched.discard(state.job)
        if isinstance(change.fact, Launching):
            self._launched.add(state.job)
        if isinstance(change.fact, Scheduled):
            self._numbered(change, change.fact)
        if isinstance(change.fact, Scheduled | Rescaled | Launching):
            self._check(change)

    def _numbered(self, change: JobChange, fact: Scheduled) -> None:
        demand = change.after.demand
        sharing = {w for ws in fact.placement.values() for w in ws if demand.role_of(w).gpu_milli}
        if sharing != fact.cards.keys():
            raise self.broken(
                f"shared cards for {sorted(fact.cards)}, wanted by {sorted(sharing)}",
                change.after.job,
            )

    def _check(self, change: JobChange) -> None:
        holding = [s for s in self.known.jobs.values() if s.job != change.after.job and s.held]
        holding.append(change.after)
        occupying = [s for s in holding if self._occupies(s)]
        self._fits(change, occupying, "is used twice")
        victims = {w.job for s in holding if not self._occupies(s) for w in s.waits_for}
        planned = [s for s in holding if s.phase is Phase.STARTING or s.job in self._launched]
        claiming = [s for s in planned if s.job not in victims]
        self._fits(change, claiming, "is promised twice")

    def _occupies(self, state: JobState) -> bool:
        """Whether its processes are there or may come at any time: nobody is waited for."""
        if state.job in self._launched:
            return True
        return state.phase is Phase.STARTING and not state.waits_for

    def _fits(self, change: JobChange, states: list[JobState], what: str) -> None:
        new = change.after
        placed = isinstance(change.fact, Scheduled)
        for node, use in _used(states, new.held).items():
            own = _used([new], [node])[node]
            foreign = self._foreign(node, new) if placed else ForeignUse()
            if _over(use, own, self.known.nodes[node], foreign):
                holders = [s.job for s in states if node in s.held]
                more = f" beside {foreign.gpus} of others" if placed else ""
                raise self.broken(f"node {node} {what}: {use}{more}, by {holders}", new.job)

    def _foreign(self, node: str, state: JobState) -> ForeignUse:
        """Return what others took there as the round knew it."""
        known = self.known.node_in_round(node, state.pool)
        return (known.foreign if known else None) or ForeignUse()

    def on_step(self, world: World) -> None:
        cluster = self.known.cluster
        for name, node in cluster.nodes.items():
            gpus = cluster.used_gpus(name)
            if gpus > node.most_gpus:
                raise self.broken(f"processes on {name} use {gpus} GPUs", name)
            for card, milli in cluster.shares(name).items():
                if milli > CARD:
                    raise self.broken(f"shared card {card} of {name} is used to {milli}", name)


def _over(use: _Use, own: _Use, node: NodeState, foreign: ForeignUse) -> bool:
    """Whether there is more than the node has of anything that the job itself takes there."""
    shape = node.shape
    return (
        (own.whole > 0 and use.whole + foreign.gpus > shape.gpus)
        or (own.cpus > 0 and use.cpus + foreign.cpus > shape.cpus)
        or (own.memory_mib > 0 and use.memory_mib + foreign.memory_mib > shape.memory_mib)
        or any(milli > CARD for milli in use.cards.values())
    )


class GangsAreWhole(Invariant):
    number: ClassVar[str] = "I2"
    text: ClassVar[str] = (
        "A gang is placed whole or not at all, runs only when every worker was started, and a job"
        " that waits in the queue holds nothing."
    )

    def on_job(self, change: JobChange) -> None:
        state = change.after
        if isinstance(change.fact, Scheduled):
            placed = sorted(w for ws in change.fact.placement.values() for w in ws)
            if placed != sorted(state.demand.workers):
                raise self.broken(f"placement of {placed} is not the whole gang", state.job)
        if isinstance(change.fact, Started):
            started = self.known.cluster.started
            ids = [WorkerId(state.job, state.attempt, worker) for worker in state.placed_on]
            missing = [each.worker for each in ids if each not in started]
            if missing or len(ids) < len(state.demand.workers):
                raise self.broken(f"running without {missing}", state.job)
        if state.held and state.phase in {Phase.SUBMITTED, Phase.QUEUED, Phase.INTERRUPTED}:
            raise self.broken(f"{state.phase} and holds {dict(state.held)}", state.job)


class BooksEqualFacts(Invariant):
    number: ClassVar[str] = "I13"
    text: ClassVar[str] = (
        "Every process that really runs stands in its job's `held`, on its node; nothing runs for a"
        " job that holds nothing."
    )

    def on_step(self, world: World) -> None:
        for worker in self.known.cluster.alive():
            if worker.stray:
                continue  # what nobody asked for is foreign use, and stands in no job's books
            state = self.known.jobs.get(worker.id.job)
            held = state.held.get(worker.node, ()) if state else ()
            if worker.id.worker not in held:
                phase = state.phase if state else "unknown"
                raise self.broken(
                    f"{worker.id} runs on {worker.node}, which the job ({phase}) does not hold",
                    worker.id.job,
                )

    def at_end(self, world: World) -> None:
        for worker in self.known.cluster.alive():
            if not worker.stray:
                raise self.broken(f"{worker.id} still runs at the end", worker.id.job)
        for state in self.known.jobs.values():
            if state.held:
                raise self.broken(f"{state.phase} still holds {dict(state.held)}", state.job)
