"""What a job used: in which phase it held how many GPUs of which model, and for how long. Pure.

Made from the state after each event and the event's instant, and from nothing else. Waiting holds
nothing and so costs nothing; whoever leaves counts until it is proven gone. The archive's
statements (`gateway.store.usage`) mean the same; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase
from muster.domain.state import JobState
from muster.domain.usage import CARD, use_by

Moment = tuple[JobState, datetime]
"""A job's state after an event, and the instant of the event."""

Models = Callable[[str, str], str | None]
"""Pool and node -> the node's GPU model, None where it is not known."""

WAITING = frozenset({Phase.SUBMITTED, Phase.QUEUED, Phase.INTERRUPTED})
"""Phases in which a job waits to be placed."""

NO_MODEL = ""
"""The model of a time in which no GPU was held."""
UNKNOWN_MODEL = "?"
"""The model of GPUs of a node that nobody described."""

DIMENSIONS = ("tenant", "user", "pool", "class", "phase", "model", "job")
LABEL = "label:"
"""What use may be summed up by: one of these, or `label:KEY`."""

_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000


def _nowhere(pool: str, node: str) -> str | None:
    """No node's model is known."""
    return None


@dataclass(frozen=True, slots=True)
class Interval:
    """A time in which nothing changed that is metered. milli: thousandths of GPUs, by model."""

    attempt: int
    phase: Phase
    resource_class: ResourceClass
    began: datetime
    ended: datetime
    milli: Mapping[str, int] = field(default_factory=dict)

    @property
    def span(self) -> int:
        """Microseconds."""
        return (self.ended - self.began) // _MICROSECOND

    @property
    def gpu_seconds(self) -> float:
        """GPU-seconds of all models; a share of a card counts as that share."""
        return self.span * sum(self.milli.values()) / (CARD * _SECOND)


@dataclass(frozen=True, slots=True)
class Used:
    """What several intervals come to. Times in microseconds, GPUs in thousandths: exact sums."""

    jobs: int = 0
    span: int = 0
    waited: int = 0
    charge: int = 0
    waited_charge: int = 0

    @property
    def seconds(self) -> float:
        """Time of jobs that had not ended, or still held something."""
        return self.span / _SECOND

    @property
    def waiting_seconds(self) -> float:
        """The part of it that was waited."""
        return self.waited / _SECOND

    @property
    def gpu_seconds(self) -> float:
        """What was held."""
        return self.charge / (CARD * _SECOND)

    @property
    def waiting_gpu_seconds(self) -> float:
        """What was held while waiting: computed like everything else, and nothing."""
        return self.waited_charge / (CARD * _SECOND)


def held_milli(state: JobState, models: Models = _nowhere) -> dict[str, int]:
    """Return the thousandths of GPUs that a job holds, by model of the nodes."""
    found: dict[str, int] = {}
    for node, milli in node_milli(state).items():
        model = models(state.pool, node) or UNKNOWN_MODEL
        found[model] = found.get(model, 0) + milli
    return found


def node_milli(state: JobState) -> dict[str, int]:
    """Return the thousandths of GPUs that a job holds, by node; nodes without any are left out."""
    uses = {node: use_by(state, node) for node in sorted(state.held)}
    milli = {node: use.whole * CARD + use.shared_milli for node, use in uses.items()}
    return {node: amount for node, amount in milli.items() if amount}


def is_over(state: JobState) -> bool:
    """Tell whether nothing is metered any more: it has ended and everything is given back."""
    return state.terminal and not state.held


def intervals(
    moments: Iterable[Moment],
    until: datetime,
    *,
    since: datetime | None = None,
    models: Models = _nowhere,
) -> list[Interval]:
    """Return one job's intervals between two instants; what still goes on is metered to `until`.

    In any order, and told twice, the same. A state holds until the next one that is known. No
    instant counts twice: time that went back in an event goes on from where it was.
    """
    known = sorted({state.version: (state, at) for state, at in moments}.items())
    found: list[Interval] = []
    for (state, at), (_, following) in pairwise([*_forward(m for _, m in known), (None, until)]):
        began, ended = max(at, since or at), min(following, until)
        if state is not None and ended > began and not is_over(state):
            _add(found, _interval(state, began, ended, models))
    return found


def _forward(moments: Iterable[Moment]) -> Iterable[tuple[JobState | None, datetime]]:
    latest: datetime | None = None
    for state, at in moments:
        latest = at if latest is None else max(latest, at)
        yield state, latest


def _interval(state: JobState, began: datetime, ended: datetime, models: Models) -> Interval:
    milli = held_milli(state, models)
    return Interval(state.attempt, state.phase, state.demand.resource_class, began, ended, milli)


def _add(found: list[Interval], new: Interval) -> None:
    """Append, or prolong the last one when only time has passed."""
    last = found[-1] if found else None
    if last is not None and replace(last, began=new.began, ended=new.ended) == new:
        found[-1] = replace(last, ended=new.ended)
    else:
        found.append(new)


Key = tuple[str, ...]


def is_dimension(text: str) -> bool:
    """Tell whether use may be summed up by this."""
    return text in DIMENSIONS or (text.startswith(LABEL) and len(text) > len(LABEL))


def summed(
    jobs: Iterable[tuple[JobState, Sequence[Interval]]], by: Sequence[str] = ()
) -> dict[Key, Used]:
    """Sum up jobs (the last state of each, and its intervals) by some dimensions.

    By model, a time in which GPUs of two models were held stands under both.
    """
    found: dict[Key, Used] = {}
    for state, own in jobs:
        seen: set[Key] = set()
        for each in own:
            for model, milli in _parts(each, by):
                key = tuple(_value(name, state, each, model) for name in by)
                found[key] = _plus(found.get(key, Used()), each, milli, new=key not in seen)
                seen.add(key)
    return found


def _parts(each: Interval, by: Sequence[str]) -> list[tuple[str, int]]:
    if "model" in by and each.milli:
        return sorted(each.milli.items())
    return [(NO_MODEL, sum(each.milli.values()))]


def _plus(used: Used, each: Interval, milli: int, *, new: bool) -> Used:
    waits = each.phase in WAITING
    return Used(
        used.jobs + new,
        used.span + each.span,
        used.waited + each.span * waits,
        used.charge + each.span * milli,
        used.waited_charge + each.span * milli * waits,
    )


def _value(name: str, state: JobState, each: Interval, model: str) -> str:
    match name:
        case "class":
            return each.resource_class.value
        case "phase":
            return each.phase.value
        case "model":
            return model
        case "job":
            return f"{state.tenant}/{state.job}"
        case "tenant" | "user" | "pool":
            return str(getattr(state, name))
    return state.labels.get(name.removeprefix(LABEL), "")
