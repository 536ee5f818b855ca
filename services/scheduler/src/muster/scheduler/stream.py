"""What of the log the scheduler reads - nothing else. It has no durable consumer."""

from __future__ import annotations

from muster.contracts import subjects

FILTERS = (subjects.ALL_JOBS, subjects.ALL_POOLS, subjects.ALL_TENANTS)
"""Every job, whatever its pool: a job's subject does not name it."""
