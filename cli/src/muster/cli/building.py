"""Requests made of what a person typed: what no request can hold is wrong usage, told by field.

Called by the commands that ask for something.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import typer
from pydantic import BaseModel

from muster.cli.texts import language, say
from muster.contracts.checking import check

R = TypeVar("R", bound=BaseModel)


def built(model: type[R], **fields: Any) -> R:
    """Return the request. Raises BadParameter with every field that breaks a rule."""
    found, broken = check(model, json.dumps(fields))
    if found is None:
        raise typer.BadParameter(say("comma").join(each.text(language()) for each in broken))
    return found
