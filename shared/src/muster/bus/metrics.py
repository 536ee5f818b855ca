"""What the bus counts. Labels are bounded: names of durable consumers and the outcomes below.

A subject or a job's id is never a label: each would be a new time series for ever.
"""

from __future__ import annotations

from enum import StrEnum

from prometheus_client import Counter, Gauge, Histogram


class Outcome(StrEnum):
    """How the handling of one delivery ended."""

    DONE = "done"
    AGAIN = "again"
    PARKED = "parked"
    NOT_PARKED = "not_parked"
    CANCELLED = "cancelled"


HANDLED = Counter(
    "muster_bus_messages", "Deliveries handled, by how they ended", ["durable", "outcome"]
)
SECONDS = Histogram(
    "muster_bus_handling_seconds",
    "Seconds that a handler took",
    ["durable"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
IN_FLIGHT = Gauge("muster_bus_in_flight", "Messages whose handler runs", ["durable"])
LOST_PULLS = Counter(
    "muster_bus_lost_pulls", "Requests for messages that the server let drop", ["durable"]
)
DROPPED = Counter("muster_bus_broadcasts_dropped", "Broadcasts not sent, since they may be lost")


class Meter:
    """The metrics of one durable consumer, looked up once."""

    def __init__(self, durable: str) -> None:
        self._handled = {outcome: HANDLED.labels(durable, outcome) for outcome in Outcome}
        self.seconds = SECONDS.labels(durable)
        self.in_flight = IN_FLIGHT.labels(durable)
        self.lost_pulls = LOST_PULLS.labels(durable)

    def ended(self, outcome: Outcome) -> None:
        """Count one delivery."""
        self._handled[outcome].inc()
