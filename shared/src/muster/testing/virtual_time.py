"""Time that passes only when the world says so: the server's clock and every process's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
    """A process's clock: the server's time as it was last heard, carried on; it may be off."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self._heard = time.step
        self.skew = 0.0
        self._born = time.elapsed

    def synchronise(self) -> None:
        """Hear the server's time again."""
        self._heard = self._time.step
        self.skew = 0.0

    def now(self) -> datetime:
        """Return the server's time as this process believes it to be."""
        return START + timedelta(seconds=self._time.elapsed + self._heard + self.skew)

    def monotonic(self) -> float:
        """Return true seconds since the process began: this clock never steps."""
        return self._time.elapsed - self._born
