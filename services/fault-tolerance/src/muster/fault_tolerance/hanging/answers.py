"""Answers whoever asks what hang detection makes of a job: `muster hang JOB`. Changes nothing."""

from __future__ import annotations

from pydantic import ValidationError

from muster.bus import Question
from muster.contracts import subjects
from muster.contracts.fault_questions import FAULT_QUESTIONS, AskHang, FamilySays, HangAnswer
from muster.domain.errors import Permanent, Temporary
from muster.domain.state import JobState
from muster.fault_tolerance.core.hang import Reading
from muster.fault_tolerance.core.hang_track import Track
from muster.fault_tolerance.hanging.watching import Watching
from muster.runtime.journal import Journal

BEHIND_S = 0.5


class Answers:
    """See the module."""

    def __init__(self, journal: Journal, watching: Watching) -> None:
        self._journal, self._watching = journal, watching

    async def answer(self, question: Question) -> bytes:
        """Answer one question. Raises Temporary while the log is being read, Permanent."""
        asked = _read(question)
        if not self._watching.watch.caught_up:
            raise Temporary("the log is still being read", delay=BEHIND_S)
        last = await self._journal.job(asked.tenant, asked.job)
        if last is None:
            raise Permanent(f"there is no job {asked.job}")
        return (await self._of(last.job)).model_dump_json(exclude_none=True).encode()

    async def _of(self, state: JobState) -> HangAnswer:
        limits = state.demand.hang
        why = await self._watching.unarmed(state)
        answer = HangAnswer(
            tenant=state.tenant,
            job=state.job,
            attempt=state.attempt,
            unarmed=why,
            restart=limits is not None and limits.restart,
            user_window_s=limits.window_s if limits else None,
        )
        seen = None if why else self._watching.reading(state)
        return answer if seen is None else _with(answer, *seen)


def _read(question: Question) -> AskHang:
    kind = subjects.parse(question.subject).event
    model = FAULT_QUESTIONS.get(kind)
    if model is None:
        raise Permanent(f"no question {kind!r}; there are: {', '.join(sorted(FAULT_QUESTIONS))}")
    try:
        asked = model.model_validate_json(question.body)
    except ValidationError as error:
        raise Permanent(f"not a question about faults: {error}") from error
    assert isinstance(asked, AskHang)
    return asked


def _with(answer: HangAnswer, track: Track, reading: Reading) -> HangAnswer:
    found = reading.suspicion
    seen = {
        "watched_s": track.last.at - track.began,
        "stage": reading.stage,
        "step": track.step,
        "silent_s": reading.silent_s,
        "limit_s": reading.limit_s,
        "window_s": reading.window_s,
        "contradicted_s": reading.contradicted_s,
        "proven": reading.proven,
        "suspected": found is not None,
        "doubtful": found is not None and found.doubtful,
        "worker": found.worker if found else None,
        "p99_s": track.learned.p99,
        "longest": dict(track.learned.longest),
        "families": tuple(
            FamilySays(
                family=told.family,
                sign=told.sign,
                why=told.why,
                seconds=told.seconds,
                worker=told.worker,
            )
            for told in reading.told
        ),
    }
    return answer.model_copy(update=seen)
