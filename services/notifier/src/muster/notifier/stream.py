"""Which consumer wakes which handler - nothing else."""

from __future__ import annotations

from muster.bus import Subscription, topology
from muster.notifier.handlers import Handlers


def subscriptions(handlers: Handlers) -> tuple[Subscription, ...]:
    """Tie the notifier's consumer to its handler."""
    return (Subscription(topology.NOTIFIER_JOBS, handlers.on_event),)
