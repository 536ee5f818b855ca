"""What a cluster can tell of a failed or silent attempt: asked of the executor, judged elsewhere.

Nothing here is kept: the executor reads it afresh whenever fault tolerance asks. Texts are data.
"""

from __future__ import annotations

from enum import StrEnum

from muster.domain.model import Frozen, Instant, Token
from muster.domain.nodes import NodeCondition

LEFT_BEHIND = "left_behind"
"""Cause of a worker's failure: another one of its gang ended with 0, and it only waited on."""


class Scope(StrEnum):
    """What kind of text a rule reads."""

    LOG = "log"
    KERNEL = "kernel"
    POD = "pod"
    EVENT = "event"
    NODE = "node"
    EXIT = "exit"
    JOB = "job"


class NodeLine(Frozen):
    """A line about a node: of its kernel, of its conditions, or an event of the cluster."""

    scope: Scope
    text: str
    at: Instant | None = None


class WorkerEvidence(Frozen):
    """One worker of the attempt. exit_code: 0-255, 128+n after signal n; None = alive or unknown.

    cause: exited, node_lost, vanished or left_behind. reason, message: as the cluster words its end
    (OOMKilled, Evicted, ImagePullBackOff ...). tail: the end of its output. skew_s: by how much the
    clock of its node runs ahead, so far as is known.
    """

    worker: str
    node: str
    rank: int
    alive: bool = False
    exit_code: int | None = None
    cause: str = "exited"
    started_at: Instant | None = None
    ended_at: Instant | None = None
    reason: str = ""
    message: str = ""
    tail: str = ""
    skew_s: float = 0.0


class NodeEvidence(Frozen):
    """One node of the attempt, and what its kernel and the cluster said of it around the failure.

    serial: what stays the same when a machine comes back under another name.
    """

    node: str
    condition: NodeCondition = NodeCondition.READY
    lines: tuple[NodeLine, ...] = ()
    serial: str | None = None


class CheckpointFound(Frozen):
    """One checkpoint of a folder. why: of a broken one, what is wrong with it."""

    name: str
    step: int | None = None
    complete: bool = True
    why: str = ""


class CheckpointFolder(Frozen):
    """path: as the job declares it. found: the newest first. error: it cannot be read, and why."""

    path: str
    found: tuple[CheckpointFound, ...] = ()
    error: str | None = None

    @property
    def newest(self) -> CheckpointFound | None:
        """The newest complete one."""
        return next((one for one in self.found if one.complete), None)


class FailureEvidence(Frozen):
    """What the cluster has of one attempt.

    checkpoint: what was found in the job's checkpoint folder, where it declares one.
    """

    tenant: Token
    job: Token
    attempt: int
    workers: tuple[WorkerEvidence, ...] = ()
    nodes: tuple[NodeEvidence, ...] = ()
    checkpoint: CheckpointFolder | None = None


class WorkerSignals(Frozen):
    """Signs of life of one worker; None = nobody can say.

    cpu_s: CPU seconds of all its processes so far. state: R, S or D, as the kernel has it. stack:
    digest of where its threads stand, looked at only when asked; standing: the same in words, some
    hundred characters of it. gpu: share of the time that its GPUs were busy, 0-1; gpu_watts: what
    they draw together. moved: bytes that it has read, written or sent so far, its output left out.
    printed: bytes of output.
    """

    worker: str
    node: str
    alive: bool
    exit_code: int | None = None
    ended_at: Instant | None = None
    cpu_s: float | None = None
    state: str | None = None
    stack: str | None = None
    standing: str | None = None
    gpu: float | None = None
    gpu_watts: float | None = None
    moved: int | None = None
    printed: int | None = None


class JobSignals(Frozen):
    """Signs of life of one attempt. step: the last one told, and when it was first told.

    declared: a phase that the job said it is in (checkpoint, evaluation, loading), since when.
    """

    tenant: Token
    job: Token
    attempt: int
    step: int | None = None
    step_at: Instant | None = None
    declared: str | None = None
    declared_at: Instant | None = None
    workers: tuple[WorkerSignals, ...] = ()
