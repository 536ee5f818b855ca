"""What would let a waiting job go on. Tried, not guessed: a plan with the remedy places the job.

A trial plans the jobs that hold something, the job itself, and who is before it in the queue, as
far as `TRIAL_QUEUE` goes. Called for live answers only: some plans for one job.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from muster.domain.demand import Demand, LocalityMode, ResourceClass
from muster.domain.facts import Placement, Preempted, Scheduled
from muster.domain.nodes import NodeState
from muster.domain.spec import PRIORITIES
from muster.domain.state import JobState
from muster.domain.waiting import Help, HelpKind
from muster.scheduler.core import texts
from muster.scheduler.core.clocks import instants
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.plan import plan
from muster.scheduler.core.snapshot import JobKey, Listed, Snapshot
from muster.scheduler.core.verdicts import Move, Plan, Verdict, Waiting
from muster.scheduler.core.whatif import with_job, with_priority

TRIAL_QUEUE = 200
SHOWN = 5
HIGHEST = 99

TRIALS = 10
"""So many plans are made for one explanation at most: what is cheap to try comes first."""


def remedies(
    made: Plan, job: Listed, verdict: Verdict, memory: Memory | None = None
) -> tuple[Help, ...]:
    """Return what would help a job that waits, the surest first.

    memory: of trials alone, so that each begins with what the one before has found.
    """
    if verdict.why not in _TRIED:
        return ()
    trial = _Trial(made, job, memory or Memory())
    changed = [*_opened(trial), *_widened(trial), *_nearer(trial)]
    found = [*_in_time(trial), *changed, *_risen(trial), *_smaller(verdict)]
    if trial.cut:
        found.append(texts.help_of(HelpKind.GENERAL, texts.HELP_CUT, count=TRIALS))
    return tuple(found)


_TRIED = frozenset(
    {
        Waiting.EVICTION_LIMIT,
        Waiting.NO_DOMAIN,
        Waiting.NO_ROOM,
        Waiting.NODES_SHUT,
        Waiting.NEVER_FITS,
        Waiting.NODES_ABSENT,
        Waiting.NOT_REACHED,
        Waiting.QUOTA,
        Waiting.STOCK,
        Waiting.SPOT_QUOTA,
    }
)
"""Verdicts against which something may be tried."""


class _Trial:
    """A pool in which something else is tried each time. cut: something was not tried."""

    def __init__(self, made: Plan, job: Listed, memory: Memory) -> None:
        self.job, self.policy, self.now = job, made.policy, made.snapshot.now
        self.left, self.cut = TRIALS, False
        ahead: list[JobKey] = []
        for waiter, _ in islice(made.verdicts.ordered(), TRIAL_QUEUE):
            if waiter.key == job.key:
                break
            ahead.append(waiter.key)
        book = made.snapshot.book.narrowed({*ahead, job.key})
        self.snapshot = replace(made.snapshot, jobs=book, cursor=None, memory=memory)

    def move(self, snapshot: Snapshot) -> Move | None:
        """Return the move that would place the job; None if nothing would, or no trial is left."""
        if not self.left:
            self.cut = True
            return None
        self.left -= 1
        return move_of(plan(snapshot, self.policy), self.job.key)

    def move_at(self, at: datetime) -> Move | None:
        """Return the move that would place the job at another instant, if nothing happens."""
        return self.move(replace(self.snapshot, now=at))

    def with_demand(self, **changes: object) -> Snapshot:
        """Return the pool as if the job asked for something else."""
        demand = self.job.state.demand.model_copy(update=changes)
        return with_job(self.snapshot, self.job.state.model_copy(update={"demand": demand}))


def move_of(made: Plan, job: JobKey) -> Move | None:
    """Return the move of a plan that places a job."""
    for move in made.moves:
        if any(one.job == job and isinstance(one.fact, Scheduled) for one in move.decisions):
            return move
    return None


def placement_of(move: Move, job: JobKey) -> Placement:
    """Return where a move places a job."""
    for one in move.decisions:
        if one.job == job and isinstance(one.fact, Scheduled):
            return one.fact.placement
    return {}


def victims_of(move: Move) -> list[JobKey]:
    """Return the running jobs that a move evicts."""
    return [one.job for one in move.decisions if isinstance(one.fact, Preempted)]


# --- what is tried -------------------------------------------------------------------------------


def _in_time(trial: _Trial) -> Iterator[Help]:
    """Time alone: jobs that are spared for now may be evicted later, overdue ones be given up."""
    found = _first_instant(trial)
    if found is None:
        return
    at, move = found
    victims = victims_of(move)
    yield texts.help_of(
        HelpKind.GUARD_ENDS if victims else HelpKind.WAIT,
        texts.HELP_GUARD if victims else texts.HELP_WAIT,
        at=at,
        proven=True,
        until=texts.clock(at),
        count=len(victims),
        jobs=_names([job for _, job in victims]),
    )


def _first_instant(trial: _Trial) -> tuple[datetime, Move] | None:
    """Return when the job would be placed by the mere passing of time, and how."""
    ends = sorted({at for at in instants(trial.snapshot, trial.policy) if at > trial.now})
    low, found = 0, trial.move_at(ends[-1]) if ends else None
    if found is None:
        return None
    high = len(ends) - 1
    spare = len(_higher(trial.job.state.demand))
    while low < high and trial.left > spare:  # an instant that is found is proven, if not the first
        middle = (low + high) // 2
        move = trial.move_at(ends[middle])
        if move is None:
            low = middle + 1
        else:
            high, found = middle, move
    return ends[high], found


def _opened(trial: _Trial) -> Iterator[Help]:
    """Nodes that an operator has closed."""
    closed = {node.node for node in trial.snapshot.nodes if node.cordoned or node.excluded_until}
    if not closed:
        return
    opened = tuple(_open(node) for node in trial.snapshot.nodes)
    move = trial.move(replace(trial.snapshot, nodes=opened))
    if move is None:
        return
    used = sorted(closed & set(placement_of(move, trial.job.key)))
    if used:
        yield texts.help_of(
            HelpKind.OPEN_NODES, texts.HELP_OPEN, proven=True, nodes=_names(used), count=len(used)
        )


def _open(node: NodeState) -> NodeState:
    return node.model_copy(update={"cordoned": False, "draining": False, "excluded_until": None})


def _widened(trial: _Trial) -> Iterator[Help]:
    """The job's own choice of nodes."""
    policy = trial.job.state.demand.node_policy
    if policy is None or trial.move(trial.with_demand(node_policy=None)) is None:
        return
    excluded = sum(not policy.allows(node.node) for node in trial.snapshot.nodes)
    yield texts.help_of(HelpKind.NODE_POLICY, texts.HELP_POLICY, proven=True, count=excluded)


