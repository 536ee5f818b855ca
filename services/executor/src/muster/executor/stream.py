"""Which consumer wakes which handler, and which questions are answered - nothing else."""

from __future__ import annotations

from dataclasses import replace

from muster.bus import Subscription, topology
from muster.bus.topology import Desk
from muster.contracts import subjects
from muster.executor.handlers import Handlers


def subscriptions(handlers: Handlers) -> tuple[Subscription, ...]:
    """Tie the executor's consumers to its handlers."""
    return (
        Subscription(topology.EXECUTOR_JOBS, handlers.on_job),
        Subscription(topology.EXECUTOR_ALARMS, handlers.on_alarm),
    )


def evidence_desk(pool: str) -> Desk:
    """Return the questions about what an executor sees of its pool."""
    return replace(topology.EXECUTOR_EVIDENCE, subjects=(subjects.evidence_pattern(pool),))
