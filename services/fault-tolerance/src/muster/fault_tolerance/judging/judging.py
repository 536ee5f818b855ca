"""One failed job from its event to the fact that follows. Reads much, writes nothing but records.

`core` decides. Nothing that is asked here may lose a job: who does not answer is done without, and
before the time for a verdict is over it is decided by what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from muster.contracts import subjects
from muster.domain.evidence import FailureEvidence
from muster.domain.facts import Fact, Judged, ReplacementOrdered, Restarted, Submitted
from muster.domain.spec import JobSpec
from muster.domain.state import JobState
from muster.fault_tolerance.core.again import delayed
from muster.fault_tolerance.core.diagnosis import diagnose
from muster.fault_tolerance.core.failure import Earlier, Failure
from muster.fault_tolerance.core.joined import Gathered, earlier_of, joined
from muster.fault_tolerance.core.rules import Rulebook
from muster.fault_tolerance.core.signs import gather
from muster.fault_tolerance.core.strategy import keywords_in
from muster.fault_tolerance.core.verdict import judge
from muster.fault_tolerance.judging.others import Others
from muster.fault_tolerance.judging.questions import Questions
from muster.fault_tolerance.metrics import count_shadows
from muster.log import Recorded
from muster.runtime.journal import Journal
from muster.runtime.service import Aside

Decide = Callable[[JobState, datetime], Judged | None]
"""Decides about a job as it was just read; None when it is not faulted any more."""


class Judging:
    """rules: the rules in force. aside: reading the output of many workers takes a moment."""

    def __init__(
        self,
        journal: Journal,
        questions: Questions,
        rules: Callable[[], Rulebook],
        others: Others,
        aside: Aside,
    ) -> None:
        self._journal, self._questions, self._rules = journal, questions, rules
        self._others, self._aside = others, aside

    async def ends(self, state: JobState) -> FailureEvidence | None:
        """Return who has ended by now; None where nobody answers."""
        return await self._questions.ends(state)

    async def evidence(self, state: JobState) -> FailureEvidence | None:
        """Return what the executor has of the attempt; None where nobody answers."""
        return await self._questions.failure(state)

    async def verdict(self, state: JobState, fact: Fact, found: FailureEvidence | None) -> Decide:
        """Return how the job is to be decided about."""
        book, spec = self._rules(), await self._spec(state)
        marks = await self._others.marks(state, spec)
        failure = await self._failure(state, fact, found, spec)
        failure = await self._others.of_nodes(state, failure)
        signs = await self._aside(partial(gather, failure, book))
        held = diagnose(failure, book, failure.at, signs)
        count_shadows(held.shadow)
        failure = await self._others.at_the_same_time(state, failure, held, marks)
        tails = (worker.tail for worker in failure.workers)
        seen = keywords_in(tails, state.demand.restart_keywords)
        silent = self._others.silent(state.pool)
        wait = 0.0

        def decide(now_state: JobState, now: datetime) -> Judged | None:
            if now_state.attempt != state.attempt:
                return None
            made = judge(now_state, failure, book, now, seen, silent=silent, signs=signs)
            return delayed(made, wait, now) if made else None

        if isinstance(decide(state, failure.at), Restarted | ReplacementOrdered):
            wait = await self._others.turn(state, marks)
        return decide

    async def _failure(
        self, state: JobState, fact: Fact, found: FailureEvidence | None, spec: JobSpec | None
    ) -> Failure:
        signals = await self._questions.signals(state) if found else None
        earlier = await self._earlier(state) if state.faults else ()
        return joined(state, fact, Gathered(found, signals, spec, earlier))

    async def _spec(self, state: JobState) -> JobSpec | None:
        key = subjects.job_key(state.tenant, state.job)
        first = await self._journal.log.last(subjects.Key(key.subject("submitted"), whole=False))
        if first is None:
            return None
        detail = first.event.data.detail
        assert isinstance(detail, Submitted)
        return detail.spec

    async def _earlier(self, state: JobState) -> tuple[Earlier, ...]:
        history = await self._journal.log.history(subjects.job_key(state.tenant, state.job))
        told = ((r.job, r.event.data.detail) for r in history if isinstance(r, Recorded))
        return earlier_of((job, fact) for job, fact in told if isinstance(fact, Judged))
