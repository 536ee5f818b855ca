"""One failure as it is judged: everything that is known of it, joined, and nothing decided yet.

Pure values. `judging` gathers them; `diagnosis.diagnose(failure, rules, now)` judges, and
`verdict.verdict(...)` makes the fact of it. The same values are made from files by
`muster diagnose` and from labelled cases by the tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from muster.domain.diagnosis import Stage
from muster.domain.evidence import CheckpointFolder, NodeEvidence, WorkerEvidence
from muster.domain.faults import Faults
from muster.fault_tolerance.core.hang_lines import Seen


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier failure of the same job, from the log, oldest first.

    node: the node that it was attributed to, if any. step: the last one known then.
    """

    fingerprint: str
    rule: str | None
    nodes: tuple[str, ...]
    node: str | None
    step: int
    at: datetime


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """What is known of a node from other jobs' attributed failures.

    users, jobs: so many had a failure attributed to it in the window. last: rules of the newest
    ones, newest first, with the time.
    """

    node: str
    users: int = 0
    jobs: int = 0
    suspected: bool = False
    last: tuple[tuple[str, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The same rule or fingerprint in other jobs within the last minutes: how many, and where.

    shared: what they have in common, in words, if it is known. nodes: where they showed.
    """

    jobs: int = 0
    users: int = 0
    incident: str | None = None
    shared: str = ""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Everything that is known of one failed attempt.

    order: our own order that stood when it ended (stop, evict, hold), if any: then nothing is a
    cause. hung: it was ended because nothing moved; seconds without progress. exited: one worker
    ended and the others stayed. stage, step: how far it had come; None = unknown. ran_s: how long
    it ran; None = unknown. gpus: of the gang, shared cards as parts. complete: a line of success
    was seen. checkpoint_dir: as the job declares it. unsaved_s: seconds of work since a checkpoint
    was last heard of; None = as long as it ran. outlier: of a hang, the worker that stands out.
    silence: of a hang, what was seen
    before anything was ended, the most telling first.
    """

    tenant: str
    job: str
    user: str
    attempt: int
    at: datetime
    workers: tuple[WorkerEvidence, ...] = ()
    nodes: tuple[NodeEvidence, ...] = ()
    order: str | None = None
    hung: int | None = None
    exited: bool = False
    stage: Stage | None = None
    step: int | None = None
    ran_s: float | None = None
    gpus: float = 0.0
    complete: bool = False
    image: str = ""
    checkpoint_dir: str | None = None
    checkpoint: CheckpointFolder | None = None
    unsaved_s: float | None = None
    outlier: str | None = None
    silence: tuple[Seen, ...] = ()
    faults: Faults | None = None
    earlier: tuple[Earlier, ...] = ()
    records: tuple[NodeRecord, ...] = ()
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
