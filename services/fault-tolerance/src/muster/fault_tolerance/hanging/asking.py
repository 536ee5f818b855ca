"""Asks the executor of a pool what it sees, in questions that it can answer. Silence is no news."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import structlog

from muster.bus import Bus
from muster.contracts import subjects
from muster.contracts.evidence import (
    AskFailure,
    AskSignals,
    EvidenceQuestion,
    JobRef,
    Signals,
    unpack,
)
from muster.domain.errors import Permanent, Temporary
from muster.domain.evidence import FailureEvidence, JobSignals
from muster.domain.state import JobState

TIMEOUT_S = 10.0
JOBS, WORKERS, STACKS = 1000, 4096, 64
"""Of one question, at most; so many workers where stacks are looked at, which takes a while."""
TAIL_BYTES = 8192

_LOG = structlog.get_logger("muster.fault_tolerance")


class Asking:
    """See the module."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def signals(
        self, pool: str, states: Sequence[JobState], *, stacks: bool
    ) -> tuple[JobSignals, ...] | None:
        """Return signs of life of those of a few jobs of which the executor can tell; None if it
        does not answer."""
        refs = tuple(JobRef(tenant=s.tenant, job=s.job, attempt=s.attempt) for s in states)
        raw = await self._ask(pool, AskSignals(jobs=refs, stacks=stacks))
        return None if raw is None else unpack(Signals, raw).jobs

    async def output(self, state: JobState, workers: Sequence[str]) -> dict[str, str]:
        """Return the end of what these workers have printed, as far as somebody can tell."""
        question = AskFailure(
            tenant=state.tenant,
            job=state.job,
            attempt=state.attempt,
            tails=tuple(workers),
            tail_bytes=TAIL_BYTES,
        )
        raw = await self._ask(state.pool, question)
        if raw is None:
            return {}
        found = unpack(FailureEvidence, raw)
        return {each.worker: each.tail for each in found.workers if each.tail}

    async def _ask(self, pool: str, question: EvidenceQuestion) -> bytes | None:
        subject = subjects.evidence_subject(pool, question.kind)
        body = question.model_dump_json(exclude_none=True).encode()
        try:
            return await self._bus.ask(subject, body, TIMEOUT_S)
        except (Temporary, Permanent) as error:
            _LOG.info("no signals", pool=pool, question=question.kind, why=str(error))
            return None


def parts(states: Sequence[JobState], most: int) -> Iterator[list[JobState]]:
    """Cut jobs into groups that fit into one question of so many workers."""
    part: list[JobState] = []
    workers = 0
    for state in states:
        size = len(state.placed_on)
        if part and (len(part) == JOBS or workers + size > most):
            yield part
            part, workers = [], 0
        part.append(state)
        workers += size
    if part:
        yield part
