"""How fast one address may be written to: two token buckets, as values. Pure.

A receiver counts what arrives in any second and in any minute. Requests go out one after another,
and a reply comes after its request has arrived: so a pause that begins at the reply keeps arrivals
apart, however long the network holds either. The state is a few plain values, kept with the lane
of the address, so every replica spends from the same buckets. Called by the chooser and the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Bucket:
    """rate: tokens a second. capacity: tokens that may be saved up; a window admits both."""

    rate: float
    capacity: float


@dataclass(frozen=True, slots=True)
class Limits:
    """The two buckets of an address. A window of 60 s admits capacity + 60 x rate requests."""

    second: Bucket
    minute: Bucket

    @property
    def a_minute(self) -> float:
        """Requests a minute that can be kept up."""
        return 60 * min(self.second.rate, self.minute.rate)


CHAT_BOT = Limits(second=Bucket(rate=4.0, capacity=1.0), minute=Bucket(rate=1.5, capacity=8.0))
"""4 a second and 90 a minute, under a bot's 5 and 100: at most 98 in any minute."""


@dataclass(frozen=True, slots=True)
class Level:
    """Tokens that a bucket held at an instant; None: nobody drew from it yet, so it is full."""

    tokens: float = 0.0
    at: datetime | None = None


UNTOUCHED = Level()
_SKEW = 60.0
"""Seconds that the clocks of replicas may differ by."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left of an address's buckets."""

    second: Level = UNTOUCHED
    minute: Level = UNTOUCHED


def opens_at(budget: Budget, limits: Limits | None, now: datetime) -> datetime:
    """Return the instant from which one more request may go; now at the earliest."""
    if limits is None:
        return now
    waits = (
        _wait(budget.second, limits.second, now),
        _wait(budget.minute, limits.minute, now),
    )
    return now + timedelta(seconds=max(waits))


def spent(budget: Budget, limits: Limits | None, now: datetime) -> Budget:
    """Return what is left after a request that goes out now."""
    if limits is None:
        return budget
    return Budget(
        _drawn(budget.second, limits.second, now), _drawn(budget.minute, limits.minute, now)
    )


def answered(budget: Budget, limits: Limits | None, now: datetime) -> Budget:
    """Return what is left once the reply is there: the next request keeps its distance from now."""
    if limits is None:
        return budget
    return replace(budget, second=Level(0.0, now))


def _tokens(level: Level, bucket: Bucket, now: datetime) -> float:
    if level.at is None:
        return bucket.capacity
    passed = (now - level.at).total_seconds()
    if passed < -_SKEW:
        return bucket.capacity  # the clock was put back: what was drawn then is long ago
    passed = max(0.0, passed)  # another replica's clock is a little ahead: that brings nothing
    return min(bucket.capacity, level.tokens + passed * bucket.rate)


def _wait(level: Level, bucket: Bucket, now: datetime) -> float:
    return max(0.0, 1.0 - _tokens(level, bucket, now)) / bucket.rate


def _drawn(level: Level, bucket: Bucket, now: datetime) -> Level:
    return Level(_tokens(level, bucket, now) - 1.0, now)
