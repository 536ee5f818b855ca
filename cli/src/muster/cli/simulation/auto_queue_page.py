"""The page docs/reference/auto_queue.md: what becomes of a job, in every combination.

Nothing of it is written by hand but the headings: each row is played. Rows whose outcome is the
same are one row. Called by scripts/generate_docs.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from muster.cli.simulation.auto_queue_cases import (
    HAPPENINGS,
    HOURS,
    KINDS,
    Auto,
    Case,
    Event,
    Happening,
    Kind,
    every_case,
)
from muster.cli.simulation.auto_queue_plays import Outcome, play
from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.phases import SHOWN_TEXT, Phase, Shown
from muster.domain.reasons import ReasonCode, texts_of

INTRO = f"""\
Each row is played with the decisions of the services themselves: a placement round, requeue, fault
tolerance. The jobs may wait {HOURS} h in each queueing. *left*: requeues that are left when it
happens, of 0 to 3; rows are the same however many were used before. Where several services may be
first, requeue is."""

LIMITS = """\
`max_queue_hours` is a whole number from {hours[0]} to {hours[1]}: how long each queueing may last;
the clock begins at zero each time. `max_requeues` is a whole number from {requeues[0]} to
{requeues[1]}: how often the job may queue again after an eviction that counts; the first queueing
is none of them. `max_retries` is read as another name of `max_requeues` and is always shown as
`max_requeues`; different numbers under the two names are refused. Both limits are required when
`enabled` is true, which it is not by itself, and refused when it is not."""

CHANGES = """\
While a job waits its limits may be changed (`respecify`). A new `max_queue_hours` counts from the
beginning of the present queueing, so it may be over at once: then the job has one more placement
round. A `max_requeues` below what is used already leaves none: the next eviction that counts parks
the job, and nothing before it does. `resume` of a parked job begins anew: no requeue is used, and
the clock is at zero."""

HEAD = (
    "stage",
    "class",
    "auto-queue",
    "phase",
    "shown, one after the other",
    "cause",
    "reason",
    "requeues",
    "entry",
    "ledger",
    "clock",
)


@dataclass(frozen=True, slots=True)
class Row:
    """Cases with one outcome."""

    cases: tuple[Case, ...]
    outcome: Outcome

    def covers(self, case: Case) -> bool:
        """Tell whether the row speaks of a case, whatever was used before."""
        if case.auto is not None:
            case = Case(case.kind, Auto(case.auto.left), case.happening)
        return case in self.cases


def rows() -> list[Row]:
    """Play every combination, and put together what comes to the same."""
    found: dict[object, list[tuple[Case, Outcome]]] = defaultdict(list)
    for case in every_case():
        if case.auto is None or not case.auto.used:
            outcome = play(case)
            found[_alike(case, outcome)].append((case, outcome))
    return [Row(tuple(case for case, _ in same), same[0][1]) for same in found.values()]


def _alike(case: Case, outcome: Outcome) -> object:
    """Return what makes a row; stages are put together where they make no difference."""
    return case.happening.event, _cells(outcome)


def page(played: Sequence[Row] | None = None) -> str:
    """Return the page below its introduction."""
    played = played or rows()
    limits = LIMITS.format(hours=_range("max_queue_hours"), requeues=_range("max_requeues"))
    blocks = ["## The limits", limits, CHANGES]
    for event in Event:
        blocks += [f"## {_capital(event)}", _table(HEAD, _lines(event, played))]
    blocks += ["## What a person reads", _table(("reason", "English", "中文"), _texts(played))]
    return "\n\n".join(blocks)


def _range(field: str) -> tuple[int, int]:
    whole, *_ = AutoQueueSpec.model_json_schema()["properties"][field]["anyOf"]
    return whole["minimum"], whole["maximum"]


def _lines(event: Event, played: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    for row in played:
        if row.cases[0].happening.event is event:
            for stages, kinds, autos in blocks_of(row.cases):
                yield stages, kinds, autos, *_cells(row.outcome)


def blocks_of(cases: Iterable[Case]) -> Iterator[tuple[str, str, str]]:
    """Yield (stages, classes, limits) that name exactly these cases: full products only."""
    by_place: dict[tuple[Happening, Kind], set[Auto | None]] = defaultdict(set)
    for case in cases:
        by_place[case.happening, case.kind].add(case.auto)
    by_kind: dict[tuple[Kind, str], list[Happening]] = defaultdict(list)
    for (happening, kind), autos in by_place.items():
        by_kind[kind, _autos(autos)].append(happening)
    whole: dict[tuple[str, str], list[Kind]] = defaultdict(list)
    for (kind, limits), happenings in by_kind.items():
        whole[_stages(happenings), limits].append(kind)
    for (stages, limits), kinds in whole.items():
        yield stages, _kinds(kinds), limits


def _autos(autos: set[Auto | None]) -> str:
    left = sorted(auto.max_requeues for auto in autos if auto)
    on = f"on, {', '.join(map(str, left))} left" if left else ""
    if len(left) == 4:
        on = "on"
    return " or ".join(part for part in ("off" if None in autos else "", on) if part)


def _stages(happenings: Iterable[Happening]) -> str:
    return ", ".join(each.stage for each in HAPPENINGS if each in set(happenings))


def _kinds(kinds: Sequence[Kind]) -> str:
    return "every class" if len(kinds) == len(KINDS) else ", ".join(kind.name for kind in kinds)


UNTOUCHED = ("as it was", "-", "-", "-", "0", "same", "none", "unchanged")


def _cells(outcome: Outcome) -> tuple[str, ...]:
    if not outcome.events and outcome.phase is not Phase.QUEUED:
        return UNTOUCHED
    return (
        f"`{outcome.phase}`",
        ", ".join(_word(shown) for shown in outcome.shown),
        f"`{outcome.cause}`" if outcome.cause else "-",
        f"`{outcome.reason.code}`" if outcome.reason else "-",
        f"+{outcome.requeues}" if outcome.requeues else "0",
        "next" if outcome.entry else "same",
        outcome.ledger or "none",
        outcome.clock.value,
    )


def _word(shown: Shown) -> str:
    english, chinese = SHOWN_TEXT[shown]
    return f"{english} {chinese}"


def _texts(played: Iterable[Row]) -> Iterator[tuple[str, str, str]]:
    said = {row.outcome.reason.code for row in played if row.outcome.reason}
    for code in ReasonCode:
        if code in said:
            yield f"`{code}`", *texts_of(code)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    every = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in every)
