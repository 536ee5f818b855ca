"""`muster completion SHELL`: the script that a shell reads to complete commands and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from muster.cli.texts import say


class Shell(StrEnum):
    """The shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


app = typer.Typer(add_completion=False)


@app.command(help=say("help.completion"))
def completion(
    shell: Annotated[Shell, typer.Argument(help=say("argument.shell"))],
) -> None:
    """Print the script, e.g. for `eval "$(muster completion bash)"`."""
    print(
        get_completion_script(
            prog_name="muster", complete_var="_MUSTER_COMPLETE", shell=shell.value
        )
    )
