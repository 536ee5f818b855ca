"""`muster fit FILE`: would this job be placed now, where, and who would have to leave?

Nothing is submitted. The scheduler plans a round with the job in it, at a stated place of the log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from muster.bus import NobodyAnswers
from muster.cli import failures, output
from muster.cli.errors import CliError, Refusal
from muster.cli.exits import Exit
from muster.cli.imagining import AsIfPriority, SnapshotFile, Supposed, WhatIf, supposed
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.specs import Job, read_jobs, title
from muster.cli.still import Still, read_still
from muster.cli.texts import say
from muster.cli.views.plan import answer_lines
from muster.contracts.queries import QueryAnswer
from muster.domain.waiting import FitOutcome

app = typer.Typer(add_completion=False)

Ask = Callable[[Job], Awaitable[QueryAnswer]]


@app.command(help=say("help.fit"))
def fit(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help=say("argument.file"), metavar="FILE")],
    what_if: WhatIf = None,
    priority: AsIfPriority = None,
    name: Annotated[str | None, typer.Option(help=say("option.name"))] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help=say("option.set"), metavar="FIELD=VALUE")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant.own"))] = None,
    snapshot: SnapshotFile = None,
) -> None:
    """Each job of the file alone; the exit code is 0 when every one would be placed."""
    session = session_of(context)
    as_if = supposed(what_if or (), priority)
    jobs = read_jobs(file, name=name, changes=change or [])
    own = tenant or session.tenant_or_default
    if snapshot is not None:
        code = run(_replay(session, jobs, own, as_if, read_still(snapshot)))
    else:
        code = run(_live(session, jobs, own, as_if))
    raise typer.Exit(code)


async def _live(session: Session, jobs: list[Job], tenant: str, as_if: Supposed) -> Exit:
    async with reach(session) as muster:

        async def ask(job: Job) -> QueryAnswer:
            pool = job.spec.resource.pool
            try:
                return await muster.fit(job.value, tenant, session.user, pool, as_if)
            except NobodyAnswers as error:
                seconds = f"{error.seconds:.1f}"
                raise CliError(
                    "no_scheduler", Exit.UNREACHABLE, pool=pool, seconds=seconds
                ) from error

        return await _fit_all(session, jobs, ask)


async def _replay(
    session: Session, jobs: list[Job], tenant: str, as_if: Supposed, still: Still
) -> Exit:
    async def ask(job: Job) -> QueryAnswer:
        return await still.fit(job.value, tenant, session.user, as_if)

    return await _fit_all(session, jobs, ask)


async def _fit_all(session: Session, jobs: list[Job], ask: Ask) -> Exit:
    told: list[object] = []
    code = Exit.DONE
    for job in jobs:
        answer = await ask(job)
        if answer.violations:
            refusal = Refusal("question", answer.violations, what=title(job))
            if len(jobs) == 1:
                raise refusal
            told.append({"name": job.name} | failures.as_document(refusal))
            if not session.as_json:
                failures.show(refusal)
        else:
            told.append({"name": job.name} | answer.model_dump(mode="json"))
            if not session.as_json:
                _show(job, answer)
        if answer.fit is None or answer.fit.outcome is not FitOutcome.PLACED:
            code = Exit.FAILED
    if session.as_json:
        output.document(told)
    return code


def _show(job: Job, answer: QueryAnswer) -> None:
    for line in answer_lines(answer, job.name):
        output.line(line)
