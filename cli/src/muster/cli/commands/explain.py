"""`muster explain JOB`: why it is where it is, what would help, and what happens next.

Asks the scheduler, which plans a round and answers for this one job; when nobody answers, the last
round's summary is told, and that it is old. With --if or --priority: as if.
"""

from __future__ import annotations

from typing import Annotated

import typer

from muster.bus import NobodyAnswers
from muster.cli import output
from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.imagining import AsIfPriority, SnapshotFile, Supposed, WhatIf, supposed
from muster.cli.reach import Reach, reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.still import Still, read_still
from muster.cli.texts import say
from muster.cli.views.explanation import explanation, explanation_document
from muster.cli.views.plan import answer_lines, told_lines
from muster.cli.views.tried import tried
from muster.cli.waiting import elsewhere
from muster.contracts.queries import QueryAnswer
from muster.domain.phases import TERMINAL
from muster.domain.state import JobState

app = typer.Typer(add_completion=False)


@app.command(help=say("help.explain"))
def explain(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    what_if: WhatIf = None,
    priority: AsIfPriority = None,
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
    snapshot: SnapshotFile = None,
) -> None:
    """Say it in a few sentences."""
    session = session_of(context)
    as_if = supposed(what_if or (), priority)
    if snapshot is not None:
        run(_replay(session, read_still(snapshot), job, as_if))
    else:
        run(_explain(session, job, tenant or session.tenant, as_if))


async def _explain(session: Session, text: str, tenant: str | None, as_if: Supposed) -> None:
    async with reach(session) as muster:
        state = await muster.find(text, tenant)
        answer = await _asked(muster, state, as_if)
        summary = await muster.pool(state.pool)
        now = await muster.now()
        other = elsewhere(state, await muster.nodes())
        history = await muster.history(state.tenant, state.job) if state.parked else ()
    found = tried(history, now)
    if session.as_json:
        document = explanation_document(state, summary, answer)
        before = [each.model_dump(mode="json") for each in found]
        output.document(document | {"elsewhere": other or None, "tried": before})
        return
    for line in explanation(state, summary, now, answer, found):
        output.line(line)
    for words in told_lines(state, answer):
        output.line(words)
    if other:
        output.line(other)


async def _asked(muster: Reach, state: JobState, as_if: Supposed) -> QueryAnswer | None:
    """Ask the scheduler; None when nobody answers and the summary may do instead."""
    if state.phase in TERMINAL and not as_if:
        return None
    try:
        answer = await muster.explain(state, as_if)
    except NobodyAnswers as error:
        if as_if:
            raise CliError(
                "no_scheduler", Exit.UNREACHABLE, pool=state.pool, seconds=f"{error.seconds:.1f}"
            ) from error
        return None
    return answer


async def _replay(session: Session, still: Still, text: str, as_if: Supposed) -> None:
    answer = await still.explain(text, as_if)
    if session.as_json:
        output.document(answer)
        return
    for line in answer_lines(answer):
        output.line(line)
