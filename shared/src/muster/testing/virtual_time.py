"""Time that passes only when the world says so: the server's clock and every process's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from muster.contracts.events import pool_event
from muster.contracts.subjects import CLOCK, THE_LOG
from muster.domain.clock import ClockSet
from muster.log.memory import Store
from muster.runtime.discipline import Agreed, Discipline

START = datetime(2030, 1, 1, tzinfo=UTC)


class VirtualTime:
    """elapsed: true seconds since the start. step: by how much the server's clock is wrong."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.step = 0.0
        self._now = START

    def now(self) -> datetime:
        """Return the server's time."""
        return self._now

    def pass_by(self, seconds: float) -> None:
        """Let time go on."""
        self.elapsed += max(0.0, seconds)
        self._show()

    def step_by(self, seconds: float) -> None:
        """Move the server's clock, forward or back; no time passes."""
        self.step += seconds
        self._show()

    def _show(self) -> None:
        self._now = START + timedelta(seconds=self.elapsed + self.step)

    def instant(self, second: float) -> datetime:
        """Return what the server's clock shows at a true second."""
        return START + timedelta(seconds=second + self.step)

    def at(self, instant: datetime) -> float:
        """Return the true second at which the server's clock shows `instant`."""
        return (instant - START).total_seconds() - self.step


class ProcessClock:
    """A process's clock: the server's as it was last heard, under the discipline of the real one.

    It asks and agrees in one instant; two that ask at once are a matter for `ServerClock`'s tests.
    """

    def __init__(self, time: VirtualTime, store: Store) -> None:
        self._time, self._store = time, store
        self._discipline = Discipline()
        self._ahead = 0.0
        self.skew = 0.0
        self._born = time.elapsed
        self.synchronise()

    def synchronise(self) -> None:
        """Hear the server's time again, and say so if it was moved."""
        self.skew = 0.0
        told, ticks = self._time.now(), self._time.elapsed
        wanted = self._discipline.hear(told, ticks, self._agreed())
        if wanted is not None:
            self._agree(wanted)
            again = self._discipline.hear(told, ticks, self._agreed())
            assert again is None, "what was just agreed is doubted"
        # exact where no clock was moved: the sum of two instants may be a microsecond off
        self._ahead = self._time.step - self._discipline.offset

    def _agreed(self) -> Agreed:
        head = self._store.head(CLOCK.condition)
        event = self._store.entries[head - 1].event if head else None
        return Agreed(head, event.data.detail) if event else Agreed()

    def _agree(self, wanted: ClockSet) -> None:
        event = pool_event(
            THE_LOG,
            wanted,
            event_id=f"clock-{len(self._store.entries)}",
            source="muster/simulated",
            at=self._discipline.at(self._time.elapsed),
            kind="cluster",
        )
        self._store.put(event.subject, event.to_bytes(), conditioned=True)

    def now(self) -> datetime:
        """Return Muster's time as this process believes it to be."""
        return START + timedelta(seconds=self._time.elapsed + self._ahead + self.skew)

    def monotonic(self) -> float:
        """Return true seconds since the process began: this clock never steps."""
        return self._time.elapsed - self._born

    def on_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant + timedelta(seconds=self._discipline.offset)

    def of_server(self, instant: datetime) -> datetime:
        """See Clock."""
        return instant - timedelta(seconds=self._discipline.offset_at(instant))
