"""`muster init`: writes a job.yaml and a nodes.yaml to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from muster.cli import output
from muster.cli.errors import CliError
from muster.cli.samples import JOB_FILE, SAMPLES, sample
from muster.cli.session import session_of
from muster.cli.texts import say

app = typer.Typer(add_completion=False)


@app.command(help=say("help.init"))
def init(
    context: typer.Context,
    directory: Annotated[
        Path, typer.Option("--dir", help=say("option.dir"), metavar="DIR")
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help=say("option.force"))] = False,
) -> None:
    """Write all files or, where one is there already, none."""
    paths = [directory / file for file in SAMPLES]
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise CliError("exists", paths=say("comma").join(there))
    directory.mkdir(parents=True, exist_ok=True)
    for path in paths:
        path.write_text(sample(path.name), encoding="utf-8")
    if session_of(context).as_json:
        output.document({"wrote": [str(path) for path in paths]})
        return
    for path in paths:
        output.line(say("init.wrote", path=path))
    output.line(say("init.next", path=shlex.quote(str(directory / JOB_FILE))))
