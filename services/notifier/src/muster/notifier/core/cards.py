"""Puts notices into a chat card (JSON 2.0), into plain text, and into a document. Pure.

Every text node of the card is `plain_text`: a job's name or an error text can never become markup,
a mention or a link, because the card holds no element that reads markup. Sizes are bounded piece by
piece, so a card stays far under the receiver's limit whatever a job is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from enum import Enum

from muster.notifier.core.digests import words_of_many
from muster.notifier.core.message import Json, JsonObject, Message
from muster.notifier.core.notice import Notice
from muster.notifier.core.plain import clean, defuse
from muster.notifier.core.texts import say
from muster.notifier.core.wording import Look, Words, moment, words_of

_SHORT, _KEYWORD, _RULES = 128, 64, 3
_BLOCK = 10
"""Lines of a digest in one element: a chat folds a long element."""


def message(notices: Sequence[Notice], look: Look, parcel: str) -> Message:
    """Build the message of a parcel: of one transition, or a digest of many."""
    transitions = {(notice.tenant, notice.subject, notice.transition) for notice in notices}
    first = notices[0]
    words = words_of(first, look) if len(transitions) == 1 else words_of_many(notices, look)
    words = replace(words, footer=_footer(notices, look, parcel), keywords=_keywords(look))
    return Message(
        id=parcel, card=_card(words), text=_text(words), document=_document(notices, parcel)
    )


def _footer(notices: Sequence[Notice], look: Look, parcel: str) -> tuple[str, ...]:
    language = notices[0].language
    rules = sorted({notice.rule for notice in notices})
    named = ", ".join(clean(rule, _SHORT) for rule in rules[:_RULES])
    if len(rules) > _RULES:
        named = say("more", language, names=named, count=len(rules) - _RULES)
    identity = " · ".join(
        (
            f"{say('label.notice', language)} {parcel}",
            f"{say('label.rule', language)} {named}",
            f"{say('label.at', language)} {moment(notices[-1].at, look.zone)}",
        )
    )
    return (identity, *((say("repeat", language),) if look.repeat else ()))


def _keywords(look: Look) -> str:
    words = ",".join(clean(word, _KEYWORD) for word in look.keywords)
    return f"[Keywords] {words}" if words else ""


def _plain(content: str, size: str = "normal", colour: str = "default") -> JsonObject:
    text: JsonObject = {
        "tag": "plain_text",
        "content": content,
        "text_size": size,
        "text_color": colour,
    }
    return {"tag": "div", "text": text}


def _row(pairs: tuple[tuple[str, str], ...]) -> JsonObject:
    columns: list[Json] = [
        {
            "tag": "column",
            "width": "weighted",
            "weight": 1,
            "elements": [_plain(label, "notation", "grey"), _plain(value)],
        }
        for label, value in pairs
    ]
    return {"tag": "column_set", "flex_mode": "bisect", "columns": columns}


def _buttons(links: tuple[tuple[str, str], ...]) -> JsonObject:
    columns: list[Json] = [
        {
            "tag": "column",
            "width": "auto",
            "elements": [
                {
                    "tag": "button",
                    "type": "default",
                    "text": {"tag": "plain_text", "content": label},
                    "behaviors": [{"type": "open_url", "default_url": url}],
                }
            ],
        }
        for label, url in links
    ]
    return {"tag": "column_set", "flex_mode": "flow", "columns": columns}


def _card(words: Words) -> JsonObject:
    rows = [words.numbers[start : start + 2] for start in range(0, len(words.numbers), 2)]
    lines = words.lines
    blocks = ["\n".join(lines[at : at + _BLOCK]) for at in range(0, len(lines), _BLOCK)]
    elements: list[Json] = [
        _plain(words.what),
        _plain(words.next),
        *(_plain(block, "notation") for block in blocks),
        *([{"tag": "hr"}] if rows else []),
        *(_row(row) for row in rows),
        *([_buttons(words.links)] if words.links else []),
        {"tag": "hr"},
        *(_plain(line, "notation", "grey") for line in (*words.footer, words.keywords) if line),
    ]
    return {
        "schema": "2.0",
        "config": {"update_multi": True, "summary": {"content": words.title}},
        "header": _header(words),
        "body": {"elements": elements},
    }


def _header(words: Words) -> JsonObject:
    tag: JsonObject = {
        "tag": "text_tag",
        "text": {"tag": "plain_text", "content": words.state},
        "color": words.colour,
    }
    return {
        "template": words.colour,
        "title": {"tag": "plain_text", "content": words.title},
        "subtitle": {"tag": "plain_text", "content": words.subtitle},
        "text_tag_list": [tag],
    }


def _text(words: Words) -> str:
    numbers = [f"{label}: {value}" for label, value in words.numbers]
    told = [words.title, words.subtitle, words.what, words.next, *words.lines, *numbers]
    lines = [defuse(line) for line in (*told, *words.footer) if line]
    # a bot looks for its keyword letter by letter; what could mention somebody stays inert
    kept = words.keywords if "<" not in words.keywords else defuse(words.keywords)
    return "\n".join((*lines, kept) if kept else lines)


def _document(notices: Sequence[Notice], parcel: str) -> JsonObject:
    """Return the same for a program: every field of every notice."""
    told: list[Json] = [
        {
            "rule": notice.rule,
            "trigger": notice.trigger.value,
            "kind": notice.kind.value,
            "tenant": notice.tenant,
            "subject": notice.subject,
            "transition": notice.transition,
            "version": notice.version,
            "at": notice.at.isoformat(),
            "facts": _json(notice.facts),
        }
        for notice in notices
    ]
    return {"type": "muster.notice.v1", "id": parcel, "notices": told}


def _json(value: object) -> Json:
    if is_dataclass(value):
        return {each.name: _json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    assert value is None or isinstance(value, str | int | float | bool)
    return value
