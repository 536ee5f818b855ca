"""Which consumer wakes which handler - nothing else."""

from __future__ import annotations

from muster.bus import Subscription, topology
from muster.fault_tolerance.handlers import Handlers
from muster.fault_tolerance.lives import Lives


def subscriptions(handlers: Handlers, lives: Lives) -> tuple[Subscription, ...]:
    """Tie fault tolerance's consumers to its handlers."""
    return (
        Subscription(topology.FAULT_JOBS, handlers.on_job),
        Subscription(topology.FAULT_LIVES, lives.on_job),
        Subscription(topology.FAULT_ALARMS, handlers.on_alarm),
    )
