"""What a round owes to jobs that hold nodes, before it places anybody.

Nodes that are taken back, lost or drained; placements on paper whose time is over. One event for
each job at most; the job is planned again, or released, in rounds that follow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from muster.domain.causes import EvictionCause
from muster.domain.deadlines import passed
from muster.domain.demand import ResourceClass
from muster.domain.edges import may_follow
from muster.domain.facts import Fact, GraceShortened, Preempted, Unscheduled, Withdrawal
from muster.domain.nodes import NodeCondition, NodeState, TaintEffect
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind, JobState
from muster.scheduler.core.doors import drives_out, keeps_off
from muster.scheduler.core.rank import lost_work, lot
from muster.scheduler.core.snapshot import JobKey, Listed, is_hold
from muster.scheduler.core.stock import Holder, Owed, Stock, givers

_OUT = frozenset({NodeCondition.LOST, NodeCondition.FENCED, NodeCondition.GONE})
_STAYS = frozenset({Phase.STARTING, Phase.RUNNING, Phase.DEBUG_HOLDING})


def upkeep(
    job: Listed, nodes: Mapping[str, NodeState], awaited: Collection[Listed], now: datetime
) -> Fact | None:
    """Decide about one job that holds something. awaited: victims of its that are still there."""
    state = job.state
    under = [nodes[node] for node in sorted(state.held) if node in nodes]
    if is_hold(state):
        why = _withdrawal(state, under, awaited, now)
        return Unscheduled(cause=why) if why else None
    if may_be_told_to_leave(state):
        return _order_to_leave(state, under, now)
    if may_follow("grace_shortened", state.phase):
        return _nearer(state, under)
    return None


def is_troubled(node: NodeState) -> bool:
    """Tell whether somebody may have to leave a node, but for placements on paper."""
    shape = node.shape
    drives_out = any(taint.effect is TaintEffect.NO_EXECUTE for taint in shape.taints)
    return node.condition is not NodeCondition.READY or node.draining or drives_out


def may_be_told_to_leave(state: JobState) -> bool:
    """Tell whether an order to leave may follow. Where one stands already, no second one may."""
    return may_follow("preempted", state.phase) and state.eviction is None


def awaited_by(state: JobState, holding: Mapping[JobKey, Listed]) -> list[Listed]:
    """Return the victims for which a placement still waits.

    A victim that was restarted in place is still on the same nodes, whatever its attempt says.
    """
    waits = ((wait, holding.get((wait.tenant, wait.job))) for wait in state.waits_for)
    return [victim for wait, victim in waits if victim and victim.stay <= wait.attempt]


def _withdrawal(
    state: JobState, under: Iterable[NodeState], awaited: Collection[Listed], now: datetime
) -> Withdrawal | None:
    if any(not node.schedulable or keeps_off(node, state.demand) for node in under):
        return Withdrawal.NODE_GONE
    if any(victim.state.phase in _STAYS for victim in awaited):
        return Withdrawal.PLAN_ABANDONED
    if passed(state, DeadlineKind.PLAN, now):
        return Withdrawal.VICTIM_OVERDUE if awaited else Withdrawal.PLAN_ABANDONED
    return None


def _order_to_leave(state: JobState, under: Iterable[NodeState], now: datetime) -> Preempted | None:
    causes = {node.node: cause for node in under if (cause := _cause(state, node))}
    if not causes:
        return None
    deadlines = [node.deadline for node in under if node.node in causes and node.deadline]
    grace = float(state.demand.grace_s)
    for deadline in deadlines:
        grace = min(grace, max(0.0, (deadline - now).total_seconds()))
    return Preempted(
        cause=min(causes.values(), key=_WEIGHT.index),
        nodes=tuple(causes),
        grace_s=math.floor(grace),
    )


_WEIGHT = (EvictionCause.SPOT_RECLAIM, EvictionCause.IDLE_RECLAIM, EvictionCause.NODE_DRAIN)


def _cause(state: JobState, node: NodeState) -> EvictionCause | None:
    """Decide by the kind of capacity that goes (decision D5), then by the kind of job."""
    going = node.condition in _OUT or node.condition is NodeCondition.RECLAIMING
    if going and node.shape.spot:
        return EvictionCause.SPOT_RECLAIM
    if node.condition is NodeCondition.RECLAIMING:
        match state.demand.resource_class:
            case ResourceClass.SPOT:
                return EvictionCause.SPOT_RECLAIM
            case ResourceClass.IDLE:
                return EvictionCause.IDLE_RECLAIM
            case _:
                return EvictionCause.NODE_DRAIN
    leaves = node.draining or drives_out(node, state.demand)
    if node.condition is NodeCondition.READY and leaves:
        return EvictionCause.NODE_DRAIN
    return None


def _nearer(state: JobState, under: Iterable[NodeState]) -> GraceShortened | None:
    grace = state.due(DeadlineKind.GRACE)
    ends = [
        node.deadline
        for node in under
        if node.condition is NodeCondition.RECLAIMING and node.deadline is not None
    ]
    if grace is None or not ends or min(ends) >= grace:
        return None
    return GraceShortened(deadline=min(ends))


def returns(
    owed: Owed, jobs: Iterable[Listed], stock: Stock, now: datetime
) -> Iterator[tuple[Listed, Fact]]:
    """Yield who gives back what is held of an item of spot stock beyond what is offered."""
    by_key = {job.key: job for job in jobs if stock.part_of(job.key, owed.item)}
    holders = [_holder(job, stock.part_of(job.key, owed.item), now) for job in by_key.values()]
    for one in givers(owed.milli, holders):
        job = by_key[one.key]
        if is_hold(job.state):
            yield job, Unscheduled(cause=Withdrawal.STOCK_GONE)
            continue
        grace = float(job.state.demand.grace_s)
        if owed.deadline is not None:
            grace = min(grace, max(0.0, (owed.deadline - now).total_seconds()))
        yield (
            job,
            Preempted(
                cause=EvictionCause.SPOT_RECLAIM,
                nodes=stock.nodes_under(job.state, owed.item),
                grace_s=math.floor(grace),
            ),
        )


def grace_ends(leavers: Iterable[Listed]) -> dict[JobKey, datetime]:
    """Return until when those may stay who can be told to leave sooner."""
    found = {}
    for job in leavers:
        grace = job.state.due(DeadlineKind.GRACE)
        if grace is not None and may_follow("grace_shortened", job.state.phase):
            found[job.key] = grace
    return found


def hurries(
    owed: Owed, leavers: Iterable[Listed], stock: Stock, now: datetime
) -> Iterator[tuple[Listed, Fact]]:
    """Yield who leaves an item of spot stock later than it must be given back."""
    deadline = owed.deadline
    if deadline is None:
        return
    ends = grace_ends(leavers := tuple(leavers))
    late = {
        job.key: job
        for job in leavers
        if stock.part_of(job.key, owed.item) and ends.get(job.key, deadline) > deadline
    }
    holders = [_holder(job, stock.part_of(job.key, owed.item), now) for job in late.values()]
    for one in givers(owed.milli, holders):
        yield late[one.key], GraceShortened(deadline=deadline)


def _holder(job: Listed, milli: int, now: datetime) -> Holder:
    tier = -1 if is_hold(job.state) else job.state.demand.tier
    return Holder(job.key, milli, tier, (lost_work(job.state, now), lot(job.state)))
