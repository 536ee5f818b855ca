"""The truth about a pretended cluster: its nodes, and every worker process that really runs there.

What an executor is shown of it is an adapter's business. Invariants compare the log with this.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from muster.domain.evidence import CheckpointFound, Scope
from muster.domain.nodes import ForeignUse, NodeShape
from muster.testing.scripts import Script as Script  # noqa: PLC0414 - part of what is told here
from muster.testing.scripts import Vitals, output_of, vitals_over


class WorkerId(NamedTuple):
    """One worker of one attempt."""

    job: str
    attempt: int
    worker: str


class Share(NamedTuple):
    """A part of a card: its number among the shared ones of the node, and thousandths of it."""

    card: int | None
    milli: int


class Life(StrEnum):
    """gone: no longer there and nobody knows how it ended."""

    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    GONE = "gone"


@dataclass(slots=True, eq=False)
class SimWorker:
    """One process. Times are true seconds; told: the stop signal reached it, with the deadline.

    clock_off: by how much the clock was wrong when it was born; its instants stay as they are.
    share: its part of a shared card. stray: it runs under our name, and no executor started it.
    by_itself: it came to the end of its script, and was not ended by anybody.
    """

    id: WorkerId
    node: str
    gpus: int
    script: Script
    born: float
    clock_off: float = 0.0
    life: Life = Life.STARTING
    exit_code: int | None = None
    up_at: float | None = None
    ended_at: float | None = None
    told: float | None = None
    deadline: datetime | None = None
    killed: float | None = None
    share: Share | None = None
    stray: bool = False
    by_itself: bool = False

    @property
    def alive(self) -> bool:
        """Whether it really runs."""
        return self.life in {Life.STARTING, Life.RUNNING}

    def own_end(self) -> tuple[float, int] | None:
        """Return when its script comes to its end and with which code, None if never."""
        script = self.script
        if script.start_s is None or script.run_s is None:
            return None
        return self.born + script.start_s + script.run_s, script.exit_code

    def ends(self) -> tuple[float, int] | None:
        """Return when it will end and with which code, None if never."""
        script, own = self.script, self.own_end()
        ways = [own] if own is not None else []
        if self.told is not None and script.stop_s is not None:
            ways.append((self.told + script.stop_s, script.stop_code))
        if self.killed is not None and script.kill_s is not None:
            ways.append((self.killed + script.kill_s, 137))
        return min(ways, default=None)

    def printed(self, now: float) -> str:
        """Return all that it has printed until now."""
        return output_of(self.script, self._ran(now), over=self.by_itself)

    def _ran(self, now: float) -> float | None:
        if self.up_at is None:
            return None
        return (now if self.ended_at is None else min(now, self.ended_at)) - self.up_at

    def vitals(self, now: float) -> tuple[float, float, Vitals]:
        """Return its CPU seconds and the bytes that it moved so far, and how it is now."""
        return vitals_over(self.script, self._ran(now) or 0.0)


NOBODY = ForeignUse()


@dataclass(slots=True, eq=False)
class SimNode:
    """One machine. present: the cluster lists it. reachable: signals arrive. powered: it runs.

    reclaim_at: when its owner takes it back, if that was announced. most_gpus: what it ever had.
    kept_off: an operator has it off and will not let it back yet. foreign: what others take.
    said: what its kernel and the cluster said of it, and when (None: nobody knows), oldest first.
    """

    name: str
    shape: NodeShape
    present: bool = True
    reachable: bool = True
    powered: bool = True
    reclaim_at: datetime | None = None
    most_gpus: int = 0
    kept_off: bool = False
    foreign: ForeignUse = NOBODY
    said: list[tuple[float | None, Scope, str]] = field(default_factory=list)


@dataclass(slots=True)
class SimCluster:
    """version counts changes; started: how often each worker was really started.

    checkpoints: what stands in which folder, the newest first.
    """

    script_of: Callable[[WorkerId], Script]
    nodes: dict[str, SimNode] = field(default_factory=dict)
    workers: dict[WorkerId, SimWorker] = field(default_factory=dict)
    started: dict[WorkerId, int] = field(default_factory=dict)
    version: int = 0
    changed: list[tuple[int, str]] = field(default_factory=list)
    checkpoints: dict[str, tuple[CheckpointFound, ...]] = field(default_factory=dict)
    _on: dict[str, dict[WorkerId, SimWorker]] = field(default_factory=dict)

    def add(self, name: str, shape: NodeShape) -> SimNode:
        """Add a machine, or bring one back."""
        node = self.nodes.setdefault(name, SimNode(name, shape))
        node.shape = shape
        node.most_gpus = max(node.most_gpus, shape.gpus)
        node.present = node.reachable = node.powered = True
        self.version += 1
        return node

    def alive(self, node: str | None = None) -> Iterator[SimWorker]:
        """Yield every process that really runs, on a node or anywhere."""
        workers = self.workers if node is None else self._on.get(node, {})
        return (worker for worker in workers.values() if worker.alive)

    def used_gpus(self, node: str) -> int:
        """Return the GPUs of a node that processes have, ours and others'; a shared one is one."""
        foreign = self.nodes[node].foreign.gpus
        return foreign + sum(w.gpus for w in self.alive(node)) + len(self.shares(node))

    def shares(self, node: str) -> dict[int | None, int]:
        """Return the thousandths given of each shared card of a node."""
        given: dict[int | None, int] = {}
        for worker in self.alive(node):
            if worker.share is not None:
                card, milli = worker.share
                given[card] = given.get(card, 0) + milli
        return given

    def free_gpus(self, node: str) -> int:
        """Return the GPUs of a node that no process has."""
        return self.nodes[node].shape.gpus - self.used_gpus(node)

    def occupy(self, node: str, foreign: ForeignUse) -> bool:
        """Let others take so much of a node from now on; False where there is no room for them."""
        there, more = self.nodes[node], foreign.gpus - self.nodes[node].foreign.gpus
        if more > max(0, self.free_gpus(node)):
            return False
        there.foreign = foreign
        self.version += 1
        return True

    # --- effects -----------------------------------------------------------------------------

    def start(
        self,
        who: WorkerId,
        node: str,
        gpus: int,
        now: float,
        clock_off: float = 0.0,
        share: Share | None = None,
    ) -> None:
        """Start a worker unless there is a record of it."""
        if who in self.workers:
            return
        script = self.script_of(who)
        self._put(SimWorker(who, node, gpus, script, now, clock_off, share=share))
        self.started[who] = self.started.get(who, 0) + 1
        self._touch(who.job)
        self.catch_up(now)

    def stray(self, who: WorkerId, node: str, gpus: int, script: Script, now: float) -> None:
        """Let a process be there that looks like a worker and that nobody has asked for."""
        self._put(SimWorker(who, node, gpus, script, now, stray=True))
        self._touch(who.job)
        self.catch_up(now)

    def _put(self, worker: SimWorker) -> None:
        self._drop(worker.id)
        self.workers[worker.id] = worker
        self._on.setdefault(worker.node, {})[worker.id] = worker

    def _drop(self, who: WorkerId) -> None:
        known = self.workers.pop(who, None)
        if known is not None:
            del self._on[known.node][who]

    def tell(self, who: WorkerId, now: float, deadline: datetime | None = None) -> None:
        """Send the stop signal, once."""
        worker = self._reachable(who)
        if worker is not None and worker.told is None:
            worker.told, worker.deadline = now, deadline

    def kill(self, who: WorkerId, now: float) -> None:
        """Kill a worker; it may take a while, or for ever."""
        worker = self._reachable(who)
        if worker is not None and worker.killed is None:
            worker.killed = now

    def _reachable(self, who: WorkerId) -> SimWorker | None:
        worker = self.workers.get(who)
        if worker is None or not worker.alive or not self.nodes[worker.node].reachable:
            return None
        return worker

    def forget(self, who: WorkerId, now: float) -> None:
        """Drop the record of a worker that has ended before now."""
        worker = self.workers.get(who)
        if worker is not None and not worker.alive:
            self._drop(who)

    # --- machines come and go ------------------------------------------------------------------

    def remove(self, name: str, now: float) -> None:
        """The machine is taken away for good: the cluster knows that nothing runs there."""
        node = self.nodes[name]
        node.present = node.reachable = node.powered = False
        self._end_all(name, now)

    def silence(self, name: str) -> None:
        """The machine is cut off: its processes run on, and nobody can tell."""
        node = self.nodes[name]
        node.present = node.reachable = False
        self._touch_all(name)

    def power_off(self, name: str, now: float) -> None:
        """Somebody makes sure that nothing runs there."""
        node = self.nodes[name]
        node.present = node.reachable = node.powered = False
        self._end_all(name, now)

    def restore(self, name: str) -> None:
        """The machine is back; what was cut off can be seen again."""
        self.add(name, self.nodes[name].shape)
        self._touch_all(name)

    def say(self, node: str, text: str, at: float | None, scope: Scope = Scope.KERNEL) -> None:
        """Let the kernel of a machine, or the cluster, say something about it."""
        self.nodes[node].said.append((at, scope, text))

    def end(self, who: WorkerId, now: float, exit_code: int | None) -> None:
        """A worker ends by itself (None: it vanishes and nobody knows how)."""
        worker = self.workers[who]
        if worker.alive:
            self._ended(worker, now, exit_code)

    def _end_all(self, node: str, now: float) -> None:
        self.nodes[node].foreign = NOBODY
        for worker in list(self.alive(node)):
            self._ended(worker, now, None)
        self._touch_all(node)

    # --- time ----------------------------------------------------------------------------------

    def next_time(self, now: float) -> float | None:
        """Return the next true second at which a worker changes by itself."""
        times = [t for w in self.alive() for t in _changes(w) if t > now]
        return min(times, default=None)

    def catch_up(self, now: float) -> None:
        """Let every worker be where its script has brought it."""
        for worker in list(self.alive()):
            up = worker.script.start_s
            if worker.life is Life.STARTING and up is not None and worker.born + up <= now:
                worker.life, worker.up_at = Life.RUNNING, worker.born + up
                self._touch(worker.id.job)
            end = worker.ends()
            if end is not None and end[0] <= now:
                worker.by_itself = end == worker.own_end()
                self._ended(worker, end[0], end[1])

    def _ended(self, worker: SimWorker, at: float, exit_code: int | None) -> None:
        worker.life = Life.GONE if exit_code is None else Life.EXITED
        worker.exit_code, worker.ended_at = exit_code, at
        self._touch(worker.id.job)

    def _touch(self, job: str) -> None:
        self.version += 1
        self.changed.append((self.version, job))

    def _touch_all(self, node: str) -> None:
        self.version += 1
        for job in sorted({w.id.job for w in self.workers.values() if w.node == node}):
            self._touch(job)

    def changed_since(self, version: int) -> frozenset[str]:
        """Return the jobs whose workers changed after a version."""
        first = bisect_right(self.changed, version, key=_version)
        return frozenset(job for _, job in self.changed[first:])


def _version(change: tuple[int, str]) -> int:
    return change[0]


def _changes(worker: SimWorker) -> Iterator[float]:
    if worker.life is Life.STARTING and worker.script.start_s is not None:
        yield worker.born + worker.script.start_s
    end = worker.ends()
    if end is not None:
        yield end[0]


def shape(gpus: int = 8, *, spot: bool = False, **more: object) -> NodeShape:
    """Return the shape of a node with enough of everything but GPUs."""
    values: Mapping[str, object] = {
        "gpu_model": "H100",
        "cpus": 1000.0,
        "memory_mib": 1 << 24,
        **more,
    }
    return NodeShape.model_validate({"gpus": gpus, "spot": spot, **values})
