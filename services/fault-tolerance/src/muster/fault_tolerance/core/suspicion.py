"""Which nodes attributed failures point at, and how surely. Pure.

Only failures that were attributed to a machine count, each job once, of at least two users and
three jobs: one person's broken job makes no node sick. Newer failures weigh more. A node is under
suspicion when it surely fails more often than the fleet usually does, or at once when its own
hardware said so. What was before an operator opened it, or before its last exclusion, is over.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from muster.domain.nodes import NodeCondition, NodeState
from muster.fault_tolerance.core.attributed import Machine

WINDOW = timedelta(days=28)
HALF_LIFE = timedelta(days=7)
USERS, JOBS = 2, 3
LEAST_RATE = 0.05
"""However good the fleet is, a node is not suspected for failing less often than this."""
Z = 1.96
"""95 %, two-sided."""
TTL = timedelta(hours=24)
LONGEST = timedelta(days=28)
REPEATS = 2
"""So many exclusions before an operator is asked to close the node for good."""
RULES = 5


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure that was attributed to a machine. job: (tenant, job). user: (tenant, user)."""

    job: tuple[str, str]
    user: tuple[str, str]
    at: datetime
    rule: str | None = None
    hard: bool = False


@dataclass(frozen=True, slots=True)
class Rating:
    """A machine against the fleet. stays, failed: attempts there, the older the less they weigh.

    rate: failed of stays; low, high: where it surely lies. rules: the most frequent, with how many
    jobs. hard: rules by which the hardware itself reported a fault. last_at: of the newest failure.
    """

    jobs: int = 0
    users: int = 0
    stays: float = 0.0
    failed: float = 0.0
    low: float = 0.0
    high: float = 1.0
    rules: tuple[tuple[str, int], ...] = ()
    hard: tuple[str, ...] = ()
    last_at: datetime | None = None

    @property
    def rate(self) -> float:
        """Share of the attempts there that failed by the machine's fault."""
        return self.failed / self.stays if self.stays else 0.0


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why a node is held to be sick. proposed: a person should close it. ttl: how long it rests."""

    en: str
    zh: str
    hard: bool
    proposed: bool
    ttl: timedelta


Stay = tuple[datetime, int]
"""So many attempts at about that time."""
Histories = Mapping[str, tuple[tuple[Fault, ...], tuple[Stay, ...]]]
"""`Machine.identity` -> failures attributed to it, attempts that it had."""


def weight(at: datetime, now: datetime) -> float:
    """Return how much something of then counts now: half of it each week, nothing after four."""
    age = now - at
    if age >= WINDOW:
        return 0.0
    return math.exp2(-(max(age, timedelta()) / HALF_LIFE))


def wilson(bad: float, total: float) -> tuple[float, float]:
    """Return between which rates the true one lies, with 95 % confidence."""
    if total <= 0:
        return 0.0, 1.0
    rate, square = min(bad / total, 1.0), Z * Z
    middle = rate + square / (2 * total)
    spread = Z * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    scale = 1 + square / total
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def rate(faults: Iterable[Fault], stays: Iterable[Stay], now: datetime) -> Rating:
    """Rate a machine by the failures that are attributed to it and the attempts that it had."""
    recent = [fault for fault in faults if weight(fault.at, now) > 0]
    newest: dict[tuple[str, str], Fault] = {}
    for fault in sorted(recent, key=lambda each: each.at):
        newest[fault.job] = fault
    failed = sum(weight(fault.at, now) for fault in newest.values())
    total = max(failed, sum(weight(at, now) * count for at, count in stays))
    low, high = wilson(failed, total)
    rules = Counter(fault.rule or "unknown" for fault in newest.values())
    return Rating(
        jobs=len(newest),
        users=len({fault.user for fault in newest.values()}),
        stays=total,
        failed=failed,
        low=low,
        high=high,
        rules=tuple(sorted(rules.items(), key=lambda each: (-each[1], each[0]))[:RULES]),
        hard=tuple(sorted({fault.rule or "unknown" for fault in recent if fault.hard})),
        last_at=max((fault.at for fault in recent), default=None),
    )


def usual(ratings: Iterable[Rating]) -> float:
    """Return the rate that a node of the fleet usually has: the median of those that had work."""
    rates = [rating.rate for rating in ratings if rating.stays > 0]
    return median(rates) if rates else 0.0


def suspicion(node: NodeState, rating: Rating, fleet: float, earlier: int) -> Suspicion | None:
    """Return why a node should rest now, if it should.

    rating: of what happened since `since(node)`. fleet: see `usual`. earlier: exclusions of this
    machine so far, under whatever name.
    """
    if rating.last_at is None:
        return None
    ttl = min(LONGEST, TTL * 2 ** min(earlier, 10))
    proposed = earlier + 1 >= REPEATS
    if rating.hard:
        rules = ", ".join(rating.hard)
        en, zh = f"the hardware reported: {rules}", f"硬件自身报告故障：{rules}"
        return Suspicion(en, zh, hard=True, proposed=True, ttl=ttl)
    if rating.users < USERS or rating.jobs < JOBS or rating.low <= max(fleet, LEAST_RATE):
        return None
    numbers = {
        "jobs": rating.jobs,
        "users": rating.users,
        "rate": f"{rating.rate:.0%}",
        "low": f"{rating.low:.0%}",
        "fleet": f"{fleet:.0%}",
    }
    return Suspicion(_EN.format(**numbers), _ZH.format(**numbers), False, proposed, ttl)


_EN = (
    "failures of {jobs} jobs of {users} users: {rate} of the attempts there, surely more than"
    " {low}; the fleet's median is {fleet}"
)
_ZH = (
    "{users} 个用户的 {jobs} 个任务在此故障：占该节点尝试的 {rate}（至少 {low}），"
    "集群中位数为 {fleet}"
)


def since(node: NodeState) -> datetime | None:
    """Return from when on failures are held against a node."""
    times = [at for at in (node.cleared_at, node.excluded_at) if at is not None]
    return max(times, default=None)


def earlier(node: NodeState, fleet: Iterable[NodeState]) -> int:
    """Return how often this machine was kept out, under this name or another."""
    return max((each.exclusions for each in same_machine(node, fleet)), default=0)


def carried(node: NodeState, fleet: Iterable[NodeState], now: datetime) -> NodeState | None:
    """Return the old name of a machine that is still kept out, if it came back under this one."""
    if node.excluded_until is not None or node.cleared_at is not None:
        return None
    for old in same_machine(node, fleet):
        out = old.excluded_until is not None and old.excluded_until > now
        if out and old.node != node.node and not _is_there(old):
            return old
    return None


def same_machine(node: NodeState, fleet: Iterable[NodeState]) -> Sequence[NodeState]:
    """Return every node state that speaks of the same machine, its own included."""
    serial = node.shape.serial
    return [
        each
        for each in fleet
        if (each.pool, each.node) == (node.pool, node.node)
        or (serial is not None and each.shape.serial == serial)
    ]


def _is_there(node: NodeState) -> bool:
    return node.condition in {NodeCondition.READY, NodeCondition.RECLAIMING}


def machine_of(node: NodeState) -> Machine:
    """Return which machine a node is."""
    return Machine(node.node, node.shape.serial)


@dataclass(frozen=True, slots=True)
class Assessed:
    """A node as it is seen now. whole: by the whole window. why: what is held against it."""

    node: NodeState
    whole: Rating
    fresh: Rating
    why: Suspicion | None


def assess(fleet: Sequence[NodeState], histories: Histories, now: datetime) -> tuple[Assessed, ...]:
    """Return every node that is there, held against the others. fleet: those that are gone too."""
    there = [node for node in fleet if node.condition is not NodeCondition.GONE]
    whole = [_rating(node, histories, now, None) for node in there]
    found = []
    for place, node in enumerate(there):
        fresh, why = _rating(node, histories, now, since(node)), None
        if fresh.hard or fresh.jobs >= JOBS:
            # against the others: one that all work went to would else be its own measure
            others = usual(whole[:place] + whole[place + 1 :])
            why = suspicion(node, fresh, others, earlier(node, fleet))
        found.append(Assessed(node, whole[place], fresh, why))
    return tuple(found)


def _rating(node: NodeState, histories: Histories, now: datetime, start: datetime | None) -> Rating:
    faults, stays = histories.get(machine_of(node).identity(node.pool), ((), ()))
    if start is not None:
        faults = tuple(fault for fault in faults if fault.at > start)
    return rate(faults, stays, now)
