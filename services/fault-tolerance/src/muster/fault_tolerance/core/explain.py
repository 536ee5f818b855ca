"""The lines of evidence that a diagnosis carries, the most telling first. Pure.

Texts are data: shortened, without control characters, never markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from muster.domain.diagnosis import LINES, TEXT, EvidenceLine, Source
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.hang_lines import FAMILIES, PLACE
from muster.fault_tolerance.core.rules import Role
from muster.fault_tolerance.core.signs import Sign, ended_at

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_TELLING = {Role.ROOT: 0, Role.CONFIRM: 1, Role.CASCADE: 2}
_MOST = 200
_SOURCES = {source: place for place, source in enumerate(Source)}


def clean(text: str) -> str:
    """Return a text as one line of bounded length."""
    line = _CONTROL.sub(" ", text).strip()
    return line if len(line) <= TEXT else line[: TEXT - 1] + "…"


def evidence_of(
    cause: Cause, view: View, history: Iterable[EvidenceLine]
) -> tuple[EvidenceLine, ...]:
    """Return at most so many lines as a diagnosis holds, none twice, whichever rules match it."""
    kept: dict[tuple[str, Source, str | None], EvidenceLine] = {}
    for line in _lines(cause, view, tuple(history)):
        kept.setdefault((line.text, line.source, line.node), line)
        if len(kept) == LINES:
            break
    return tuple(kept.values())


def _lines(cause: Cause, view: View, history: tuple[EvidenceLine, ...]) -> Iterator[EvidenceLine]:
    if view.failure.order:
        yield EvidenceLine(source=Source.ORDER, text=clean(view.failure.order))
    if cause.sign is not None:
        yield _line(cause.sign)
    yield from history
    yield from _silence(view)
    yield from _exits(view)
    near = [s for s in _all(view) if s.rule.role is not Role.TEARDOWN]
    near.sort(key=lambda s: (not _of_cause(s, cause), _TELLING[s.rule.role], _SOURCES[s.source]))
    for sign in near[:_MOST]:
        yield _line(sign)


def _of_cause(sign: Sign, cause: Cause) -> bool:
    return sign.worker == cause.worker if sign.worker else sign.node == cause.node


def _all(view: View) -> Iterator[Sign]:
    yield from view.signs.nodes
    for worker in view.order[:16]:
        for of in (view.signs.pods, view.signs.logs):
            yield from of.get(worker.worker, ())


def _silence(view: View) -> Iterator[EvidenceLine]:
    """Yield what a hang showed before anything was ended: who was still, and where they stood."""
    seen = view.failure.silence
    still = [s for s in seen[:FAMILIES] if s.en.startswith("progress") or ": still" in s.en]
    for line in (*still, *(each for each in seen if each.en.startswith(PLACE))):
        yield EvidenceLine(source=Source.SIGNALS, text=clean(line.en), zh=clean(line.zh))


def _exits(view: View) -> Iterator[EvidenceLine]:
    """Yield how the first worker ended, in the words of the cluster."""
    first = view.first
    if first is None:
        return
    code = "" if first.exit_code is None else f" exit={first.exit_code}"
    yield EvidenceLine(
        source=Source.EXIT,
        text=clean(f"{first.cause}{code} {first.reason}"),
        worker=first.worker,
        node=first.node,
        at=ended_at(first),
    )


def _line(sign: Sign) -> EvidenceLine:
    return EvidenceLine(
        source=sign.source,
        text=clean(sign.hit.text),
        rule=sign.rule.id,
        worker=sign.worker,
        node=sign.node,
        at=sign.at,
    )
