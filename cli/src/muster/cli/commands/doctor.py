"""`muster doctor`: looks at everything that must be right, and says what to do where it is not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import typer

from muster.cli import output
from muster.cli.checkup.finding import Finding, Severity, problem, refused
from muster.cli.checkup.jobs import jobs
from muster.cli.checkup.machine import machine
from muster.cli.checkup.server import server
from muster.cli.checkup.services import services
from muster.cli.checkup.streams import streams
from muster.cli.connecting import Address, address, connection_to
from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.stack.folder import StateFolder
from muster.cli.texts import say
from muster.cli.views.findings import findings_view
from muster.client import MusterClient
from muster.domain.errors import MusterError
from muster.log.jetstream import JetStreamLog

app = typer.Typer(add_completion=False)


@app.command(help=say("help.doctor"))
def doctor(context: typer.Context) -> None:
    """Print every finding; exit code 1 when one of them is a problem."""
    session = session_of(context)
    findings = run(_look(session))
    problems = sum(finding.severity is Severity.PROBLEM for finding in findings)
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    if session.as_json:
        documents = [finding.document() for finding in findings]
        output.document({"problems": problems, "warnings": warnings, "findings": documents})
    else:
        output.show(findings_view(findings))
        output.line(summary(problems, warnings))
    raise typer.Exit(Exit.FAILED if problems else Exit.DONE)


def summary(problems: int, warnings: int) -> str:
    """Return the last line: nobody is told that all is well under a line that warns."""
    counts = [("doctor.count", problems), ("doctor.warnings", warnings)]
    said = [say(key, count=count) for key, count in counts if count]
    return say("comma").join(said) or say("doctor.healthy")


async def _look(session: Session) -> list[Finding]:
    folder = StateFolder(session.state_dir)
    findings = list(machine(folder))
    try:
        found = address(session)
    except CliError as error:
        return [*findings, problem("server.none", why=error)]
    if found.local is not None:
        findings += [finding async for finding in services(folder)]
    try:
        findings += [finding async for finding in _over_nats(found)]
    except MusterError as error:
        findings.append(refused("server.unreachable", error))
    return findings


async def _over_nats(found: Address) -> AsyncIterator[Finding]:
    async with connection_to(found) as connection:
        log = JetStreamLog(connection)
        async for finding in server(connection, log, found.local):
            yield finding
        async for finding in streams(connection):
            yield finding
        client = MusterClient(connection)
        async for finding in jobs(client):
            yield finding
        await client.close()
        await log.close()
