"""Puts a notice into a Feishu card (JSON 2.0) and into plain text. Pure.

Every text node of the card is `plain_text`: a job's name or an error text can never become markup,
a mention or a link, because the card holds no element that reads markup. Sizes are bounded piece by
piece, so a card stays far under the receiver's limit whatever a job is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from muster.domain.phases import SHOWN_TEXT, Shown
from muster.notifier.core.message import Json, JsonObject, Message
from muster.notifier.core.notice import Language, Notice, Trigger
from muster.notifier.core.plain import clean, defuse
from muster.notifier.core.texts import say

_NAME, _REASON, _NODE, _SHORT = 100, 600, 64, 128
_NODES_SHOWN = 6

_LOOKS: dict[Trigger, tuple[Shown, str]] = {
    Trigger.JOB_QUEUED: (Shown.QUEUED, "blue"),
    Trigger.JOB_RUNNING: (Shown.RUNNING, "turquoise"),
    Trigger.JOB_ABNORMAL: (Shown.ABNORMAL, "orange"),
    Trigger.JOB_FAILED: (Shown.FAILED, "red"),
    Trigger.JOB_SUCCEEDED: (Shown.SUCCEEDED, "green"),
    Trigger.JOB_PREEMPTED: (Shown.EVICTING, "orange"),
    Trigger.JOB_RESTARTED: (Shown.RESTARTING, "blue"),
    Trigger.HANG_SUSPECTED: (Shown.RUNNING, "orange"),
    Trigger.PROGRESS_LOST: (Shown.RUNNING, "orange"),
    Trigger.DEBUG_HOLD: (Shown.DEBUG_HOLDING, "turquoise"),
}


@dataclass(frozen=True, slots=True)
class _Words:
    """The notice in words, before it takes the shape of a card or of lines."""

    state: str
    colour: str
    title: str
    subtitle: str
    what: str
    next: str
    numbers: tuple[tuple[str, str], ...]
    footer: tuple[str, ...]


def message(
    notice: Notice, zone: tzinfo, *, repeat: bool = False, keywords: tuple[str, ...] = ()
) -> Message:
    """Build the message. What may be a repeat says so; keywords satisfy a bot's keyword check."""
    words = _words(notice, zone, repeat, keywords)
    return Message(id=notice.id, card=_card(words), text=_text(words))


def _words(notice: Notice, zone: tzinfo, repeat: bool, keywords: tuple[str, ...]) -> _Words:
    facts, language = notice.of_job, notice.language
    shown, colour = _LOOKS[notice.trigger]
    state = SHOWN_TEXT[shown][1 if language == "zh" else 0]
    name = clean(facts.name, _NAME) or clean(notice.subject, _NAME)
    return _Words(
        state=state,
        colour=colour,
        title=f"{state} · {name}",
        subtitle=clean(f"{notice.tenant} / {facts.owner}", _SHORT),
        what=_what(notice),
        next=_next(notice, zone),
        numbers=_numbers(notice, zone),
        footer=_footer(notice, zone, repeat, keywords),
    )


def _reason(notice: Notice) -> str:
    if notice.of_job.reason is None:
        return say("no_reason", notice.language)
    return clean(notice.of_job.reason[1 if notice.language == "zh" else 0], _REASON)


def _what(notice: Notice) -> str:
    facts, language = notice.of_job, notice.language
    match notice.trigger:
        case Trigger.JOB_QUEUED if facts.again and facts.reason is not None:
            return say("queued.again", language, reason=_reason(notice))
        case Trigger.JOB_QUEUED:
            return say("queued.first", language)
        case Trigger.JOB_RUNNING:
            return say("running.again" if facts.again else "running.first", language)
        case Trigger.JOB_ABNORMAL:
            return say("abnormal.what", language, reason=_reason(notice))
        case Trigger.JOB_FAILED:
            return say("failed.what", language, reason=_reason(notice))
        case Trigger.JOB_SUCCEEDED:
            return say("succeeded.what", language)
        case _:
            return _reason(notice)


