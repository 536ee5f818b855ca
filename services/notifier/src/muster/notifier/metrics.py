"""What the notifier counts. Labels are bounded: the channels, and the names below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import Counter, Gauge

OUTCOMES = ("delivered", "failed", "unknown", "retry", "stale", "withdrawn")
"""retry: will be tried again. The others are final; stale and withdrawn were never sent again."""

NOTICES = Counter("muster_notices", "Notices, by what became of an attempt", ["channel", "outcome"])
PENDING = Gauge(
    "muster_notices_pending", "Notices not told yet; every replica shows the same", ["channel"]
)


def begin(channels: Iterable[str]) -> None:
    """Show every series from the start: a failure that was never counted reads as zero."""
    for channel in channels:
        PENDING.labels(channel).set(0)
        for outcome in OUTCOMES:
            NOTICES.labels(channel, outcome)


def show_pending(channels: Iterable[str], counts: Mapping[str, int]) -> None:
    """Show how many notices wait on each channel."""
    for channel in channels:
        PENDING.labels(channel).set(counts.get(channel, 0))
