"""Which ledger a failure is paid from, and what is left in it. Pure.

The user's restarts pay for what is the job's own or unknown; failures of the infrastructure, hangs
and evictions have ledgers of their own, so that none of them ever costs the user a restart.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from muster.domain.diagnosis import Counts
from muster.domain.evolve import INFRASTRUCTURE_WINDOW
from muster.domain.state import JobState
from muster.fault_tolerance.core.strategy import limit_of

INFRASTRUCTURE_LIMIT = 20
"""Failures that are not the job's own, within 24 h, before a person must look."""
HANG_LIMIT = 2
"""Restarts after hangs without any progress, before a person must look."""


class Ledger(StrEnum):
    """Who pays for the next attempt. none: it only waits."""

    RESTARTS = "restarts"
    INFRASTRUCTURE = "infrastructure"
    HANGS = "hangs"
    NONE = "none"


def recent(state: JobState, now: datetime) -> int:
    """Return the failures of the infrastructure within the window."""
    return sum(1 for at in state.ledgers.infrastructure if now - at < INFRASTRUCTURE_WINDOW)


def counts(state: JobState, now: datetime) -> Counts:
    """Return the ledgers as numbers."""
    return Counts(
        restarts=state.ledgers.restarts,
        restarts_left=max(0, limit_of(state.demand) - state.ledgers.restarts),
        infrastructure=recent(state, now),
        hangs=state.ledgers.hangs,
        requeues=state.ledgers.requeues,
    )
