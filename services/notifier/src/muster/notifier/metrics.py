"""What the notifier counts. Labels are bounded: the channels, the triggers, and names in code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import Counter, Gauge

from muster.notifier.core.delivery import DeliveryState, Fault
from muster.notifier.core.notice import Trigger

OUTCOMES = (
    "retry",
    *(state.value for state in DeliveryState if state is not DeliveryState.PENDING),
)
"""retry: will be tried again. The others are final; from stale on it was not sent."""

NOTICES = Counter(
    "muster_notices", "Notices, by what became of them", ["channel", "trigger", "outcome"]
)
REQUESTS = Counter(
    "muster_notice_requests", "Requests to receivers, by how they ended", ["channel", "fault"]
)
PENDING = Gauge(
    "muster_notices_pending", "Notices not told yet; every replica shows the same", ["channel"]
)
OLDEST = Gauge("muster_notices_oldest_seconds", "Age of the oldest notice that waits", ["channel"])


def begin(channels: Iterable[str]) -> None:
    """Show every series from the start: a failure that was never counted reads as zero."""
    for channel in channels:
        PENDING.labels(channel).set(0)
        OLDEST.labels(channel).set(0)
        for fault in Fault:
            REQUESTS.labels(channel, fault.value)
        for trigger in Trigger:
            for outcome in OUTCOMES:
                NOTICES.labels(channel, trigger.value, outcome)


def tried(channel: str, fault: Fault) -> None:
    """Count one request."""
    REQUESTS.labels(channel, fault.value).inc()


def ended(channel: str, trigger: str, outcome: str) -> None:
    """Count what became of one notice."""
    NOTICES.labels(channel, trigger, outcome).inc()


def show_pending(channels: Iterable[str], waiting: Mapping[str, tuple[int, float]]) -> None:
    """Show how many notices wait on each channel, and for how long the oldest has."""
    for channel in channels:
        count, oldest = waiting.get(channel, (0, 0.0))
        PENDING.labels(channel).set(count)
        OLDEST.labels(channel).set(oldest)
