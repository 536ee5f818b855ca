"""The two token buckets of an address, and what a receiver's sliding windows make of them."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from muster.notifier.core.limits import CHAT_BOT, Budget, answered, opens_at, spent

NOW = datetime(2025, 3, 1, 8, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def worst(arrivals: list[datetime], window: float) -> int:
    """The most arrivals within any window of so many seconds, both ends included."""
    seen: deque[datetime] = deque()
    most = 0
    for at in arrivals:
        seen.append(at)
        while (at - seen[0]).total_seconds() > window:
            seen.popleft()
        most = max(most, len(seen))
    return most


def test_an_address_that_was_never_written_to_may_be_at_once() -> None:
    assert opens_at(Budget(), CHAT_BOT, NOW) == NOW
    assert opens_at(Budget(), None, NOW) == NOW


def test_four_a_second_from_the_reply_on() -> None:
    budget = answered(spent(Budget(), CHAT_BOT, NOW), CHAT_BOT, after(3))
    assert opens_at(budget, CHAT_BOT, after(3)) == after(3.25)
    assert opens_at(budget, CHAT_BOT, after(3.25)) == after(3.25)


def test_what_is_saved_up_is_bounded_and_the_rest_comes_at_ninety_a_minute() -> None:
    budget, now = Budget(), after(0)
    times = []
    for _ in range(40):
        now = opens_at(budget, CHAT_BOT, now)
        times.append((now - NOW).total_seconds())
        budget = answered(spent(budget, CHAT_BOT, now), CHAT_BOT, now)
    assert times[:4] == [0, 0.25, 0.5, 0.75]
    assert abs((times[39] - times[38]) - 2 / 3) < 1e-3


def test_a_clock_that_was_put_back_closes_nothing_for_longer_than_a_token_takes() -> None:
    budget = answered(spent(Budget(), CHAT_BOT, NOW), CHAT_BOT, NOW)
    earlier = NOW - timedelta(hours=1)
    opens = opens_at(budget, CHAT_BOT, earlier)
    assert opens <= earlier + timedelta(seconds=1)
    assert opens_at(budget, CHAT_BOT, opens) == opens


def test_a_replica_whose_clock_is_a_little_behind_brings_no_tokens() -> None:
    budget = answered(spent(Budget(), CHAT_BOT, NOW), CHAT_BOT, NOW)
    assert opens_at(budget, CHAT_BOT, after(-60)) > after(-60)
    assert opens_at(budget, CHAT_BOT, after(-61)) == after(-61)


@given(
    delays=st.lists(st.tuples(st.floats(0, 9), st.floats(0, 1)), min_size=120, max_size=400),
    idle=st.lists(st.floats(0, 20), max_size=20),
)
def test_whatever_the_network_does_no_window_sees_too_many(
    delays: list[tuple[float, float]], idle: list[float]
) -> None:
    """A request arrives at any moment between its sending and its reply."""
    budget, now, arrivals = Budget(), NOW, []
    pauses = iter(idle)
    for took, share in delays:
        now = opens_at(budget, CHAT_BOT, now + timedelta(seconds=next(pauses, 0.0)))
        budget = spent(budget, CHAT_BOT, now)
        arrivals.append(now + timedelta(seconds=took * share))
        now += timedelta(seconds=took)
        budget = answered(budget, CHAT_BOT, now)
    assert worst(arrivals, 1.0) <= 5
    assert worst(arrivals, 60.0) <= 100
