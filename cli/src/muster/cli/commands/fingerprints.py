"""`muster fingerprints`: failures that no rule knows, gathered by what they look like.

With --rule: the beginning of a rule for one of them, which a person completes.
"""

from __future__ import annotations

from typing import Annotated

import typer

from muster.cli import output
from muster.cli.errors import CliError
from muster.cli.judging import fault_tolerance_answers
from muster.cli.reach import reach
from muster.cli.running import run
from muster.cli.session import Session, session_of
from muster.cli.texts import say
from muster.cli.views.fingerprints import cluster_lines, cluster_table
from muster.contracts.judgements import FingerprintCluster
from muster.fault_tolerance.core.skeleton import skeleton

MOST = 500

app = typer.Typer(add_completion=False)


@app.command(help=say("help.fingerprints"))
def fingerprints(
    context: typer.Context,
    rule: Annotated[
        str | None, typer.Option(help=say("option.fingerprints.rule"), metavar="FINGERPRINT")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=MOST, help=say("option.fingerprints.limit"))
    ] = 20,
) -> None:
    """Print a table and an excerpt of each, or the beginning of a rule."""
    session = session_of(context)
    run(_list(session, limit) if rule is None else _rule(session, rule))


async def _list(session: Session, limit: int) -> None:
    found = await _asked(session, limit)
    if session.as_json:
        output.document(found)
        return
    if not found:
        output.line(say("fingerprints.none"))
        return
    output.show(cluster_table(found))
    for line in cluster_lines(found):
        output.line(line)


async def _rule(session: Session, fingerprint: str) -> None:
    alike = [one for one in await _asked(session, MOST) if one.fingerprint.startswith(fingerprint)]
    if len(alike) != 1:
        raise CliError("no_fingerprint", text=fingerprint, count=len(alike))
    try:
        text = skeleton(alike[0].fingerprint, alike[0].excerpt)
    except ValueError as error:
        raise CliError("no_skeleton", text=alike[0].fingerprint) from error
    if session.as_json:
        output.document({"fingerprint": alike[0].fingerprint, "rule": text})
    else:
        print(text, end="")


async def _asked(session: Session, limit: int) -> tuple[FingerprintCluster, ...]:
    async with reach(session) as muster:
        with fault_tolerance_answers():
            return (await muster.fingerprints(limit)).clusters
