"""What the gateway answers about use (`/api/v1/usage`), and what the command line makes itself.

Times are seconds. A share of a card counts as that share. Waiting is in there with what it costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from muster.domain.metering import Key, Used
from muster.domain.model import Frozen, Instant

Source = Literal["archive", "log"]
"""`log`: only what the log has not forgotten yet."""


class UsageSum(Frozen):
    """What some jobs used. seconds: of jobs that had not ended or still held something."""

    jobs: int
    seconds: float
    waiting_seconds: float
    gpu_seconds: float
    waiting_gpu_seconds: float


class UsageRow(UsageSum):
    """by: dimension -> value; None = no such label, or no GPU was held; model `?` = not known."""

    by: Mapping[str, str | None] = {}


class UsageAnswer(Frozen):
    """rows: the greatest use first; `groups` counts also those beyond the limit, as `total` does.

    gaps: jobs of which events are missing; their last known state is taken to have gone on.
    whole: false while older events are still being metered. position: the last event of the log
    that is in. until: up to when; what goes on is metered to there.
    """

    source: Source
    by: tuple[str, ...]
    since: Instant | None = None
    until: Instant
    rows: tuple[UsageRow, ...]
    total: UsageSum
    groups: int
    gaps: int
    whole: bool
    position: int


def usage_rows(by: Sequence[str], rows: Iterable[tuple[Key, Used]]) -> tuple[UsageRow, ...]:
    """Return sums by key as they are told."""
    return tuple(
        UsageRow(by={n: v or None for n, v in zip(by, key, strict=True)}, **_fields(used))
        for key, used in rows
    )


def usage_sum(used: Used) -> UsageSum:
    """Return a sum as it is told."""
    return UsageSum(**_fields(used))


def _fields(used: Used) -> dict[str, Any]:
    return {
        "jobs": used.jobs,
        "seconds": used.seconds,
        "waiting_seconds": used.waiting_seconds,
        "gpu_seconds": used.gpu_seconds,
        "waiting_gpu_seconds": used.waiting_gpu_seconds,
    }
