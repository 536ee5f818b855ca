"""What is asked about use: whose, from when to when, and by what it is summed up. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from muster.domain.metering import Key, Used
from muster.gateway.core.filters import JobFilter


@dataclass(frozen=True, slots=True)
class UsageAsked:
    """since None = from the beginning. until: an instant that has passed. limit: rows."""

    wanted: JobFilter
    until: datetime
    since: datetime | None = None
    by: tuple[str, ...] = ()
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class Usage:
    """rows: the greatest use first. total: of everything, also of rows beyond the limit.

    whole: everything that was archived is metered. gaps: jobs of which events are missing; their
    last known state is taken to have gone on. position: the last event of the log that is counted.
    """

    rows: tuple[tuple[Key, Used], ...]
    total: Used
    groups: int
    gaps: int
    whole: bool
    position: int
