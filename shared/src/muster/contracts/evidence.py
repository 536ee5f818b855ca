"""What fault tolerance asks an executor, and the answers: core NATS, request and reply.

A question is JSON on `evidence.<pool>.<kind>`; the executor of the pool answers from what it sees
now. Nothing is stored: silence of an executor means that nobody knows, and proves nothing. Answers
are compressed JSON, so that the output of hundreds of workers fits into one.
"""

from __future__ import annotations

import zlib
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field, ValidationError

from muster.domain.errors import Permanent
from muster.domain.evidence import FailureEvidence, JobSignals
from muster.domain.model import Frozen, Instant, Strict, Token

TAIL = 65_536
"""Bytes of the end of one worker's output, at most."""
MOST_TAILS = 4_194_304
"""Bytes of output in one answer, before it is compressed, at most: tails are cut to fit."""
MOST_ANSWER = 33_554_432
"""Bytes of an answer once it is unpacked, at most."""


class EvidenceQuestion(Strict):
    """Base of the questions."""

    kind: ClassVar[str]


class AskFailure(EvidenceQuestion):
    """What is known of the workers and nodes of an attempt?

    tails: of which workers the end of the output is wanted, so many bytes of each. since, until:
    lines about nodes are wanted from this window.
    """

    kind: ClassVar[str] = "failure"
    tenant: Token
    job: Token
    attempt: int
    tails: Annotated[tuple[str, ...], Field(max_length=4096)] = ()
    tail_bytes: Annotated[int, Field(ge=0, le=TAIL)] = TAIL
    since: Instant | None = None
    until: Instant | None = None


class JobRef(Strict):
    """One attempt of one job."""

    tenant: Token
    job: Token
    attempt: int


class AskSignals(EvidenceQuestion):
    """Which signs of life do these attempts show? stacks: look at where the processes stand, too.

    Looking at stacks stops a process for a moment, so it is asked only of a silent one.
    """

    kind: ClassVar[str] = "signals"
    jobs: Annotated[tuple[JobRef, ...], Field(max_length=1000)]
    stacks: bool = False


class Signals(Frozen):
    """The answer to AskSignals: of those that this executor runs."""

    jobs: tuple[JobSignals, ...] = ()


EVIDENCE_QUESTIONS: dict[str, type[EvidenceQuestion]] = {
    question.kind: question for question in EvidenceQuestion.__subclasses__()
}
"""kind -> model."""

Packed = TypeVar("Packed", FailureEvidence, Signals)


def pack(answer: FailureEvidence | Signals) -> bytes:
    """Return an answer as it is sent."""
    return zlib.compress(answer.model_dump_json(exclude_defaults=True).encode(), level=1)


def unpack(model: type[Packed], raw: bytes) -> Packed:
    """Read an answer. Raises Permanent for anything that is none."""
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(raw, MOST_ANSWER)
        if reader.unconsumed_tail:
            raise Permanent(f"an answer of more than {MOST_ANSWER} bytes is refused")
        return model.model_validate_json(text)
    except (zlib.error, ValidationError) as error:
        raise Permanent(f"not an answer about evidence: {error}") from error
