"""Requests about jobs that exist: `muster stop` and `muster resume`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muster.cli import output
from muster.cli.errors import Refusal
from muster.cli.reach import reach
from muster.cli.session import Session
from muster.cli.texts import pick, say
from muster.contracts.requests import Answer, JobRequest
from muster.domain.phases import SHOWN_TEXT
from muster.domain.state import JobState


async def ask_about(
    session: Session,
    jobs: Sequence[str],
    tenant: str | None,
    verb: str,
    request: Callable[[JobState], JobRequest],
) -> None:
    """Send a request for each job, and say what became of it. Raises Refusal at the first no."""
    async with reach(session) as muster:
        found = [await muster.find(text, tenant) for text in jobs]
        answers = []
        for job in found:
            answer = await muster.request(job.tenant, request(job))
            if not answer.accepted:
                what = say(f"ask.what.{verb}", job=job.job)
                raise Refusal("request", answer.violations, what=what)
            answers.append(answer)
            if not session.as_json:
                state = await muster.state(job.tenant, job.job)
                words = pick(SHOWN_TEXT[(state or job).shown])
                output.line(say(f"ask.done.{verb}", job=job.job, phase=words))
    if session.as_json:
        output.document(answers_document(answers))


def answers_document(answers: Sequence[Answer]) -> list[object]:
    """Return answers for JSON."""
    return [answer.model_dump(mode="json") for answer in answers]
