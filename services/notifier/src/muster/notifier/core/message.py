"""What a channel sends: the same news as a card and as plain text. Values only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = "dict[str, Json]"


@dataclass(frozen=True, slots=True)
class Message:
    """`card` is a chat card as JSON values, `text` the fallback that says the same in lines.

    document: the same for a program.
    """

    id: str
    card: JsonObject
    text: str
    document: JsonObject = field(default_factory=dict)


def encode(value: Json) -> str:
    """Return compact JSON with CJK characters as they are: escaped, each would take six bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
