"""A notice: one person's rule, one job, one transition, and the facts that a card shows.

Built by `rules.notices_for`, kept in the ledger until it is told, put into words by `cards`. It
holds copies of the few facts that it needs, so that what is told never depends on when it is sent,
and names its address: it never holds a webhook or a secret.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

Language = Literal["zh", "en"]


class Trigger(StrEnum):
    """What a rule waits for; a rule takes exactly one."""

    JOB_QUEUED = "job_queued"
    JOB_RUNNING = "job_running"
    JOB_ABNORMAL = "job_abnormal"
    JOB_FAILED = "job_failed"
    JOB_SUCCEEDED = "job_succeeded"


URGENT = frozenset({Trigger.JOB_ABNORMAL, Trigger.JOB_FAILED})
"""News that a person must act on: telling it twice is better than not at all."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the card says about the job. `reason` is (English, Chinese); texts are untrusted.

    requeues_left is None without auto-queue; deadline is the end of the queue entry; hold_until is
    the end of a debug hold; again tells that this is not the job's first entry or start.
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
    reason: tuple[str, str] | None = None
    reason_code: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """One address on one channel. Its notices go one after another, and no other lane waits."""

    channel: str
    address: str


@dataclass(frozen=True, slots=True)
class Notice:
    """What one rule has to say about one transition of one job, at the time it happened.

    version: of the job's state that it tells of.
    """

    rule: str
    trigger: Trigger
    language: Language
    channel: str
    address: str
    tenant: str
    job: str
    transition: str
    version: int
    at: datetime
    facts: Facts

    @property
    def lane(self) -> Lane:
        """Return the way that it goes."""
        return Lane(self.channel, self.address)

    @property
    def key(self) -> tuple[str, str, str]:
        """The identity: the same for redelivery, replay and reordering of the same transition."""
        return (self.rule, self.job, self.transition)

    @property
    def id(self) -> str:
        """Short printable form of the identity, for the card's footer, so people see a repeat."""
        digest = hashlib.sha256("\n".join(self.key).encode()).hexdigest()
        return f"n-{digest[:12]}"
