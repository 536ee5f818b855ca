"""`muster submit FILE`: checks, sends, and with --follow stays with each job to its end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from muster.cli import failures, output
from muster.cli.building import built
from muster.cli.errors import Refusal
from muster.cli.exits import Exit
from muster.cli.following import OUTCOMES, follow_job
from muster.cli.reach import Reach, reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.specs import Job, read_jobs, title
from muster.cli.texts import say
from muster.cli.views.followed import JsonWatcher, PlainWatcher, end_line
from muster.cli.words import between
from muster.contracts.requests import Submit
from muster.domain.state import JobState

app = typer.Typer(add_completion=False)


@app.command(help=say("help.submit"))
def submit(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help=say("argument.file"), metavar="FILE")],
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help=say("option.follow.submit"))
    ] = False,
    name: Annotated[str | None, typer.Option(help=say("option.name"))] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help=say("option.set"), metavar="FIELD=VALUE")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant.own"))] = None,
) -> None:
    """Nothing is sent unless every job of the file keeps the rules."""
    session = session_of(context)
    jobs = read_jobs(file, name=name, changes=change or [])
    code = run(_submit(session, jobs, tenant or session.tenant_or_default, follow=follow))
    raise typer.Exit(code)


async def _submit(session: Session, jobs: list[Job], tenant: str, *, follow: bool) -> Exit:
    async with reach(session) as muster:
        submitted, code = await _send_all(session, muster, tenant, jobs, follow=follow)
        for state in submitted if follow else ():
            code = max(code, await _follow(session, muster, state))
        return code


async def _send_all(
    session: Session, muster: Reach, tenant: str, jobs: list[Job], *, follow: bool
) -> tuple[list[JobState], Exit]:
    """Send every job: one that is refused stops no other. Raises Refusal for one alone."""
    submitted: list[JobState] = []
    told: list[object] = []
    for job in jobs:
        try:
            state = await _send(session, muster, tenant, job)
        except Refusal as error:
            if len(jobs) == 1:
                raise
            told.append({"tenant": tenant, "name": job.name} | failures.as_document(error))
            if not session.as_json or follow:
                failures.show(error)
        else:
            submitted.append(state)
            told.append({"tenant": state.tenant, "job": state.job, "name": state.name})
    if session.as_json and not follow:
        output.document(told)
    return submitted, Exit.DONE if len(submitted) == len(jobs) else Exit.FAILED


async def _send(session: Session, muster: Reach, tenant: str, job: Job) -> JobState:
    body = built(Submit, user=session.user, spec=job.value)
    answer = await muster.request(tenant, body)
    if not answer.accepted or answer.job is None:
        raise Refusal("request", answer.violations, what=title(job))
    if not session.as_json:
        output.line(say("submit.done", name=job.name, job=answer.job))
    state = await muster.state(tenant, answer.job)
    assert state is not None
    return state


async def _follow(session: Session, muster: Reach, state: JobState) -> Exit:
    started = await muster.now()
    watcher = JsonWatcher() if session.as_json else PlainWatcher()
    try:
        last = await follow_job(muster, state, watcher)
    except BaseException:
        output.line(say("follow.left", job=state.job), stderr=True)
        raise
    if not session.as_json:
        _say_end(last, started)
    return OUTCOMES.get(last.phase, Exit.FAILED)


def _say_end(last: JobState, started: datetime) -> None:
    output.line(end_line(last, between(started, last.ended_at or last.since)))
