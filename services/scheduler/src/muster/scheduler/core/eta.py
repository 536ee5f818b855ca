"""When a waiting job will start: an interval, what it rests on, and what it takes for granted.

For `explain`, `fit` and summaries: `etas(made, keys)` for some jobs at once (the first of a queue,
say), `eta(made, key)` for one; `made` is the plan by which they wait. `say(found)` is the sentence.

Up to three walks (see `walk`). high: everybody who has a limit uses all of it, and nobody else ends
(basis LIMITS); if that is not enough, jobs without a limit take as long as nine of ten of their
kind did (LEARNED). low: everybody ends as soon as one of ten of their kind did, or at once where
nothing was learned. So by limits the job starts within the interval, but for what `ASSUMES` says;
by what was learned it does for the most part. Without a basis `high` is None and `why` says why.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice

from muster.domain.state import JobState
from muster.scheduler.core.endings import Basis, ending, limit
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import JobKey, Snapshot
from muster.scheduler.core.texts import Text
from muster.scheduler.core.verdicts import Plan, Waiting
from muster.scheduler.core.walk import Ends, Walk

MAX_QUEUE = 300
"""Jobs that have more before them than this get no estimate."""

ROUNDS = 150
"""Rounds of one walk."""

LEAST_ROUNDS = 6
WORK = 60_000
"""Of a large pool a walk has fewer rounds: so many nodes and jobs are gone through in all."""

BLUR = 6
"""The fewer rounds, the more ends count as one: both instants stay true, and are less near."""


class Unknown(StrEnum):
    """Why there is no latest instant."""

    NEVER = "NEVER"
    NO_BASIS = "NO_BASIS"
    TOO_FAR = "TOO_FAR"
    EXPIRES = "EXPIRES"
    QUOTA = "QUOTA"


WHY = {
    Unknown.NEVER: Text(
        "it cannot start in this pool as it is", "该任务无法在此资源池当前的条件下启动"
    ),
    Unknown.NO_BASIS: Text(
        "it waits for jobs that have no limit on their run time, and of whose kind too few have"
        " ended yet to tell",
        "它所等待的任务没有运行时长上限，且同类任务结束的记录太少，无法估计",
    ),
    Unknown.TOO_FAR: Text(
        "too much stands before it to look so far ahead", "排在它之前的任务太多，无法估计"
    ),
    Unknown.EXPIRES: Text(
        "by this estimate its time in the queue ends first", "按此估计，其排队时限会先到"
    ),
    Unknown.QUOTA: Text(
        "how much spot jobs may hold follows the demand of others, and is measured anew every few"
        " minutes",
        "Spot 任务的配额随其他任务的需求变化，每隔几分钟重新计算",
    ),
}

ASSUMES = Text(
    "nodes stay as they are, no job comes that goes before it, and jobs start without delay",
    "假设节点保持不变、没有优先于它的新任务、且任务启动没有延迟",
)

BETWEEN = Text(
    "it starts between {low} and {high} ({basis})", "预计在 {low} 与 {high} 之间启动（{basis}）"
)
NOT_BEFORE = Text("it starts at {low} at the earliest: {why}", "最早于 {low} 启动：{why}")
NO_IDEA = Text("when it starts is not known: {why}", "启动时间未知：{why}")
BASIS = {
    Basis.LIMITS: Text("by limits on run times", "依据运行时长上限"),
    Basis.LEARNED: Text(
        "by how long such jobs have run, 10th to 90th percentile",
        "依据同类任务的历史运行时长，第 10 至第 90 百分位",
    ),
    Basis.UNKNOWN: Text("without a basis", "无依据"),
}


@dataclass(frozen=True, slots=True)
class Eta:
    """low, high: the job starts no sooner, no later. why: where `high` is None."""

    job: JobKey
    low: datetime | None
    high: datetime | None
    basis: Basis
    why: Unknown | None = None


def eta(made: Plan, job: JobKey, memory: Memory | None = None) -> Eta:
    """Estimate the start of one waiting job. Raises KeyError if it is not queued."""
    return etas(made, (job,), memory)[job]


def etas(made: Plan, jobs: Collection[JobKey], memory: Memory | None = None) -> dict[JobKey, Eta]:
    """Estimate the start of some waiting jobs at once. Raises KeyError for another one.

    memory: of walks alone, so that each begins with what the one before has found.
    """
    for key in jobs:
        if made.snapshot.book.find(key) is None:
            raise KeyError(key)
    line = [waiter.key for waiter, _ in islice(made.verdicts.ordered(), MAX_QUEUE)]
    places = {key: place for place, key in enumerate(line)}
    near = {key for key in jobs if key in places and _why_not(made, key) is None}
    found = {
        key: Eta(key, None, None, Basis.UNKNOWN, _why_not(made, key) or Unknown.TOO_FAR)
        for key in jobs
        if key not in near
    }
    if near:
        before = line[: max(places[key] for key in near) + 1]
        book = made.snapshot.book.narrowed(frozenset(before))
        seen = replace(made.snapshot, jobs=book, memory=memory or Memory())
        found |= _estimates(seen, made.policy, near)
    return {key: found[key] for key in jobs}


_HOPELESS = frozenset({Waiting.NEVER_FITS, Waiting.NODES_ABSENT, Waiting.NODES_SHUT})
_HOPELESS |= {Waiting.NO_NODES, Waiting.SET_ASIDE, Waiting.SPOT_DISABLED}


def _why_not(made: Plan, key: JobKey) -> Unknown | None:
    """Return why there is nothing to look ahead for, if there is not."""
    verdict = made.verdicts.get(key)
    if verdict is not None and verdict.why is Waiting.SPOT_QUOTA:
        return Unknown.QUOTA
    return Unknown.NEVER if verdict is not None and verdict.why in _HOPELESS else None


def _estimates(seen: Snapshot, policy: Policy, near: Collection[JobKey]) -> dict[JobKey, Eta]:
    early = _walked(seen, policy, near, _soonest(seen), early=True)[0].started
    found: dict[JobKey, Eta] = {}
    for basis, ends in ((Basis.LIMITS, limit), (Basis.LEARNED, _latest(seen))):
        left = [key for key in near if key not in found]
        if not left:
            break
        late, arrived = _walked(seen, policy, left, ends, early=False)
        for key in left:
            if (at := late.started.get(key)) is not None:
                found[key] = Eta(key, min(early.get(key, at), at), at, basis)
            elif basis is Basis.LEARNED:
                why = _unknown(late, key, arrived=arrived)
                found[key] = Eta(key, early.get(key), None, Basis.UNKNOWN, why)
    return found


def _walked(
    seen: Snapshot, policy: Policy, wanted: Collection[JobKey], ends: Ends, *, early: bool
) -> tuple[Walk, bool]:
    size = len(seen.nodes) + len(seen.book.holding) + seen.book.waiting
    rounds = max(LEAST_ROUNDS, min(ROUNDS, WORK // max(1, size)))
    walk = Walk(seen, policy, ends, early, blur=BLUR / rounds)
    return walk, walk.go(wanted, rounds)


def _unknown(walk: Walk, key: JobKey, *, arrived: bool) -> Unknown:
    if walk.expired(key):
        return Unknown.EXPIRES
    return Unknown.NO_BASIS if arrived else Unknown.TOO_FAR


def _soonest(seen: Snapshot) -> Ends:
    def ends(state: JobState, now: datetime) -> datetime | None:
        return ending(state, seen.runtimes, now, now).soon

    return ends


def _latest(seen: Snapshot) -> Ends:
    def ends(state: JobState, now: datetime) -> datetime | None:
        found = ending(state, seen.runtimes, now, now)
        return None if found.basis is Basis.UNKNOWN else found.at

    return ends


def say(found: Eta) -> Text:
    """Put an estimate into words."""
    why = WHY[found.why] if found.why else WHY[Unknown.NO_BASIS]
    low = found.low.isoformat(timespec="seconds") if found.low else ""
    if found.high is not None:
        high = found.high.isoformat(timespec="seconds")
        basis = BASIS[found.basis]
        return Text(
            BETWEEN.en.format(low=low, high=high, basis=basis.en),
            BETWEEN.zh.format(low=low, high=high, basis=basis.zh),
        )
    text = NOT_BEFORE if found.low else NO_IDEA
    return Text(text.en.format(low=low, why=why.en), text.zh.format(low=low, why=why.zh))
