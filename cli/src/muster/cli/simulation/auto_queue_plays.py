"""Plays each combination to the point where it is decided what becomes of the job.

Pure. `play` is the one entry; the order in which services look is the least favourable to the job:
requeue before the placement round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import groupby

from muster.cli.simulation.auto_queue_cases import HOURS, Case, Event, Stage
from muster.cli.simulation.auto_queue_cores import (
    CARDS,
    SECOND,
    Cores,
    Told,
    begun,
    deadline,
    higher,
    spec,
)
from muster.domain import facts as f
from muster.domain import nodes as n
from muster.domain.causes import EvictionCause
from muster.domain.demand import ResourceClass
from muster.domain.phases import Phase, Shown
from muster.domain.reasons import Reason
from muster.domain.state import DeadlineKind, JobState, Ledgers

OUTAGE = timedelta(hours=1)
"""Muster comes back so long after the deadline."""


class Clock(StrEnum):
    """What becomes of the time that the job may wait."""

    FROM_ZERO = "from zero"
    GOES_ON = "goes on"
    ONE_ROUND = "one round"
    NONE = "no limit"
    OVER = "-"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job. events: from what happened to the decision.

    shown: what a person saw meanwhile, each once, the last one at the end. cause: of the eviction,
    where there was one. entry, requeues: how many more than before. ledger: the only one that
    moved, "" for none.
    """

    phase: Phase
    events: tuple[str, ...]
    shown: tuple[Shown, ...]
    cause: EvictionCause | None
    reason: Reason | None
    entry: int
    requeues: int
    left: int
    ledger: str
    clock: Clock


def play(case: Case) -> Outcome:
    """Find out what becomes of the job."""
    cores = begun(case)
    if case.happening.stage is Stage.QUEUED:
        return _WAITS[case.happening.event](cores)
    _bring_to(cores, case.happening.stage)
    return _taken(cores, case.happening.event)


# --- while it waits ----------------------------------------------------------------------------


def _no_room(cores: Cores) -> Outcome:
    _shut(cores)
    since = len(cores.history)
    cores.round()
    cores.requeue()
    return _outcome(cores.history, since)


def _deadline(cores: Cores) -> Outcome:
    """Rounds run all the time, none has room; the second before the end nothing happens yet."""
    _shut(cores)
    since = len(cores.history)
    cores.round()
    end = deadline(cores.job)
    for instant in (end - SECOND, end) if end else ():
        cores.wait_until(instant)
        cores.round()
        cores.requeue()
    return _outcome(cores.history, since)


def _bounced(cores: Cores) -> Outcome:
    """Placed before the end, and back in the queue after it."""
    end = cores.job.due(DeadlineKind.QUEUE)
    cores.wait_until(end - 30 * SECOND if end else cores.now)
    cores.round()
    since = len(cores.history)
    cores.wait(40)
    _shut(cores)
    for _ in range(2):  # the first round takes the place back, the second finds no other
        cores.round()
        cores.requeue()
    return _outcome(cores.history, since)


def _down(cores: Cores) -> None:
    end = deadline(cores.job)
    cores.wait_until((end or cores.now) + OUTAGE)


def _down_full(cores: Cores) -> Outcome:
    _shut(cores)
    return _after_outage(cores)


def _after_outage(cores: Cores) -> Outcome:
    since = len(cores.history)
    _down(cores)
    for _ in range(2):
        cores.requeue()
        cores.round()
    cores.requeue()
    return _outcome(cores.history, since)


_WAITS: dict[Event, Callable[[Cores], Outcome]] = {
    Event.NO_ROOM: _no_room,
    Event.DEADLINE: _deadline,
    Event.BOUNCED: _bounced,
    Event.DOWN_FULL: _down_full,
    Event.DOWN_ROOM: _after_outage,
}


def _shut(cores: Cores) -> None:
    cores.about_node(n.NodeCordoned(by="operator", request="shut"))


# --- while it holds its nodes ------------------------------------------------------------------


def _bring_to(cores: Cores, stage: Stage) -> None:
    cores.round()
    match stage:
        case Stage.LAUNCHED:
            cores.launch()
        case Stage.RUNNING:
            cores.run()


def _taken(cores: Cores, event: Event) -> Outcome:
    since = len(cores.history)
    launched = cores.job.launched
    _TAKES[event](cores)
    cores.round()
    if event is Event.LOST and launched and cores.job.phase in {Phase.STARTING, Phase.RUNNING}:
        cores.lose_workers()
        cores.judge()
    if cores.job.phase is Phase.EVICTING:
        cores.release()
    cores.requeue()
    return _outcome(cores.history, since)


def _higher(cores: Cores) -> None:
    cores.submit("higher", higher(cores.kind), "other")


def _lender(cores: Cores) -> None:
    cores.share("acme", 0)
    cores.share("lender", CARDS)
    cores.submit("lender", spec(ResourceClass.ON_DEMAND, 10, guarantee=True), "lender")


_TAKES: dict[Event, Callable[[Cores], None]] = {
    Event.HIGHER: _higher,
    Event.LENDER: _lender,
    Event.RECLAIM: lambda cores: cores.about_node(
        n.NodeReclaiming(deadline=cores.now + timedelta(seconds=120))
    ),
    Event.DRAIN: lambda cores: cores.about_node(n.NodeDrained(by="operator", request="drain")),
    Event.LOST: lambda cores: cores.about_node(n.NodeLost()),
    Event.REFUSED: lambda cores: cores.tell(f.StartFailed(attempt=cores.job.attempt, why="slow")),
}


# --- what became of it -------------------------------------------------------------------------


def _outcome(history: list[Told], since: int) -> Outcome:
    before, after, told = history[since - 1].after, history[-1].after, history[since:]
    return Outcome(
        phase=after.phase,
        events=tuple(each.fact.event for each in told),
        shown=_shown([each.after.shown for each in told] or [after.shown]),
        cause=next((each.after.eviction.cause for each in told if each.after.eviction), None),
        reason=after.reason if told else None,
        entry=after.queue_entry - before.queue_entry,
        requeues=after.ledgers.requeues - before.ledgers.requeues,
        left=after.requeues_left,
        ledger=_moved(before.ledgers, after.ledgers),
        clock=_clock(before, after),
    )


def _shown(seen: list[Shown]) -> tuple[Shown, ...]:
    return tuple(each for each, _ in groupby(seen))


def _moved(old: Ledgers, new: Ledgers) -> str:
    """Name the ledgers that moved; there is never more than one."""
    fields = Ledgers.model_fields
    return ", ".join(name for name in fields if getattr(old, name) != getattr(new, name))


def _clock(before: JobState, after: JobState) -> Clock:
    due = after.due(DeadlineKind.QUEUE)
    if due is not None and after.queue_entry == before.queue_entry:
        assert due == before.due(DeadlineKind.QUEUE), "the clock of an entry was moved"
        return Clock.GOES_ON
    if due is not None:
        assert after.entered_at, "an entry without a beginning"
        assert due == after.entered_at + timedelta(hours=HOURS), "not from zero"
        return Clock.FROM_ZERO
    if after.phase is Phase.QUEUED:
        return Clock.ONE_ROUND if after.one_shot else Clock.NONE
    return Clock.OVER
