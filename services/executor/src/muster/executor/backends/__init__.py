"""The port to a cluster: what the executor asks of whatever runs the workers.

One worker is one process (local) or one pod (Kubernetes); its identity is (job, attempt, worker)
and every effect is keyed by it, so that asking twice does it once. A backend never decides anything
about a job and never writes to the log; `muster.executor.handlers` calls it, and
`tests/contract/backend_suite.py` is the one suite that each backend must pass. What a backend will
not start is in `muster.executor.backends.refusals`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from muster.domain.evidence import CheckpointFolder, NodeLine
from muster.domain.nodes import ForeignUse, Taint


@dataclass(frozen=True, slots=True, order=True)
class WorkerKey:
    """The identity of one worker of one attempt; unique for ever."""

    job: str
    attempt: int
    worker: str


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a cluster says about one node. Amounts: whole GPUs, CPU cores, MiB of memory.

    reclaim_at: when its owner takes the node back, if that was announced, by the world's clock.
    foreign: what work that is not Muster's takes there, for as long as its processes are there.
    """

    node: str
    gpus: int
    gpu_model: str
    cpus: float
    memory_mib: int
    spot: bool = False
    zone: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    reclaim_at: datetime | None = None
    extended: Mapping[str, int] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    foreign: ForeignUse | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One worker to start. `env` is complete but for what only the backend knows (devices, port).

    workdir: absolute path where the command starts; None leaves it to the backend.
    gpu_milli: thousandths of one GPU that it shares; card: the number of that shared card among
    those of its node. The backend maps the number to a GPU that is the same for all workers on it,
    for as long as one of them lives, and that no worker with whole GPUs has.
    """

    key: WorkerKey
    node: str
    gpus: int
    command: tuple[str, ...]
    env: Mapping[str, str]
    rank: int
    world_size: int
    local_rank: int
    leader: str  # the worker whose address every worker gets as MASTER_ADDR / MASTER_PORT
    workdir: str | None = None
    gpu_milli: int = 0
    card: int | None = None


class WorkerStatus(StrEnum):
    """`gone` is positive proof that nothing of the worker runs any more; its exit is unknown."""

    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Observed:
    """One worker as the cluster shows it now.

    exit_code is 0-255, or 128+n when signal n ended the process; None unless EXITED.
    address: where the attempt's other workers reach it: `host`; for the leader `host:port`.
    gpus: how many GPUs it is on; a shared one counts as one.
    """

    key: WorkerKey
    node: str
    status: WorkerStatus
    exit_code: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    log_path: str | None = None
    address: str | None = None
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Words:
    """How the cluster itself words a worker's state: a pod's reason and message, or "" both."""

    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of life of one living worker, as `muster.domain.evidence.WorkerSignals` has them.

    None = nobody can say.
    """

    cpu_s: float | None = None
    state: str | None = None
    stack: str | None = None
    standing: str | None = None
    gpu: float | None = None
    gpu_watts: float | None = None
    moved: int | None = None


class WorkerOutput(Protocol):
    """What one worker has printed so far, of whatever attempt. Blocks; empty if there is none."""

    def size(self) -> int:
        """Return how many bytes there are."""
        ...

    def read(self, offset: int, most: int) -> bytes:
        """Return at most so many bytes from an offset on."""
        ...


class Backend(Protocol):
    """The port. Every method may raise `Temporary` (cluster away) and never `Conflict`."""

    async def nodes(self) -> Sequence[NodeFacts]:
        """Every node that the cluster has now."""
        ...

    async def launch(self, launches: Sequence[Launch]) -> None:
        """Start each worker unless one with its key was ever started; all of the new ones or none.

        Raises `Refused` before anything is started. After `Temporary` some may run: ask again.
        """
        ...

    async def observe(self) -> Sequence[Observed]:
        """Every worker that this cluster still knows of, of every job and attempt."""
        ...

    async def signal(self, keys: Sequence[WorkerKey], deadline: datetime) -> None:
        """Ask each worker's whole process group to stop, naming the deadline (with a time zone).

        Safe to repeat: the worker is told once, a later deadline replaces the one it can read.
        """
        ...

    async def kill(self, keys: Sequence[WorkerKey]) -> None:
        """Kill each worker's whole process group at once. Safe to repeat; unknown keys are fine."""
        ...

    async def forget(self, keys: Sequence[WorkerKey]) -> None:
        """Drop the records of workers whose end is on the log, never of one that lives.

        Log files stay.
        """
        ...

    def output(self, key: WorkerKey) -> WorkerOutput | None:
        """Return a worker's output, forgotten or not; None if the key can be no worker's."""
        ...

    async def words(self, keys: Sequence[WorkerKey]) -> Mapping[WorkerKey, Words]:
        """Return how the cluster words the state of those workers of which it has words."""
        ...

    async def node_lines(
        self,
        nodes: Sequence[str],
        since: datetime,
        until: datetime,
        keys: Sequence[WorkerKey] = (),
    ) -> Mapping[str, Sequence[NodeLine]]:
        """Return what kernels and the cluster said of nodes from `since` to `until`, oldest first.

        Instants are the world's. A line whose time nobody knows is among them. keys: one that
        speaks of a process of anybody else may be left out, where it is known whose that is.
        """
        ...

    async def checkpoints(self, path: str) -> CheckpointFolder:
        """Return the newest checkpoints of a folder, down to the first whole one; may take long.

        path: as the job's workers see it. Nothing in it is changed.
        """
        ...

    async def signs(self, keys: Sequence[WorkerKey], *, stacks: bool) -> Mapping[WorkerKey, Signs]:
        """Return the signs of life of those workers that live. stacks: see AskSignals."""
        ...

    async def serves(self, key: WorkerKey, port: int) -> str | None:
        """Return where this worker, and nobody else, answers HTTP on a port: `http://host:port`.

        None while it does not, or while nobody can say whose the port is.
        """
        ...

    def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the ids of jobs one of whose workers changed; may repeat, may come late.

        What exists already comes first, so that a restarted executor looks at everything once.
        """
        ...
