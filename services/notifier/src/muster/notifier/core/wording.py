"""What a notice says, in words and in its language, before it takes the shape of a card. Pure.

Everything that comes from people, pods and logs passes `plain.clean` here; nothing else of a notice
reaches a card. Called by `cards`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from muster.domain.incidents import IncidentKind
from muster.domain.phases import SHOWN_TEXT, Shown
from muster.notifier.core.links import NO_LINKS, Links
from muster.notifier.core.notice import (
    Both,
    Facts,
    IncidentFacts,
    Kind,
    Language,
    NodeFacts,
    Notice,
    Trigger,
)
from muster.notifier.core.plain import clean
from muster.notifier.core.texts import say

_NAME, _REASON, _NODE, _SHORT = 100, 600, 64, 128
_NODES_SHOWN, _EVIDENCE = 6, 200

_SHOWN: dict[Trigger, tuple[Shown, str]] = {
    Trigger.JOB_QUEUED: (Shown.QUEUED, "blue"),
    Trigger.JOB_RUNNING: (Shown.RUNNING, "turquoise"),
    Trigger.JOB_ABNORMAL: (Shown.ABNORMAL, "orange"),
    Trigger.JOB_FAILED: (Shown.FAILED, "red"),
    Trigger.JOB_SUCCEEDED: (Shown.SUCCEEDED, "green"),
    Trigger.JOB_PREEMPTED: (Shown.EVICTING, "yellow"),
    Trigger.JOB_RESTARTED: (Shown.RESTARTING, "yellow"),
    Trigger.DEBUG_HOLD: (Shown.DEBUG_HOLDING, "wathet"),
}
_OWN: dict[Trigger, str] = {
    Trigger.HANG_SUSPECTED: "orange",
    Trigger.PROGRESS_LOST: "orange",
    Trigger.NODE_EXCLUDED: "yellow",
    Trigger.INCIDENT: "red",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How messages are put: the zone of their times, where links lead, a bot's keywords.

    repeat: it may have been told before, and says so.
    """

    zone: tzinfo
    links: Links = NO_LINKS
    keywords: tuple[str, ...] = ()
    repeat: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A message in words. lines: evidence, or the jobs of a digest. links: (label, URL).

    keywords: the line that a bot with a keyword check looks for; "" = it needs none.
    """

    state: str
    colour: str
    title: str
    subtitle: str
    what: str
    next: str
    lines: tuple[str, ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    footer: tuple[str, ...] = ()
    keywords: str = ""


def state_of(notice: Notice) -> tuple[str, str]:
    """Return the word for what happened, and its colour."""
    language = notice.language
    if notice.kind is Kind.FLAPPING:
        return say("state.flapping", language), "orange"
    if notice.trigger in _SHOWN:
        shown, colour = _SHOWN[notice.trigger]
        return pick(SHOWN_TEXT[shown], language), colour
    if isinstance(notice.facts, IncidentFacts) and notice.facts.phase == "closed":
        return say("state.incident_over", language), "green"
    return say(f"state.{notice.trigger.value}", language), _OWN[notice.trigger]


def name_of(notice: Notice) -> str:
    """Return what the notice is about, as people call it."""
    match notice.facts:
        case Facts(name=name):
            return clean(name, _NAME) or clean(notice.subject, _NAME)
        case NodeFacts(node=node):
            return clean(node, _NAME)
        case IncidentFacts(name=name):
            return clean(name, _NAME) or clean(notice.subject, _NAME)


def words_of(notice: Notice, look: Look) -> Words:
    """Return what one notice says."""
    state, colour = state_of(notice)
    title = f"{state} · {name_of(notice)}"
    if notice.kind is Kind.REMINDER:
        title = say("reminder", notice.language, title=title)
    subtitle, what, following, lines, numbers, links = _parts(notice, look)
    return Words(state, colour, title, subtitle, what, following, lines, numbers, links)


_Parts = tuple[
    str,
    str,
    str,
    tuple[str, ...],
    tuple[tuple[str, str], ...],
    tuple[tuple[str, str], ...],
]


def _parts(notice: Notice, look: Look) -> _Parts:
    match notice.facts:
        case Facts() as facts:
            return _of_job(notice, facts, look)
        case NodeFacts() as node:
            return _of_node(notice, node, look)
        case IncidentFacts() as incident:
            return _of_incident(notice, incident, look)


def _of_job(notice: Notice, facts: Facts, look: Look) -> _Parts:
    language = notice.language
    return (
        clean(f"{notice.tenant} / {facts.owner}", _SHORT),
        _what(notice, facts),
        _next(notice, facts, look.zone),
        tuple(clean(pick(line, language), _EVIDENCE) for line in facts.evidence),
        _numbers(notice, facts, look.zone),
        look.links.of_job(notice.tenant, notice.subject, language),
    )


def _what(notice: Notice, facts: Facts) -> str:
    language = notice.language
    reason = _reason(facts.reason, language)
    if notice.kind is Kind.FLAPPING:
        return say("flapping.what", language, n=facts.flips)
    match notice.trigger:
        case Trigger.JOB_QUEUED if facts.again and facts.reason is not None:
            return say("queued.again", language, reason=reason)
        case Trigger.JOB_QUEUED:
            return say("queued.first", language)
        case Trigger.JOB_RUNNING:
            return say("running.again" if facts.again else "running.first", language)
        case Trigger.JOB_SUCCEEDED:
            return say("succeeded.what", language)
        case Trigger.HANG_SUSPECTED if facts.worker:
            return say("hang_suspected.worker", language, worker=clean(facts.worker, _NODE))
        case Trigger.PROGRESS_LOST:
            return say("progress_lost.what", language, before=facts.step, after=facts.resumed_step)
        case Trigger.DEBUG_HOLD:
            return say("debug_hold.what", language, reason=reason)
        case trigger:
            key = trigger.value.removeprefix("job_")
            return say(f"{key}.what", language, reason=reason)


def _next(notice: Notice, facts: Facts, zone: tzinfo) -> str:
    language = notice.language
    if notice.kind is Kind.FLAPPING:
        return say("flapping.next", language)
    if notice.trigger is Trigger.JOB_QUEUED and facts.deadline is not None:
        return say("queued.next_deadline", language, deadline=moment(facts.deadline, zone))
    advice = say(f"{notice.trigger.value.removeprefix('job_')}.next", language)
    if notice.trigger is Trigger.JOB_RUNNING and facts.again:
        advice = say("running.next_again", language)
    if notice.trigger is Trigger.JOB_FAILED and facts.reason_code == "PREEMPTED":
        advice = say("failed.next_preempted", language)
    if facts.advice is not None:
        advice = clean(pick(facts.advice, language), _REASON)
    if facts.hold_until is not None:
        advice = f"{say('hold', language, until=moment(facts.hold_until, zone))} {advice}"
    return advice


def _numbers(notice: Notice, facts: Facts, zone: tzinfo) -> tuple[tuple[str, str], ...]:
    language = notice.language
    values: dict[str, str | None] = {
        "label.entry": say("value.entry", language, n=facts.entry) if facts.entry else None,
        "label.requeues_left": _number(facts.requeues_left),
        "label.deadline": moment(facts.deadline, zone) if facts.deadline else None,
        "label.leave_by": moment(facts.leave_by, zone) if facts.leave_by else None,
        "label.by": clean(facts.by, _SHORT) if facts.by else None,
        "label.attempt": say("value.entry", language, n=facts.attempt) if facts.attempt else None,
        "label.step": _number(facts.step),
        "label.resumed_step": _number(facts.resumed_step),
        "label.checkpoint_step": _number(facts.checkpoint_step),
        "label.workers": _number(facts.workers),
        "label.gpus": _number(facts.gpus),
        "label.gpu_hours": _hours(facts.gpu_hours),
        "label.lost_gpu_hours": _hours(facts.lost_gpu_hours),
        "label.waited": _span(facts.waited_s, language),
        "label.ran": _span(facts.ran_s, language),
        "label.nodes": _nodes(facts.nodes, language) if facts.nodes else None,
        "label.avoid": _nodes(facts.avoid, language) if facts.avoid else None,
        "label.job": clean(notice.subject, _SHORT),
    }
    return _labelled(values, language)


def _of_node(notice: Notice, facts: NodeFacts, look: Look) -> _Parts:
    language = notice.language
    until = moment(facts.until, look.zone) if facts.until else None
    following = say("node_excluded.next", language)
    if facts.proposed:
        following = say("node_excluded.next_proposed", language)
    values = {
        "label.pool": clean(facts.pool, _SHORT),
        "label.node": clean(facts.node, _NODE),
        "label.until": until,
        "label.times": say("value.entry", language, n=facts.times),
    }
    what = say("node_excluded.what", language, reason=_reason(facts.why, language))
    return clean(facts.pool, _SHORT), what, following, (), _labelled(values, language), ()


def _of_incident(notice: Notice, facts: IncidentFacts, look: Look) -> _Parts:
    language = notice.language
    over = facts.phase == "closed"
    what = say(
        "incident.what_over" if over else "incident.what",
        language,
        reason=_reason(facts.why, language),
    )
    if over and facts.closed_by:
        what = say("incident.what_closed", language, who=clean(facts.closed_by, _SHORT))
    known = facts.kind in set(IncidentKind)
    values = {
        "label.kind": say(f"incident.{facts.kind}", language) if known else None,
        "label.pool": clean(facts.pool, _SHORT) if facts.pool else None,
        "label.jobs": _number(facts.jobs),
        "label.users": _number(facts.users),
        "label.since": moment(facts.since, look.zone) if facts.since else None,
        "label.ended": moment(facts.ended, look.zone) if facts.ended else None,
        "label.nodes": _nodes(facts.nodes, language) if facts.nodes else None,
        "label.incident": clean(facts.incident, _SHORT),
    }
    following = say("incident.next_over" if over else "incident.next", language)
    return clean(facts.pool, _SHORT), what, following, (), _labelled(values, language), ()


def pick(both: Both, language: Language) -> str:
    """Return the text of a language."""
    return both[1 if language == "zh" else 0]


def moment(at: datetime, zone: tzinfo) -> str:
    """Return an instant as people of a zone read it."""
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def _reason(both: Both | None, language: Language) -> str:
    return clean(pick(both, language), _REASON) if both else say("no_reason", language)


def _labelled(values: dict[str, str | None], language: Language) -> tuple[tuple[str, str], ...]:
    return tuple((say(label, language), value) for label, value in values.items() if value)


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _hours(value: float | None) -> str | None:
    return None if value is None or value <= 0 else f"{value:.1f}"


def _span(seconds: float | None, language: Language) -> str | None:
    if seconds is None:
        return None
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return say("value.hours", language, h=hours, m=minutes)
    return say("value.minutes", language, m=minutes, s=rest)


def _nodes(nodes: tuple[str, ...], language: Language) -> str:
    names = ", ".join(clean(node, _NODE) for node in nodes[:_NODES_SHOWN])
    rest = len(nodes) - _NODES_SHOWN
    return names if rest <= 0 else say("more", language, names=names, count=rest)
