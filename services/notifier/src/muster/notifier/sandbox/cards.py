"""Holds a card to JSON 2.0: the schema, known properties only, and its sizes. Pure.

In 2.0 an unknown property is an error. The properties are those documented for the elements that
a notice may want; an element that is not listed here is refused, however real it is elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from muster.notifier.sandbox.shapes import CARD, ELEMENTS, Each, OneOf, Shape, Type

MAX_CARD, MAX_COMPONENTS, MAX_TABLES = 30 * 1024, 200, 4
_PARSE, _LIMIT, _MENTION = 200621, 230099, 11246
_AT: Final = re.compile(r"<at\s+(?:id|email|user_id)\s*=\s*['\"]?(?P<who>[^\s'\">]*)")
_KNOWN_USER: Final = re.compile(r"all|ou_[0-9a-z]+|on_[0-9a-z]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """code: the bot's. path: where in the card."""

    code: int
    path: str
    text: str


def faults(card: Mapping[str, Any]) -> list[Fault]:
    """Return everything that is wrong with a card, in its order."""
    found = list(_shape(card, CARD, "card"))
    return found or [*_sizes(card), *_mentions(card, "card")]


def _shape(value: object, shape: Shape, path: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(_PARSE, path, "an object is needed")
        return
    for name in sorted(shape.needed - value.keys()):
        yield Fault(_PARSE, f"{path}.{name}", "required property is missing")
    for name, inner in value.items():
        kind = shape.properties.get(name)
        if kind is None:
            yield Fault(_PARSE, f"{path}.{name}", "unknown property")
        else:
            yield from _value(inner, kind, f"{path}.{name}")


def _value(value: object, kind: Type, path: str) -> Iterator[Fault]:
    match kind:
        case Shape():
            yield from _shape(value, kind, path)
        case OneOf():
            if isinstance(value, dict | list) or value not in kind.values:
                yield Fault(_PARSE, path, f"invalid value: {str(value)[:40]!r}")
        case Each():
            yield from _each(value, kind, path)
        case _:
            if type(value) not in kind:
                yield Fault(_PARSE, path, f"invalid type: {type(value).__name__}")


def _each(value: object, kind: Each, path: str) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield Fault(_PARSE, path, "a list is needed")
        return
    for place, inner in enumerate(value):
        where = f"{path}[{place}]"
        shape = kind.shape if kind.shape is not None else _element(inner)
        if shape is None:
            yield Fault(_PARSE, where, f"unknown tag: {_tag(inner)[:40]!r}")
        else:
            yield from _shape(inner, shape, where)


def _element(value: object) -> Shape | None:
    return ELEMENTS.get(_tag(value))


def _tag(value: object) -> str:
    tag = value.get("tag") if isinstance(value, dict) else None
    return tag if isinstance(tag, str) else ""


def _sizes(card: Mapping[str, Any]) -> Iterator[Fault]:
    if len(json.dumps(card, ensure_ascii=False).encode("utf-8", "replace")) > MAX_CARD:
        yield Fault(_LIMIT, "card", "card is larger than 30 KB")
    tags = list(_tags(card))
    if len(tags) > MAX_COMPONENTS:
        yield Fault(_LIMIT, "card", f"element exceeds the limit: {len(tags)}")
    if tags.count("table") > MAX_TABLES:
        yield Fault(_LIMIT, "card", "card table number over limit")


def _tags(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("tag"), str):
            yield node["tag"]
        for value in node.values():
            yield from _tags(value)
    elif isinstance(node, list):
        for value in node:
            yield from _tags(value)


def _mentions(node: object, path: str) -> Iterator[Fault]:
    """Find mentions in what reads markup of people whom nobody knows."""
    if isinstance(node, dict):
        if node.get("tag") in {"markdown", "lark_md"}:
            for found in _AT.finditer(str(node.get("content"))):
                if _KNOWN_USER.fullmatch(found["who"]) is None:
                    yield Fault(_MENTION, path, "err_msg: invalid at user; err_type: validation;")
        for name, value in node.items():
            yield from _mentions(value, f"{path}.{name}")
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from _mentions(value, f"{path}[{place}]")
