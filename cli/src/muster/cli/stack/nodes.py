"""The nodes of the local cluster: which file says what they are, and what it says, in a line."""

from __future__ import annotations

from pathlib import Path

from muster.cli.errors import CliError, Refusal
from muster.cli.texts import say
from muster.executor.backends.local import InvalidNodes, default_nodes, load_nodes

FILE = "nodes.yaml"


def nodes_file(chosen: Path | None, directory: Path) -> Path | None:
    """Return the file to use: the chosen one, else nodes.yaml in the directory, if it is there."""
    if chosen is not None:
        return chosen.expanduser().absolute()
    beside = directory / FILE
    return beside if beside.is_file() else None


def describe(file: Path | None) -> str:
    """Return how many nodes there are. Raises Refusal when the file breaks a rule."""
    try:
        nodes = default_nodes() if file is None else load_nodes(file)
    except InvalidNodes as error:
        count = len(error.violations)
        raise Refusal("nodes_file", error.violations, path=file, count=count) from error
    except OSError as error:
        raise CliError("file_read", path=file, why=error.strerror or error) from error
    source = say("up.nodes.machine") if file is None else file
    gpus = sum(node.gpus for node in nodes)
    return say("up.nodes.value", count=len(nodes), gpus=gpus, source=source)
