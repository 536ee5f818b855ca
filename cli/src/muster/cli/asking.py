"""Requests about jobs that exist: `muster stop` and `muster resume`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muster.cli import failures, output
from muster.cli.errors import CliError, Refusal
from muster.cli.exits import Exit
from muster.cli.reach import Reach, reach
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
) -> Exit:
    """Send a request for each job, and say what became of it; one that is refused stops no other.

    Returns FAILED when one of several was refused. Raises CliError for a job that stands alone.
    """
    told: list[object] = []
    code = Exit.DONE
    async with reach(session) as muster:
        for text in jobs:
            try:
                answer = await _ask(muster, await muster.find(text, tenant), verb, request, session)
                told.append(answer.model_dump(mode="json"))
            except CliError as error:
                if len(jobs) == 1 or error.exit_code is Exit.UNREACHABLE:
                    raise
                told.append({"job": text, "accepted": False} | failures.as_document(error))
                code = Exit.FAILED
                if not session.as_json:
                    failures.show(error)
    if session.as_json:
        output.document(told)
    return code


async def _ask(
    muster: Reach,
    job: JobState,
    verb: str,
    request: Callable[[JobState], JobRequest],
    session: Session,
) -> Answer:
    answer = await muster.request(job.tenant, request(job))
    if not answer.accepted:
        raise Refusal("request", answer.violations, what=say(f"ask.what.{verb}", job=job.job))
    if not session.as_json:
        state = await muster.state(job.tenant, job.job)
        words = pick(SHOWN_TEXT[(state or job).shown])
        output.line(say(f"ask.done.{verb}", job=job.job, phase=words))
    return answer
