"""Which consumer wakes which handler - nothing else."""

from __future__ import annotations

from muster.bus import Subscription, topology
from muster.requeue.handlers import Handlers


def subscriptions(handlers: Handlers) -> tuple[Subscription, ...]:
    """Tie requeue's consumers to its handlers."""
    return (
        Subscription(topology.REQUEUE_JOBS, handlers.on_job),
        Subscription(topology.REQUEUE_ALARMS, handlers.on_alarm),
    )
