"""Asks the executor what it has of a failed attempt, in questions whose answers fit a message.

First who ended when and what nodes say, then the output: much of those that failed first, a little
of the rest. Silence is no evidence: without a first answer there is none, without output there is
what the first answer has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from muster.bus import Bus
from muster.contracts import subjects
from muster.contracts.evidence import AskFailure, AskSignals, JobRef, Signals, unpack
from muster.domain.errors import Permanent, Temporary
from muster.domain.evidence import FailureEvidence, JobSignals, WorkerEvidence
from muster.domain.state import JobState
from muster.fault_tolerance.core.ranking import has_ended
from muster.fault_tolerance.core.signs import AFTER, BEFORE, ended_at

ANSWER_S = 5.0
"""So long an answer is waited for."""
FIRST, FIRST_BYTES = 16, 65_536
"""Of so many workers that failed first, so much output is read."""
PAGE, REST_BYTES = 256, 4096
"""Of the others so much, so many in one question."""
_MARGIN = timedelta(minutes=1)
_NEVER = timedelta(days=3650)

_LOG = structlog.get_logger("muster.fault_tolerance")


class Questions:
    """Nothing is kept: each failure is asked about afresh."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def ends(self, state: JobState) -> FailureEvidence | None:
        """Return who has ended by now, without any output; None where nobody answers."""
        return await self._failure(state, (), 0)

    async def failure(self, state: JobState) -> FailureEvidence | None:
        """Return what is known of the attempt that failed; None where nobody answers."""
        small = len(state.placed_on) <= FIRST
        tails = tuple(state.placed_on) if small else ()
        found = await self._failure(state, tails, FIRST_BYTES)
        if found is None or small:
            return found
        output: dict[str, str] = {}
        for names, most in _pages(found.workers, state.since):
            part = await self._failure(state, names, most, lines=False)
            if part is None:
                break
            output |= {worker.worker: worker.tail for worker in part.workers if worker.tail}
        return _with_output(found, output)

    async def signals(self, state: JobState) -> JobSignals | None:
        """Return how far the attempt told that it had come; None where nobody can say."""
        ref = JobRef(tenant=state.tenant, job=state.job, attempt=state.attempt)
        raw = await self._ask(state.pool, AskSignals(jobs=(ref,)))
        found = unpack(Signals, raw).jobs if raw is not None else ()
        return next((each for each in found if each.job == state.job), None)

    async def _failure(
        self, state: JobState, tails: Sequence[str], most: int, *, lines: bool = True
    ) -> FailureEvidence | None:
        asked = AskFailure(
            tenant=state.tenant,
            job=state.job,
            attempt=state.attempt,
            tails=tuple(tails),
            tail_bytes=most,
            # ends are told late: the window round them is cut once they are known
            since=state.since - BEFORE - _MARGIN if lines else state.since,
            until=state.since + AFTER if lines else state.since,
        )
        raw = await self._ask(state.pool, asked)
        return unpack(FailureEvidence, raw) if raw is not None else None

    async def _ask(self, pool: str, question: AskFailure | AskSignals) -> bytes | None:
        subject = subjects.evidence_subject(pool, question.kind)
        body = question.model_dump_json(exclude_none=True).encode()
        try:
            return await self._bus.ask(subject, body, ANSWER_S)
        except (Temporary, Permanent) as error:
            _LOG.info("no evidence", pool=pool, question=question.kind, why=str(error))
            return None


def _pages(
    workers: Sequence[WorkerEvidence], at: datetime
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield whose output is asked for in one question, and how much of it."""
    order = sorted(workers, key=lambda w: (_end(w, at), w.rank))
    names = [worker.worker for worker in order]
    yield tuple(names[:FIRST]), FIRST_BYTES
    for begin in range(FIRST, len(names), PAGE):
        yield tuple(names[begin : begin + PAGE]), REST_BYTES


def _end(worker: WorkerEvidence, at: datetime) -> datetime:
    if not has_ended(worker):
        return at + _NEVER
    return ended_at(worker) or at


def _with_output(found: FailureEvidence, output: Mapping[str, str]) -> FailureEvidence:
    workers = (w.model_copy(update={"tail": output.get(w.worker, "")}) for w in found.workers)
    return found.model_copy(update={"workers": tuple(workers)})
