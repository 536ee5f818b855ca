"""`muster version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import typer

from muster.cli.session import session_of
from muster.cli.texts import say

DISTRIBUTION = "muster-cli"

app = typer.Typer(add_completion=False)


@app.command(help=say("help.version"))
def about(context: typer.Context) -> None:
    """Print the version."""
    if session_of(context).as_json:
        from muster.cli import output  # noqa: PLC0415 - `version` must need nothing else

        output.document({"muster": muster_version(), "python": platform.python_version()})
        return
    print(version_line())


def version_line() -> str:
    """Return the version in words."""
    return say("version.line", version=muster_version(), python=platform.python_version())


def muster_version() -> str:
    """Return the installed version."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # run from source folders, not installed
        return "0+source"