def _next(notice: Notice, zone: tzinfo) -> str:
    facts, language = notice.of_job, notice.language
    if notice.trigger is Trigger.JOB_QUEUED and facts.deadline is not None:
        return say("queued.next_deadline", language, deadline=_moment(facts.deadline, zone))
    advice = say(_NEXT.get(notice.trigger, "failed.next"), language)
    if notice.trigger is Trigger.JOB_RUNNING and facts.again:
        advice = say("running.next_again", language)
    if notice.trigger is Trigger.JOB_FAILED and facts.reason_code == "PREEMPTED":
        advice = say("failed.next_preempted", language)
    if facts.hold_until is not None:
        advice = f"{say('hold', language, until=_moment(facts.hold_until, zone))} {advice}"
    return advice


_NEXT: dict[Trigger, str] = {
    Trigger.JOB_QUEUED: "queued.next",
    Trigger.JOB_RUNNING: "running.next",
    Trigger.JOB_ABNORMAL: "abnormal.next",
    Trigger.JOB_FAILED: "failed.next",
    Trigger.JOB_SUCCEEDED: "succeeded.next",
}


def _numbers(notice: Notice, zone: tzinfo) -> tuple[tuple[str, str], ...]:
    facts, language = notice.of_job, notice.language
    values: dict[str, str | None] = {
        "label.entry": say("value.entry", language, n=facts.entry) if facts.entry else None,
        "label.requeues_left": _number(facts.requeues_left),
        "label.deadline": _moment(facts.deadline, zone) if facts.deadline else None,
        "label.attempt": say("value.entry", language, n=facts.attempt) if facts.attempt else None,
        "label.workers": _number(facts.workers),
        "label.gpus": _number(facts.gpus),
        "label.nodes": _nodes(facts.nodes, language) if facts.nodes else None,
        "label.job": clean(notice.subject, _SHORT),
    }
    return tuple((say(label, language), value) for label, value in values.items() if value)


def _footer(
    notice: Notice, zone: tzinfo, repeat: bool, keywords: tuple[str, ...]
) -> tuple[str, ...]:
    language = notice.language
    identity = " · ".join(
        (
            f"{say('label.notice', language)} {notice.id}",
            f"{say('label.rule', language)} {clean(notice.rule, _SHORT)}",
            f"{say('label.at', language)} {_moment(notice.at, zone)}",
        )
    )
    again = (say("repeat", language),) if repeat else ()
    words = ("[Keywords] " + ",".join(clean(word, _NODE) for word in keywords),) if keywords else ()
    return (identity, *again, *words)


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _moment(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def _nodes(nodes: tuple[str, ...], language: Language) -> str:
    names = ", ".join(clean(node, _NODE) for node in nodes[:_NODES_SHOWN])
    rest = len(nodes) - _NODES_SHOWN
    return names if rest <= 0 else say("more", language, names=names, count=rest)


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


def _card(words: _Words) -> JsonObject:
    rows = [words.numbers[start : start + 2] for start in range(0, len(words.numbers), 2)]
    elements: list[Json] = [
        _plain(words.what),
        _plain(words.next),
        {"tag": "hr"},
        *(_row(row) for row in rows),
        {"tag": "hr"},
        *(_plain(line, "notation", "grey") for line in words.footer),
    ]
    return {
        "schema": "2.0",
        "config": {"update_multi": True, "summary": {"content": words.title}},
        "header": _header(words),
        "body": {"elements": elements},
    }


def _header(words: _Words) -> JsonObject:
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


def _text(words: _Words) -> str:
    numbers = [f"{label}: {value}" for label, value in words.numbers]
    lines = [words.title, words.subtitle, words.what, words.next, *numbers, *words.footer]
    return "\n".join(defuse(line) for line in lines)
