"""What is written down of a suspicion, and lines that tell of a collective that does not end. Pure.

Texts of jobs and clusters are data: one line each, shortened, nothing that is not printable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from muster.domain import hang_words as words
from muster.domain.diagnosis import TEXT
from muster.domain.evidence import JobSignals, WorkerSignals
from muster.fault_tolerance.core.hang import Reading, Suspicion, Told
from muster.fault_tolerance.core.hang_signs import Sign

LINES = 24
"""Lines of evidence that an event carries."""
PLACES, OUTPUT = 8, 3
"""Different places that are shown, and last lines of each worker."""
FAMILIES, PLACE = 4, "stack of "
"""So many lines of families come first; how a line begins that tells where workers stand."""
LAST = 40
"""Lines of a worker's end in which a collective's trouble counts."""

_COLLECTIVE = re.compile(
    r"caught collective operation timeout"
    r"|collective operation .{0,80}timed? ?out"
    r"|NCCL WARN .{0,80}(?:timed? ?out|unresponsive)"
    r"|HCCL.{0,80}(?:timed? ?out|EI0002|EI0006)"
    r"|DDP hang|desync debug",
    re.IGNORECASE,
)


def collective(text: str) -> bool:
    """Tell whether the end of an output says that a collective operation does not end."""
    return any(_COLLECTIVE.search(line[:1000]) for line in text.splitlines()[-LAST:])


@dataclass(frozen=True, slots=True)
class Seen:
    """One line of evidence in both languages; what is quoted is the same in both."""

    en: str
    zh: str


def described(
    found: Suspicion, reading: Reading, signals: JobSignals, output: Mapping[str, str]
) -> tuple[Seen, ...]:
    """Return the lines that go with a suspicion, the most telling first."""
    lines = [
        *_families(found, reading, signals),
        *_places(signals),
        *_output(output),
    ]
    return tuple(Seen(_clean(line.en), _clean(line.zh)) for line in lines[:LINES])


def _said(template: tuple[str, str], **values: object) -> Seen:
    """Fill both languages in; a value that is in both itself is taken in each."""
    en, zh = ({k: _in(v, n) for k, v in values.items()} for n in (0, 1))
    return Seen(template[0].format(**en), template[1].format(**zh))


def _in(value: object, language: int) -> object:
    return (value.en, value.zh)[language] if isinstance(value, Seen) else value


def _families(found: Suspicion, reading: Reading, signals: JobSignals) -> Iterator[Seen]:
    yield _said(
        words.SILENCE,
        stage=_stage(reading.stage, signals.step),
        silent=_said(words.SECONDS, seconds=reading.silent_s),
        limit=_said(words.SECONDS, seconds=reading.limit_s),
    )
    for told in reading.told[1:]:
        yield _said(words.FAMILY, family=_said(words.FAMILIES[told.family]), sign=_sign(told))
    if found.exited:
        yield _said(words.OUTLIVED, worker=found.worker)


def _stage(stage: str, step: int | None) -> Seen:
    known = words.STAGES.get(stage)
    return Seen(stage, stage) if known is None else _said(known, step=step)


def _sign(told: Told) -> Seen:
    why = _said(words.WHYS[told.why]) if told.why else None
    said = _said(words.UNKNOWN)
    if told.sign is Sign.STILL:
        said = _said(words.STILL, span=_said(words.SECONDS, seconds=told.seconds), why=why)
    elif told.sign is Sign.MOVING:
        said = _said(words.MOVING_WHY, why=why) if why else _said(words.MOVING)
    return _said(words.WHO, said=said, worker=told.worker) if told.worker else said


def _places(signals: JobSignals) -> Iterator[Seen]:
    """Group workers by where they stand, the largest group first."""
    groups: dict[str, list[WorkerSignals]] = {}
    for worker in signals.workers:
        if worker.stack is not None:
            groups.setdefault(worker.stack, []).append(worker)
    for _, workers in sorted(groups.items(), key=lambda item: -len(item[1]))[:PLACES]:
        first, more = workers[0], len(workers) - 1
        place = first.standing or first.stack
        yield _said(
            words.STACKS if more else words.STACK, worker=first.worker, more=more, place=place
        )


def _output(output: Mapping[str, str]) -> Iterator[Seen]:
    for worker, text in sorted(output.items()):
        lines = [line for line in text.splitlines() if line.strip()]
        yield from (_said(words.PRINTED, worker=worker, line=line) for line in lines[-OUTPUT:])


def _clean(text: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= TEXT else f"{plain[: TEXT - 3]}..."


def shown_workers(workers: Iterable[str], odd: str | None) -> list[str]:
    """Return whose output is read: the first, the last, and the one that stands out."""
    names = list(workers)
    chosen = [*names[:1], *names[-1:], *(name for name in names if name == odd)]
    return list(dict.fromkeys(chosen))
