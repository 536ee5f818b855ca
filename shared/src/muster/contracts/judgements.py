"""Questions to fault tolerance about nodes and failures, and their answers: core NATS.

A question is JSON on `judgements.<kind>`; any replica answers from its database and the log.
Nothing of this is stored. Texts that came from a job's output are data, never markup.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from muster.domain.model import Frozen, Instant, Strict, Token


class JudgementQuestion(Strict):
    """Base of all questions."""

    kind: ClassVar[str]


class AskNodes(JudgementQuestion):
    """Which nodes do failures point at? pool: of this one; None = of all."""

    kind: ClassVar[str] = "nodes"
    pool: Token | None = None


class AskFingerprints(JudgementQuestion):
    """Which failures does no rule know? limit: so many clusters, those of most jobs first."""

    kind: ClassVar[str] = "fingerprints"
    limit: Annotated[int, Field(ge=1, le=500)] = 50


JUDGEMENT_QUESTIONS: dict[str, type[JudgementQuestion]] = {
    question.kind: question for question in JudgementQuestion.__subclasses__()
}
"""kind -> model."""


class NodeRating(Frozen):
    """A node against the fleet, by failures of the last 28 days that were attributed to it.

    jobs, users: so many had one there. stays, failed: attempts, the older the less they weigh.
    rate: failed of stays; low, high: where it surely lies (95 %). rules: the most frequent, with
    how many jobs. proposed: an operator should close it. why: of a suspicion. held: the brake that
    keeps the node from being kept out, in words.
    """

    pool: Token
    node: str
    serial: str | None = None
    condition: str
    cordoned: bool = False
    suspected: bool = False
    excluded_until: Instant | None = None
    exclusions: int = 0
    jobs: int = 0
    users: int = 0
    stays: float = 0.0
    failed: float = 0.0
    rate: float = 0.0
    low: float = 0.0
    high: float = 1.0
    rules: tuple[tuple[str, int], ...] = ()
    last_at: Instant | None = None
    proposed: bool = False
    why: str = ""
    why_zh: str = ""
    held: str = ""
    held_zh: str = ""


class NodeRatings(Frozen):
    """The answer to AskNodes: the surest first. fleet: the median rate; rated: of so many nodes."""

    at: Instant
    fleet: float
    rated: int
    nodes: tuple[NodeRating, ...] = ()


class FingerprintCluster(Frozen):
    """Failures that no rule knows and that look alike. excerpt: the end of one's output."""

    fingerprint: str
    failures: int
    jobs: int
    users: int
    first_at: Instant
    last_at: Instant
    nodes: tuple[str, ...] = ()
    excerpt: str = ""


class FingerprintClusters(Frozen):
    """The answer to AskFingerprints."""

    clusters: tuple[FingerprintCluster, ...] = ()
