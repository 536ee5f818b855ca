"""What a person supposes with --if and --priority, checked before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from muster.cli.errors import Refusal
from muster.cli.texts import say
from muster.contracts.queries import Priority
from muster.domain.spec import PRIORITIES
from muster.domain.violations import Violation
from muster.domain.whatif import FORMS, read_all

HIGHEST = 99

WhatIf = Annotated[list[str] | None, typer.Option("--if", help=say("option.if"), metavar="WHAT")]
AsIfPriority = Annotated[str | None, typer.Option("--priority", help=say("option.priority"))]
SnapshotFile = Annotated[Path | None, typer.Option(help=say("option.snapshot"), metavar="FILE")]
"""Options that `fit` and `explain` share."""


@dataclass(frozen=True, slots=True)
class Supposed:
    """Nothing of it is done."""

    what_if: tuple[str, ...] = ()
    priority: Priority | None = None

    def __bool__(self) -> bool:
        return bool(self.what_if) or self.priority is not None


def supposed(what_if: Sequence[str], priority: str | None) -> Supposed:
    """Read the options. Raises Refusal with every what-if that cannot be read, BadParameter."""
    broken = [found for found in read_all(what_if) if isinstance(found, Violation)]
    if broken:
        raise Refusal("what_if", broken, count=len(broken), forms=", ".join(FORMS))
    return Supposed(tuple(what_if), _priority(priority))


def _priority(text: str | None) -> Priority | None:
    if text is None:
        return None
    match text.lower():
        case "low" | "normal" | "high" as name:
            return name
    if text.isdecimal() and 1 <= int(text) <= HIGHEST:
        return int(text)
    names = ", ".join(PRIORITIES)
    raise typer.BadParameter(
        say("usage.priority", names=names, highest=HIGHEST), param_hint="--priority"
    )
