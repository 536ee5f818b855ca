"""Which consumer wakes which handler - nothing else."""

from __future__ import annotations

from muster.admission.handlers import Handlers
from muster.bus import Subscription, topology


def subscriptions(handlers: Handlers) -> tuple[Subscription, ...]:
    """Tie admission's consumers to its handlers."""
    return (Subscription(topology.ADMISSION_REQUESTS, handlers.on_request),)
