"""Where a command's result goes: tables for people, JSON for programs.

JSON keys are stable. A pipe gets whole lines: nothing is cut to a terminal's width there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from muster.cli.words import plain

PIPE_WIDTH = 200


def console(*, stderr: bool = False) -> Console:
    """Return the console for people."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, width=width, emoji=False, markup=False)


def line(*parts: str | Text | tuple[str, str], stderr: bool = False) -> None:
    """Print one line of plain text and (text, style) pairs, uncut."""
    console(stderr=stderr).print(Text.assemble(*parts), soft_wrap=True)


def show(*renderables: RenderableType) -> None:
    """Print what a view has made."""
    console().print(*renderables)


def document(value: object) -> None:
    """Print one JSON document."""
    print(json.dumps(jsonable(value), ensure_ascii=False, indent=2))


def record(value: object) -> None:
    """Print one line of JSON, at once."""
    print(json.dumps(jsonable(value), ensure_ascii=False), flush=True)


def jsonable(value: object) -> Any:
    """Return models, mappings and sequences as plain JSON values."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(inner) for inner in value]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return str(value)


def table(*titles: str) -> Table:
    """Return an empty table in the one style of lists: no frame, two spaces between columns."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in titles:
        made.add_column(title, overflow="fold")
    return made


def row(made: Table, *cells: str | Text) -> None:
    """Add a row; strings are data, and lose what could steer a terminal."""
    made.add_row(*(Text(plain(cell)) if isinstance(cell, str) else cell for cell in cells))


def rows(made: Table, cells: Iterable[Iterable[str | Text]]) -> Table:
    """Add rows and return the table."""
    for each in cells:
        row(made, *each)
    return made