def _nearer(trial: _Trial) -> Iterator[Help]:
    """Workers that must be near to each other."""
    locality = trial.job.state.demand.locality
    if locality is None or locality.mode is not LocalityMode.REQUIRED:
        return
    preferred = locality.model_copy(update={"mode": LocalityMode.PREFERRED})
    if trial.move(trial.with_demand(locality=preferred)) is not None:
        yield texts.help_of(
            HelpKind.LOCALITY, texts.HELP_LOCALITY, proven=True, level=locality.level
        )


def _risen(trial: _Trial) -> Iterator[Help]:
    """A higher priority: for who may be evicted then, and for a place further to the front."""
    state = trial.job.state
    for priority in _higher(state.demand):
        risen = with_priority(state, priority)
        assert isinstance(risen, JobState)
        move = trial.move(with_job(trial.snapshot, risen))
        if move is None:
            continue
        victims = victims_of(move)
        yield texts.help_of(
            HelpKind.PRIORITY,
            texts.HELP_PRIORITY if victims else texts.HELP_FRONT,
            proven=True,
            priority=priority,
            count=len(victims),
            jobs=_names([job for _, job in victims]),
        )
        return


def _higher(demand: Demand) -> list[int]:
    """Return the priorities that are tried, the lowest first."""
    if demand.resource_class is ResourceClass.IDLE:
        return []
    return [
        each for each in sorted({*PRIORITIES.values(), HIGHEST}) if each > (demand.priority or 0)
    ]


def _smaller(verdict: Verdict) -> Iterator[Help]:
    short = verdict.short
    if short is None:
        return
    if verdict.why is Waiting.NO_ROOM:
        missing = short.need - short.fits
        yield texts.help_of(
            HelpKind.ROOM, texts.HELP_ROOM, count=missing, spec=texts.spec(short.role)
        )
    if short.fits:
        empty = verdict.why in {Waiting.NEVER_FITS, Waiting.NODES_ABSENT}
        text = texts.HELP_SMALLER_EVER if empty else texts.HELP_SMALLER
        yield texts.help_of(HelpKind.SMALLER, text, fits=short.fits)


def _names(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(sorted(names)[:SHOWN]) + (f", +{more}" if more > 0 else "")
