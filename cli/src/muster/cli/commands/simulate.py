"""`muster simulate`: the simulator has its own commands; this only mounts them."""

from __future__ import annotations

from importlib import import_module

import typer

from muster.cli.errors import CliError

MODULE = "muster.cli.simulate"


def _mounted() -> typer.Typer:
    try:
        module = import_module(MODULE)
    except ModuleNotFoundError as error:
        if error.name != MODULE:
            raise
        raise CliError("no_simulator") from error
    found: typer.Typer = module.app
    return found


app = _mounted()
