"""Which consumer wakes which handler - nothing else."""

from __future__ import annotations

from muster.bus import Subscription, topology
from muster.gateway.handlers import Handlers


def subscriptions(handlers: Handlers) -> tuple[Subscription, ...]:
    """Tie the archive's consumer, which gets the whole log, to its handler."""
    return (Subscription(topology.GATEWAY_ARCHIVE, handlers.on_event),)
