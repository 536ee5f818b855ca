"""What a digest says: how many of what, and each of them in a line. Pure.

Every notice of the digest has its line, in the order of events; the names are cut before a line is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from muster.notifier.core.notice import Facts, Kind, Notice
from muster.notifier.core.plain import clean
from muster.notifier.core.texts import say
from muster.notifier.core.wording import Look, Words, moment, name_of, pick, state_of

_LINE_BYTES = 130
_CAUSES, _CAUSE = 3, 120


def words_of_many(notices: Sequence[Notice], look: Look) -> Words:
    """Return what many notices say together; they are of one language."""
    first, language = notices[0], notices[0].language
    told = _told(notices)
    states = Counter(state_of(notice)[0] for notice in told)
    mixed = len(states) > 1
    state, colour = (say("digest.mixed", language), "grey") if mixed else state_of(first)
    jobs = len({(notice.tenant, notice.subject) for notice in told})
    title = f"{state} · {say('digest.title', language, n=jobs)}"
    if first.kind is Kind.REMINDER:
        title = say("reminder", language, title=title)
    counts = ", ".join(f"{word} {n}" for word, n in states.most_common())
    begun, ended = moment(told[0].at, look.zone), moment(told[-1].at, look.zone)
    return Words(
        state=state,
        colour=colour,
        title=title,
        subtitle=clean(", ".join(sorted({notice.tenant for notice in told})), 128),
        what=say("digest.what", language, counts=counts, begun=begun, ended=ended),
        next=say("digest.next", language),
        lines=tuple(_line(notice, look, mixed=mixed) for notice in told),
        numbers=_causes(told),
    )


def _told(notices: Sequence[Notice]) -> list[Notice]:
    """Return one notice for each transition: two rules may ask for the same."""
    seen: dict[tuple[str, str, str], Notice] = {}
    for notice in notices:
        seen.setdefault((notice.tenant, notice.subject, notice.transition), notice)
    return sorted(seen.values(), key=lambda notice: (notice.at, notice.version))


def _line(notice: Notice, look: Look, *, mixed: bool) -> str:
    at = notice.at.astimezone(look.zone).strftime("%H:%M:%S")
    owner = f" · {clean(notice.facts.owner, 24)}" if isinstance(notice.facts, Facts) else ""
    state = f" · {state_of(notice)[0]}" if mixed else ""
    rest = f"{owner}{state}"
    room = _LINE_BYTES - len(at) - len(rest.encode()) - 1
    return f"{at} {_cut(name_of(notice), room)}{rest}"


def _cut(text: str, room: int) -> str:
    """Return as many characters of a text as fit in so many bytes."""
    if len(text.encode("utf-8", "replace")) <= room:
        return text
    while text and len(text.encode("utf-8", "replace")) > room - 3:
        text = text[:-1]
    return f"{text}…"


def _causes(told: Sequence[Notice]) -> tuple[tuple[str, str], ...]:
    """Return the most frequent reasons, with how many each has."""
    language = told[0].language
    reasons = [
        clean(pick(notice.facts.reason, language), _CAUSE)
        for notice in told
        if isinstance(notice.facts, Facts) and notice.facts.reason
    ]
    return tuple((f"{n} x", reason) for reason, n in Counter(reasons).most_common(_CAUSES))
