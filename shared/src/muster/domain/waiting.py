"""Why a job is not running, as data: a code, its tier, numbers, a sentence, and what would help.

Made by the scheduler, which alone knows; read by the command line, the gateway and whoever asks.
The words stand in `waiting_words`. Codes are stable and few; a reader must bear with new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from muster.domain.model import Frozen, Instant, Token
from muster.domain.phases import Phase
from muster.domain.survival import Outlook


class Tier(StrEnum):
    """Where to look first. From what only the job's owner can change to what only waiting changes.

    job: the job itself. tenant: what its tenant may have. pool: what the pool is made of.
    nodes: nodes that are closed now. capacity: what others hold now. order: who comes first.
    scheduler: the scheduler itself.
    """

    JOB = "job"
    TENANT = "tenant"
    POOL = "pool"
    NODES = "nodes"
    CAPACITY = "capacity"
    ORDER = "order"
    SCHEDULER = "scheduler"


class WhyCode(StrEnum):
    """Everything that can be said of a job that does not run. Never reuse one."""

    # queued, and not placed
    NOT_BEFORE = "NOT_BEFORE"
    SET_ASIDE = "SET_ASIDE"
    QUOTA = "QUOTA"
    STOCK = "STOCK"
    SPOT_DISABLED = "SPOT_DISABLED"
    SPOT_QUOTA = "SPOT_QUOTA"
    NO_NODES = "NO_NODES"
    NODES_ABSENT = "NODES_ABSENT"
    NEVER_FITS = "NEVER_FITS"
    NO_DOMAIN = "NO_DOMAIN"
    NODES_SHUT = "NODES_SHUT"
    NO_ROOM = "NO_ROOM"
    EVICTION_LIMIT = "EVICTION_LIMIT"
    RESERVED = "RESERVED"
    BEHIND = "BEHIND"
    NOT_REACHED = "NOT_REACHED"
    NO_ROUND = "NO_ROUND"
    SUPPOSED_GONE = "SUPPOSED_GONE"
    # queued, and its time has come
    FITS_NOW = "FITS_NOW"
    DECLINED = "DECLINED"
    # placed, or beyond
    VICTIMS = "VICTIMS"
    LAUNCH = "LAUNCH"
    SUBMITTED = "SUBMITTED"
    REJECTED = "REJECTED"
    RUNNING = "RUNNING"
    EVICTING = "EVICTING"
    INTERRUPTED = "INTERRUPTED"
    FAULTED = "FAULTED"
    STOPPING = "STOPPING"
    DEBUG_HOLDING = "DEBUG_HOLDING"
    ABNORMAL = "ABNORMAL"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


class HelpKind(StrEnum):
    """What would let a job go on. A trial: the scheduler has planned with it and the job fits."""

    WAIT = "wait"
    ROOM = "room"
    SMALLER = "smaller"
    GUARD_ENDS = "guard_ends"
    PRIORITY = "priority"
    OPEN_NODES = "open_nodes"
    NODE_POLICY = "node_policy"
    LOCALITY = "locality"
    GENERAL = "general"


class Why(Frozen):
    """One reason. code: a `WhyCode`, or one of a later version. numbers: what the words say."""

    code: str
    tier: Tier
    en: str
    zh: str
    numbers: Mapping[str, int | str] = {}

    def text(self, lang: str) -> str:
        """Return the sentence for `lang` ("zh" or anything else for English)."""
        return self.zh if lang == "zh" else self.en


class Help(Frozen):
    """One thing that would help. proven: a plan with it places the job. at: when it is so."""

    kind: str
    en: str
    zh: str
    numbers: Mapping[str, int | str] = {}
    proven: bool = False
    at: Instant | None = None

    def text(self, lang: str) -> str:
        """Return the sentence for `lang` ("zh" or anything else for English)."""
        return self.zh if lang == "zh" else self.en


class NodeNote(Frozen):
    """What stands in the way on one node. code: what shuts it, `model`, or `room`."""

    node: str
    code: str
    en: str
    zh: str
    numbers: Mapping[str, int | str] = {}

    def text(self, lang: str) -> str:
        """Return the sentence for `lang` ("zh" or anything else for English)."""
        return self.zh if lang == "zh" else self.en


class Estimate(Frozen):
    """When a job may start. basis: a stable code; earliest, latest: None = nobody can say."""

    basis: str
    earliest: Instant | None
    latest: Instant | None
    en: str
    zh: str

    def text(self, lang: str) -> str:
        """Return the sentence for `lang` ("zh" or anything else for English)."""
        return self.zh if lang == "zh" else self.en


class Explanation(Frozen):
    """A job explained. ahead: jobs before it in the queue, of `waiting` that wait.

    helps: never empty for a job that waits. nodes: the first of them; node_counts: all, by code.
    """

    tenant: Token
    job: Token
    phase: Phase
    why: Why
    ahead: int | None = None
    waiting: int | None = None
    helps: tuple[Help, ...] = ()
    nodes: tuple[NodeNote, ...] = ()
    node_counts: Mapping[str, int] = {}
    estimate: Estimate | None = None


class Victim(Frozen):
    """A job that would have to leave. cause: as its `preempted` would say; None: it only plans to
    start there. gpu_milli: thousandths of shared GPUs beside the whole ones. lost_gpu_s: GPU
    seconds of work that would be lost, as far as is known.
    """

    tenant: Token
    job: Token
    name: str
    user: str
    cause: str | None
    gpus: int
    gpu_milli: int = 0
    lost_gpu_s: int


class FitOutcome(StrEnum):
    """What the next round would do. placed: `scheduled`. waits: stay queued. declined: end it."""

    PLACED = "placed"
    WAITS = "waits"
    DECLINED = "declined"


class Fit(Frozen):
    """What would become of a job in the next round. placement: node -> workers.

    gpu_milli: thousandths of shared GPUs beside the whole ones.
    wait_s: seconds until those who leave for it must be gone; 0 = it starts at once.
    explanation: why not, where it is not placed. outlook: of an idle job, how long it is likely to
    stay.
    """

    outcome: FitOutcome
    gpus: int
    gpu_milli: int = 0
    workers: int
    placement: Mapping[str, tuple[str, ...]] = {}
    victims: tuple[Victim, ...] = ()
    leaving: tuple[str, ...] = ()
    wait_s: int = 0
    explanation: Explanation | None = None
    outlook: Outlook | None = None
