"""What a failure is held to be: whose it is, what follows, and the evidence that says so.

Part of the facts that fault tolerance writes, so that whoever reads one event can explain it.
Every text that comes from a cluster or a log is data, shortened, and never markup.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from muster.domain.model import Frozen, Instant

TEXT = 300
"""Characters of a line of evidence that are kept."""
LINES = 8
"""Lines of evidence that a diagnosis carries, the most telling first."""


class Blame(StrEnum):
    """Whose failure it is."""

    USER = "user"
    DATA = "data"
    STORAGE = "storage"
    HARDWARE = "hardware"
    NETWORK = "network"
    PLATFORM = "platform"
    FRAMEWORK = "framework"
    UNKNOWN = "unknown"

    @property
    def infrastructure(self) -> bool:
        """Whether it is never the user's to pay for."""
        return self in {Blame.STORAGE, Blame.HARDWARE, Blame.NETWORK, Blame.PLATFORM}


class Action(StrEnum):
    """What a rule asks for. watch: needs a second signal. ignore: says nothing about a cause."""

    STOP = "stop"
    RETRY_ONCE = "retry_once"
    RETRY = "retry"
    IN_PLACE = "in_place"
    EXCLUDE = "exclude"
    CORDON = "cordon"
    REQUEUE = "requeue"
    HOLD = "hold"
    WATCH = "watch"
    IGNORE = "ignore"


class Kind(StrEnum):
    """Whether the same would happen again."""

    DETERMINISTIC = "deterministic"
    TRANSIENT = "transient"
    EITHER = "either"


class Stage(StrEnum):
    """How far the attempt had come when it failed.

    create: no worker ran. init: no completed step. train: at least one. teardown: the training said
    that it was complete.
    """

    CREATE = "create"
    INIT = "init"
    TRAIN = "train"
    CHECKPOINT = "checkpoint"
    EVALUATION = "evaluation"
    TEARDOWN = "teardown"


class Spread(StrEnum):
    """How many show it."""

    ONE = "one"
    SEVERAL = "several"
    ALL = "all"
    JOBS = "jobs"


class Source(StrEnum):
    """Where evidence comes from, the most trustworthy first."""

    ORDER = "order"
    POD = "pod"
    NODE = "node"
    KERNEL = "kernel"
    LOG = "log"
    EXIT = "exit"
    HISTORY = "history"
    SIGNALS = "signals"


class EvidenceLine(Frozen):
    """One thing that was seen. rule: the rule that it matched. worker, node: of whom it speaks.

    zh: the text in Chinese, where the words are Muster's own; None = it is quoted.
    """

    source: Source
    text: Annotated[str, Field(max_length=TEXT)]
    zh: Annotated[str, Field(max_length=TEXT)] | None = None
    rule: str | None = None
    worker: str | None = None
    node: str | None = None
    at: Instant | None = None


class Advice(Frozen):
    """What a person can do. field: the field of the specification to change, if it is one."""

    en: str
    zh: str
    field: str | None = None


class Counts(Frozen):
    """The ledgers of a job at one moment, as numbers. restarts_left: of the user's budget."""

    restarts: int
    restarts_left: int
    infrastructure: int
    hangs: int
    requeues: int


class Diagnosis(Frozen):
    """Why an attempt failed and what was decided about it.

    rule: the rule that decides; None = nothing known matched, `unknown`. rules: version of the
    rules in force. first: the worker that failed first, and its node. nodes: nodes that are to
    blame. excluded: nodes that the next attempt stays off. gpu_hours: GPU time since the last
    checkpoint, lost. confidence: 0-1. step: the last one that the attempt told, if it is known.
    incident: the incident that pauses retries. shadow: rules that would have matched and are not
    in force yet.
    """

    rule: str | None = None
    rules: str = ""
    blame: Blame = Blame.UNKNOWN
    kind: Kind = Kind.EITHER
    action: Action = Action.RETRY
    stage: Stage = Stage.INIT
    spread: Spread = Spread.ONE
    first: str | None = None
    node: str | None = None
    nodes: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    fingerprint: str = ""
    confidence: float = 0.0
    evidence: Annotated[tuple[EvidenceLine, ...], Field(max_length=LINES)] = ()
    advice: Advice | None = None
    gpu_hours: float = 0.0
    before: Counts | None = None
    after: Counts | None = None
    step: int | None = None
    incident: str | None = None
    shadow: tuple[str, ...] = ()
