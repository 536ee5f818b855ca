"""`plan(snapshot, policy) -> Plan`: the whole queue in one round, the same for the same snapshot.

Called by the cycle, by dry runs, by `explain` and by the simulation; there is no second scheduler.
Measures no time: the work of a round is bounded by counts, and what was not reached is named.
"""

from __future__ import annotations

from muster.scheduler.core import clocks
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.queue import Queue
from muster.scheduler.core.round import Round
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.verdicts import Plan

PASSES = 2
"""Who leaves may leave more room than was needed; so often the queue is gone through again."""


def plan(snapshot: Snapshot, policy: Policy) -> Plan:
    """Decide one round."""
    queue = Queue(Round(snapshot, policy))
    queue.round.keep_up()
    for _ in range(PASSES):
        if not queue.go_through():
            break
    queue.decline()
    queue.round.keeper.end()
    return Plan(
        snapshot=snapshot,
        policy=policy,
        moves=tuple(queue.round.moves),
        verdicts=queue.verdicts,
        board=queue.round.board,
        next_at=clocks.earlier(
            clocks.next_at(snapshot, policy, queue.round.next_instant), queue.round.keeper.change
        ),
        cursor=queue.cursor,
        reservation=queue.round.keeper.reservation,
    )
