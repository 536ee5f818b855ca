"""A notice: one person's rule, one transition of one subject, and the facts that a card shows.

Built by `rules`, kept in the ledger until it is told, put into words by `cards`. It holds copies of
the few facts that it needs, so that what is told never depends on when it is sent, and names its
address: it never holds a webhook or a secret.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

Language = Literal["zh", "en"]
Both = tuple[str, str]
"""The same in English and in Chinese."""
Key = tuple[str, str, str]
"""Rule, subject, transition."""


class Trigger(StrEnum):
    """What a rule waits for; a rule takes exactly one."""

    JOB_QUEUED = "job_queued"
    JOB_RUNNING = "job_running"
    JOB_ABNORMAL = "job_abnormal"
    JOB_FAILED = "job_failed"
    JOB_SUCCEEDED = "job_succeeded"
    JOB_PREEMPTED = "job_preempted"
    JOB_RESTARTED = "job_restarted"
    HANG_SUSPECTED = "hang_suspected"
    PROGRESS_LOST = "progress_lost"
    DEBUG_HOLD = "debug_hold"
    NODE_EXCLUDED = "node_excluded"
    INCIDENT = "incident"


OF_THE_FLEET = frozenset({Trigger.NODE_EXCLUDED, Trigger.INCIDENT})
"""News of a node or of many jobs at once: no job's, and so no tenant's."""

URGENT = frozenset(
    {
        Trigger.JOB_ABNORMAL,
        Trigger.JOB_FAILED,
        Trigger.HANG_SUSPECTED,
        Trigger.PROGRESS_LOST,
        Trigger.INCIDENT,
    }
)
"""News that a person must act on: telling it twice is better than not at all."""


class Kind(StrEnum):
    """Why there is a notice: something happened, it still is so, or it happens all the time."""

    NEWS = "news"
    REMINDER = "reminder"
    FLAPPING = "flapping"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the card says about a job. Texts are untrusted; pairs are (English, Chinese).

    entry, attempt: which time it queued and ran. requeues_left: None without auto-queue. deadline:
    the end of the queue entry; hold_until: of a debug hold; leave_by: of the grace of an eviction.
    again: this is not the job's first entry or start. flips: so often it came back to the same
    state within a short while. by, cause: who or what made it leave.
    waited_s: in this queue entry; ran_s: in this attempt. gpu_hours: GPU time of this attempt so
    far; lost_gpu_hours: of what has to be done again. step: the last one told; resumed_step: where
    it went on; checkpoint_step: of the newest checkpoint. worker: who stands out.
    avoid: nodes that the next attempt stays off. Every field that came later has a default, for
    rows that an older version stored.
    """

    name: str
    owner: str
    entry: int
    attempt: int
    gpus: int
    workers: int
    nodes: tuple[str, ...] = ()
    requeues_left: int | None = None
    deadline: datetime | None = None
    hold_until: datetime | None = None
    reason: Both | None = None
    reason_code: str = ""
    again: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    resource_class: str = ""
    pool: str = ""
    advice: Both | None = None
    evidence: tuple[Both, ...] = ()
    by: str = ""
    cause: str = ""
    leave_by: datetime | None = None
    waited_s: float | None = None
    ran_s: float | None = None
    gpu_hours: float | None = None
    lost_gpu_hours: float | None = None
    step: int | None = None
    resumed_step: int | None = None
    checkpoint_step: int | None = None
    worker: str = ""
    flips: int = 0
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the card says about a node that is kept out of new placements.

    times: how often it was, since an operator last opened it. gpus: of the node.
    """

    pool: str
    node: str
    until: datetime | None = None
    why: Both = ("", "")
    times: int = 1
    gpus: int = 0
    gpu_model: str = ""
    proposed: bool = False


@dataclass(frozen=True, slots=True)
class IncidentFacts:
    """What the card says about many failures with one cause. phase: opened or closed.

    kind: as in `muster.domain.incidents`; name: of the storage, registry, switch, rule or pool.
    number: which time it is. closed_by: a person's word; empty if it ended by itself.
    """

    incident: str
    kind: str = ""
    name: str = ""
    phase: Literal["opened", "closed"] = "opened"
    number: int = 1
    pool: str = ""
    jobs: int = 0
    users: int = 0
    nodes: tuple[str, ...] = ()
    since: datetime | None = None
    ended: datetime | None = None
    closed_by: str = ""
    why: Both = ("", "")


AnyFacts: TypeAlias = Facts | NodeFacts | IncidentFacts


def facts_of(trigger: Trigger) -> type[AnyFacts]:
    """Return what a notice of this trigger holds."""
    match trigger:
        case Trigger.NODE_EXCLUDED:
            return NodeFacts
        case Trigger.INCIDENT:
            return IncidentFacts
        case _:
            return Facts


@dataclass(frozen=True, slots=True)
class Lane:
    """One address on one channel. Its notices go one after another, and no other lane waits.

    key: what tells two addresses apart, and is no secret; two names of one webhook are one lane.
    """

    channel: str
    key: str


@dataclass(frozen=True, slots=True)
class Notice:
    """What one rule has to say about one transition of one subject, at the time it happened.

    subject: a job's id, `pool/node`, or an incident's id. version: of its state that this tells of.
    tenant: the rule's. label: of the address, as its lane is called. due: not to be told before.
    """

    rule: str
    trigger: Trigger
    language: Language
    channel: str
    address: str
    tenant: str
    subject: str
    transition: str
    version: int
    at: datetime
    facts: AnyFacts
    kind: Kind = Kind.NEWS
    label: str = ""
    due: datetime | None = None

    @property
    def lane(self) -> Lane:
        """Return the way that it goes."""
        return Lane(self.channel, self.label)

    @property
    def key(self) -> Key:
        """The identity: the same for redelivery, replay and reordering of the same transition."""
        return (self.rule, self.subject, self.transition)

    @property
    def id(self) -> str:
        """Short printable form of the identity, for the card's footer, so people see a repeat."""
        return notice_id(self.key)

    @property
    def of_job(self) -> Facts:
        """The facts of a job's notice."""
        assert isinstance(self.facts, Facts)
        return self.facts


def notice_id(*keys: Key) -> str:
    """Return the id of a message that tells these."""
    parts = "\n".join("\n".join(key) for key in keys)
    return f"n-{hashlib.sha256(parts.encode()).hexdigest()[:12]}"
