"""Which consumer wakes which handler - nothing else."""

from __future__ import annotations

from muster.bus import Subscription, topology
from muster.executor.handlers import Handlers


def subscriptions(handlers: Handlers) -> tuple[Subscription, ...]:
    """Tie the executor's consumers to its handlers."""
    return (
        Subscription(topology.EXECUTOR_JOBS, handlers.on_job),
        Subscription(topology.EXECUTOR_ALARMS, handlers.on_alarm),
    )
