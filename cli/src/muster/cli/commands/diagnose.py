"""`muster diagnose FILE…`: whose failure does a log tell of, and what would Muster do about it?

Needs no cluster. Several files are the ranks of one job; names such as rank3.log tell which. Also
lists the rules, and checks a folder of a site's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.diagnosing import judge, read_logs
from muster.cli.errors import CliError
from muster.cli.exits import Exit
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.diagnosis import (
    SHOWN,
    evidence_view,
    fault_document,
    fault_text,
    found_view,
    judged_document,
    rules_document,
    rules_view,
    verdict_view,
)
from muster.domain.diagnosis import Stage
from muster.fault_tolerance.core.rulefaults import Fault
from muster.fault_tolerance.core.rules import Rulebook
from muster.fault_tolerance.rulebook import InvalidRules, checked, shipped, with_site

app = typer.Typer(add_completion=False)


@app.command(help=say("help.diagnose"))
def diagnose(
    context: typer.Context,
    files: Annotated[
        list[str] | None, typer.Argument(help=say("argument.logs"), metavar="FILE...")
    ] = None,
    exit_code: Annotated[
        int, typer.Option("--exit-code", help=say("option.exit_code"), min=0, max=255)
    ] = 1,
    kernel: Annotated[str | None, typer.Option(help=say("option.kernel"), metavar="FILE")] = None,
    stage: Annotated[Stage | None, typer.Option(help=say("option.stage"))] = None,
    site: Annotated[
        Path | None, typer.Option("--rules-dir", help=say("option.rules_dir"), metavar="DIR")
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help=say("option.rules"))] = False,
    check: Annotated[
        Path | None, typer.Option("--check", help=say("option.check_rules"), metavar="DIR")
    ] = None,
) -> None:
    """Judge files, list rules, or check a folder of rules."""
    session = session_of(context)
    if check is not None:
        raise typer.Exit(_check(session, check))
    book = _book(site)
    if rules:
        output.document(rules_document(book)) if session.as_json else output.show(rules_view(book))
    elif files:
        _judge(session, files, book, exit_code, kernel, stage)
    else:
        raise CliError("diagnose_nothing", Exit.USAGE)


def _book(site: Path | None) -> Rulebook:
    try:
        return with_site(site) if site else shipped()
    except InvalidRules as error:
        first = fault_text(error.faults[0])
        raise CliError("rules", why=first, count=len(error.faults), folder=site) from error


def _judge(
    session: Session,
    files: list[str],
    book: Rulebook,
    exit_code: int,
    kernel: str | None,
    stage: Stage | None,
) -> None:
    if exit_code == 0:
        raise CliError("diagnose_ended_well", Exit.USAGE)
    lines = read_logs([kernel])[0] if kernel else None
    judged = judge(read_logs(files), book, exit_code=exit_code, kernel=lines, stage=stage)
    for log in (*judged.logs, *([lines] if lines else [])):
        if log.odd is not None:
            output.line(say(f"diagnose.log.{log.odd}", file=log.name), stderr=True)
    if session.as_json:
        output.document(judged_document(judged))
        return
    output.show(verdict_view(judged, book))
    if judged.diagnosis.evidence:
        output.line("\n", say("diagnose.evidence"))
        output.show(evidence_view(judged.diagnosis))
    if judged.found:
        output.line("\n", say("diagnose.found", count=len(judged.found)))
        output.show(found_view(judged.found))
    if len(judged.found) > SHOWN:
        output.line(say("diagnose.more", count=len(judged.found) - SHOWN))


def _check(session: Session, folder: Path) -> Exit:
    """Tell every fault in a folder of rules."""
    faults: tuple[Fault, ...] = ()
    book: Rulebook | None = None
    try:
        book = checked(folder)
    except InvalidRules as error:
        faults = error.faults
    if session.as_json:
        told = [fault_document(fault) for fault in faults]
        output.document({"version": book.version if book else None, "faults": told})
    elif book is not None:
        output.line(say("diagnose.sound", count=len(book.rules), version=book.version))
    else:
        for fault in faults:
            output.line(fault_text(fault), stderr=True)
    return Exit.FAILED if faults else Exit.DONE
