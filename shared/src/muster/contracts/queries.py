"""Questions about the plan of a pool, and their answers: core NATS, request and reply.

A question is JSON on `queries.<pool>.<kind>`. Any replica of the scheduler that has read the log
answers, leading or not: it changes nothing, and says up to which sequence of the log it knew.
Nothing of this is stored; a question that nobody answers is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from muster.domain.model import Frozen, Instant, Strict, Token
from muster.domain.violations import Violation
from muster.domain.waiting import Explanation, Fit
from muster.domain.whatif import LONGEST, MOST

MOST_BYTES = 262_144
"""Of a question, as of a request."""

Priority = Literal["low", "normal", "high"] | Annotated[int, Field(ge=1, le=99)]


class Query(Strict):
    """Base of all questions. what_if: see `domain.whatif`; all of them at once.

    priority: as if the job had this one. at_least: the answer must know the log up to here.
    """

    kind: ClassVar[str]
    what_if: Annotated[
        tuple[Annotated[str, Field(max_length=LONGEST)], ...], Field(max_length=MOST)
    ] = ()
    priority: Priority | None = None
    at_least: Annotated[int, Field(ge=0)] = 0


class ExplainJob(Query):
    """Why is this job not running, and what would help?"""

    kind: ClassVar[str] = "explain"
    tenant: Token
    job: Token


class FitJob(Query):
    """What would become of this job if it was submitted now? It is not."""

    kind: ClassVar[str] = "fit"
    tenant: Token
    user: Annotated[str, Field(min_length=1, max_length=128)]
    spec: Mapping[str, Any]


QUERIES: dict[str, type[Query]] = {query.kind: query for query in Query.__subclasses__()}
"""kind -> model."""


class QueryAnswer(Frozen):
    """What the plan says at one place of the log.

    position: the answer knows every event of the pool up to this sequence. at: the instant that it
    is for. epoch, round: of the pool, as far as known there. violations: why there is no answer.
    """

    kind: str
    pool: Token
    position: int
    at: Instant
    epoch: int | None = None
    round: int | None = None
    violations: tuple[Violation, ...] = ()
    explanation: Explanation | None = None
    fit: Fit | None = None
