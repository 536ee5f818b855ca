"""Facts about a whole pool or cluster: who may decide there, and what was decided last."""

from __future__ import annotations

from typing import ClassVar

from muster.domain.model import Frozen, Instant


class PoolFact(Frozen):
    """Base of facts that are not about one job or one node."""

    event: ClassVar[str]
    version: ClassVar[int] = 1


class EpochTaken(PoolFact):
    """From here on only this holder's batches (pool) or effects (cluster) count."""

    event: ClassVar[str] = "epoch"
    epoch: int
    holder: str


class RoundDecided(PoolFact):
    """A placement round has run on everything up to a sequence of the log.

    upto: last sequence of the log that the round knew. at: the instant the round was for.
    Proof, for deadlines, that a job had its chance (decision D2).
    """

    event: ClassVar[str] = "decided"
    epoch: int
    round: int
    upto: int
    at: Instant
    scheduled: int = 0
    preempted: int = 0
    waiting: int = 0
    remainder: int = 0


class PoolSummary(PoolFact):
    """Capacity of the pool at a glance. why: job -> reason it is not running yet, compactly."""

    event: ClassVar[str] = "summary"
    nodes: int
    gpus: int
    gpus_free: int
    waiting: int


POOL_FACTS: dict[str, type[PoolFact]] = {fact.event: fact for fact in PoolFact.__subclasses__()}
