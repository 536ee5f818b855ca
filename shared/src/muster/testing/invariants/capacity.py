"""I1, I2, I9, I13: rooms are never given twice, gangs are whole, and the books equal the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from muster.domain.facts import Launching, Rescaled, Scheduled, Started
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.testing.cluster import WorkerId
from muster.testing.invariants.base import Invariant, JobChange, Known
from muster.testing.world import World

Amounts = tuple[float, float, float]
"""GPUs, CPU cores, MiB."""


def _amounts(state: JobState) -> Iterator[tuple[str, Amounts]]:
    """Yield what a job holds, node by node."""
    for node, workers in state.held.items():
        roles = [state.demand.role_of(worker) for worker in workers]
        yield (
            node,
            (
                sum(role.gpus for role in roles),
                sum(role.cpus for role in roles),
                sum(role.memory_mib for role in roles),
            ),
        )


class NoNodeOverCapacity(Invariant):
    """Also I9: room that is freed for one job is never given to another meanwhile."""

    number: ClassVar[str] = "I1"
    text: ClassVar[str] = (
        "No node is over its capacity: neither by what jobs hold, nor by what was promised to jobs"
        " that wait for their victims, nor by the processes that really run."
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
        if isinstance(change.fact, Scheduled | Rescaled | Launching):
            self._check(change)

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
        used: dict[str, Amounts] = {}
        for state in states:
            for node, (gpus, cpus, memory) in _amounts(state):
                before = used.get(node, (0, 0, 0))
                used[node] = (before[0] + gpus, before[1] + cpus, before[2] + memory)
        for node in change.after.held:
            shape = self.known.nodes[node].shape
            have = (shape.gpus, shape.cpus, shape.memory_mib)
            if any(use > limit for use, limit in zip(used.get(node, (0, 0, 0)), have, strict=True)):
                holders = [s.job for s in states if node in s.held]
                raise self.broken(
                    f"node {node} {what}: {used[node]} of {have}, by {holders}", change.after.job
                )

    def on_step(self, world: World) -> None:
        used = Counter[str]()
        for worker in self.known.cluster.alive():
            used[worker.node] += worker.gpus
        for node, gpus in used.items():
            if gpus > self._most(node):
                raise self.broken(f"processes on {node} use {gpus} GPUs", node)

    def _most(self, node: str) -> int:
        return self.known.cluster.nodes[node].most_gpus


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
            raise self.broken(f"{worker.id} still runs at the end", worker.id.job)
        for state in self.known.jobs.values():
            if state.held:
                raise self.broken(f"{state.phase} still holds {dict(state.held)}", state.job)
