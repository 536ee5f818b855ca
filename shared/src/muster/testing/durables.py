"""Durable consumers as a server keeps them: every message stays open until it is acknowledged.

At least once: what is not acknowledged comes again after a while. Which open message is delivered
next, to whom, and how often is the world's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from muster.bus import Trigger
from muster.bus.topology import Consumer
from muster.domain.errors import Conflict, Permanent, Temporary

BACKOFF_S = (1.0, 5.0, 30.0, 120.0)
"""After an unknown exception; then the message is parked."""
DELIVERIES = 5
CONFLICT_S = 0.5


def _says_something() -> bool:
    return False


@dataclass(slots=True, eq=False)
class Delivery:
    """A message that waits for a consumer's acknowledgement. not_before: a true second.

    busy: how many handlers have it in hand. settled: somebody acknowledged it. taken_at: the true
    second at which the last of them took it; silent: whether that one says nothing any more.
    """

    message: Trigger
    delivered: int = 0
    not_before: float = 0.0
    busy: int = 0
    settled: bool = False
    taken_at: float = 0.0
    silent: Callable[[], bool] = _says_something

    def free(self, elapsed: float, ack_wait: float) -> bool:
        """Whether it may be delivered: to nobody yet, or again after a long silence."""
        if self.busy:
            return self.silent() and self.taken_at + ack_wait <= elapsed
        return self.not_before <= elapsed

    def next_time(self, ack_wait: float) -> float | None:
        """Return the true second at which it may be delivered, None if somebody works on it."""
        if not self.busy:
            return self.not_before
        return self.taken_at + ack_wait if self.silent() else None


@dataclass(frozen=True, slots=True)
class Parked:
    """A message that nobody could handle, and why."""

    consumer: Consumer
    message: Trigger
    why: str
    error: BaseException | None = None


@dataclass(slots=True, eq=False)
class Durable:
    """One durable consumer: a cursor on its stream and what is open."""

    consumer: Consumer
    open: dict[int, Delivery] = field(default_factory=dict)
    _serial: int = 0

    def add(self, message: Trigger) -> Delivery:
        """Take a message of the stream (again)."""
        self._serial += 1
        delivery = Delivery(message)
        self.open[self._serial] = delivery
        return delivery

    def ready(self, elapsed: float, replicas: int) -> Iterator[Delivery]:
        """Yield what may be delivered now: within the window of messages in flight, not in hand."""
        left = self.consumer.in_flight * max(1, replicas)
        for delivery in self.open.values():
            if left == 0:
                return
            left -= 1
            if delivery.free(elapsed, self.consumer.ack_wait):
                yield delivery

    def next_times(self) -> Iterator[float]:
        """Yield the true seconds at which something open may be delivered."""
        for delivery in self.open.values():
            time = delivery.next_time(self.consumer.ack_wait)
            if time is not None:
                yield time

    def settle(self, delivery: Delivery, error: Exception | None, elapsed: float) -> Parked | None:
        """Acknowledge, delay or park, by what the handler said. Returns what was parked."""
        delivery.busy -= 1
        if delivery.settled:
            return None
        if error is None:
            self._acknowledge(delivery)
            return None
        if isinstance(error, Temporary | Conflict):
            delay = error.delay if isinstance(error, Temporary) else CONFLICT_S
            delivery.not_before = elapsed + delay
            return None
        if isinstance(error, Permanent) or delivery.delivered >= DELIVERIES:
            self._acknowledge(delivery)
            return Parked(self.consumer, delivery.message, str(error), error)
        delivery.not_before = elapsed + BACKOFF_S[min(delivery.delivered, len(BACKOFF_S)) - 1]
        return None

    def lose_acknowledgement(self, delivery: Delivery, elapsed: float) -> None:
        """The handler is done or dead, the server does not know: it comes again."""
        delivery.busy -= 1
        delivery.not_before = elapsed + self.consumer.ack_wait

    def _acknowledge(self, delivery: Delivery) -> None:
        delivery.settled = True
        for serial, each in self.open.items():
            if each is delivery:
                del self.open[serial]
                return
