"""`muster logs JOB`: what its workers printed, and with -f what they print."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.errors import CliError
from muster.cli.following import OUTCOMES
from muster.cli.reach import Reach, reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.tailing import Printed, Tail, sources
from muster.cli.texts import say
from muster.cli.views.lines import printed_line
from muster.domain.state import JobState

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which lines; None and 0 choose all."""

    worker: str | None = None
    attempt: int | None = None
    tail: int = 0

    def takes(self, line: Printed) -> bool:
        """Tell whether a line is wanted."""
        return self.worker in {None, line.worker} and self.attempt in {None, line.attempt}


@app.command(help=say("help.logs"))
def logs(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help=say("argument.job"), metavar="JOB")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help=say("option.follow"))] = False,
    worker: Annotated[str | None, typer.Option(help=say("option.worker"))] = None,
    attempt: Annotated[int | None, typer.Option(help=say("option.attempt"), min=1)] = None,
    tail: Annotated[int, typer.Option(help=say("option.tail"), min=0)] = 0,
    tenant: Annotated[str | None, typer.Option(help=say("option.tenant"))] = None,
) -> None:
    """History first, then what comes."""
    session = session_of(context)
    choice = Choice(worker, attempt, tail)
    run(_logs(session, job, tenant or session.tenant, choice, follow=follow))


async def _logs(
    session: Session, text: str, tenant: str | None, choice: Choice, *, follow: bool
) -> None:
    async with reach(session) as muster:
        state = await muster.find(text, tenant)
        lines = Tail(muster, state.tenant, state.job)
        ending = asyncio.create_task(_finish(muster, state, lines, follow=follow))
        try:
            seen = await _print(session, lines, choice, follow=follow)
        finally:
            ending.cancel()
        if not seen and not follow and not _has_output(muster, state):
            raise CliError("no_logs", job=state.job)


def _has_output(muster: Reach, state: JobState) -> bool:
    folder = muster.log_folder
    return folder is not None and any(sources(folder / state.job))


async def _finish(muster: Reach, state: JobState, lines: Tail, *, follow: bool) -> None:
    if follow:
        async for item in muster.job_events(state.tenant, state.job):
            if item.job.phase in OUTCOMES and not item.job.held:
                break
    lines.finish()


async def _print(session: Session, lines: Tail, choice: Choice, *, follow: bool) -> int:
    last: dict[tuple[int, str], deque[Printed]] = defaultdict(lambda: deque(maxlen=choice.tail))
    count = 0
    async for line in lines.lines():
        if not choice.takes(line):
            continue
        count += 1
        if choice.tail and not follow:
            last[line.attempt, line.worker].append(line)
        else:
            _one(session, line)
    for kept in last.values():
        _all(session, kept)
    return count


def _all(session: Session, lines: Iterable[Printed]) -> None:
    for line in lines:
        _one(session, line)


def _one(session: Session, line: Printed) -> None:
    if session.as_json:
        output.record({"attempt": line.attempt, "worker": line.worker, "line": line.text})
    else:
        output.line(printed_line(line.worker, line.attempt, line.text))
