"""What of the log the scheduler reads, and what it is asked - nothing else. No durable consumer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from muster.bus.topology import SCHEDULER_QUERIES, Desk
from muster.contracts import subjects

FILTERS = (subjects.ALL_JOBS, subjects.ALL_POOLS, subjects.ALL_TENANTS)
"""Every job, whatever its pool: a job's subject does not name it."""


def desk(pools: Collection[str]) -> Desk:
    """Return the questions that a scheduler of these pools answers; none named = all."""
    if not pools:
        return SCHEDULER_QUERIES
    return replace(SCHEDULER_QUERIES, subjects=tuple(map(subjects.queries_pattern, pools)))
