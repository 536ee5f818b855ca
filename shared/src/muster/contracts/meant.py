"""Which field was meant by an unknown one: a slip of the pen, or one that stands further inside.

Pure. Called by `checking`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from pydantic import BaseModel

CLOSE = 0.8
SHORT = 3
"""Fewer letters begin too many names."""

Inside = Callable[[type[BaseModel], str], type[BaseModel] | None]
"""Tells which model stands behind a field."""


def meant(field: str, model: type[BaseModel], inside: Inside) -> str | None:
    """Return the path of the field that was meant, from `model` on; None when nothing is like it.

    The very name one level further in goes first, then a name here that resembles it, then the
    outermost of those inside.
    """
    here = list(model.model_fields)
    places = [*((0, name) for name in here), *_inner(model, inside, 1)]
    exact = [path for depth, path in places if depth == 1 and path.endswith(f".{field}")]
    close = exact or difflib.get_close_matches(field, here, n=1)
    if close:
        return close[0]
    ranked = [
        (depth, rank, path)
        for depth, path in places
        if (rank := _rank(field, path.rpartition(".")[2])) is not None
    ]
    return min(ranked)[2] if ranked else None


def _inner(model: type[BaseModel], inside: Inside, depth: int) -> Iterator[tuple[int, str]]:
    for name in model.model_fields:
        below = inside(model, name)
        if below is not None:
            yield from ((depth, f"{name}.{inner}") for inner in below.model_fields)
            yield from ((d, f"{name}.{path}") for d, path in _inner(below, inside, depth + 1))


def _rank(field: str, name: str) -> int | None:
    if name == field:
        return 0
    if len(field) >= SHORT and name.startswith(field):
        return 1
    return 2 if difflib.SequenceMatcher(a=field, b=name).ratio() >= CLOSE else None
