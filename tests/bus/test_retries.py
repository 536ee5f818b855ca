"""When a message comes again, and when it is parked."""

from __future__ import annotations

import pytest

from muster.bus.retries import REMEMBERED, Failures, Retries
from muster.domain.errors import Conflict, Permanent, Temporary

EVEN = Retries(jitter=0)


def test_permanent_is_parked_at_once() -> None:
    assert Failures(EVEN).delay(1, Permanent("no")) is None


@pytest.mark.sibling_of("RQT-13")
def test_unknown_waits_longer_each_time_and_is_parked_at_the_fifth() -> None:
    failures = Failures(EVEN)
    assert [failures.delay(1, ValueError()) for _ in range(5)] == [1.0, 5.0, 30.0, 120.0, None]


def test_each_message_has_its_own_count() -> None:
    failures = Failures(EVEN)
    for seq in range(10):
        assert failures.delay(seq, ValueError()) == 1.0


def test_temporary_says_its_own_delay_for_ever() -> None:
    failures = Failures(EVEN)
    assert {failures.delay(1, Temporary("away", delay=7)) for _ in range(100)} == {7}


@pytest.mark.case("RQT-13")
@pytest.mark.parametrize("error", [Conflict("late"), Temporary("away", delay=5)])
def test_ten_thousand_failures_neither_overflow_nor_spin(error: Exception) -> None:
    failures = Failures(EVEN)
    delays = [failures.delay(1, error) or 0.0 for _ in range(10_000)]
    assert all(0 < delay <= 300 for delay in delays)
    assert delays == sorted(delays)


def test_conflicts_are_never_parked_and_never_hot() -> None:
    failures = Failures(EVEN)
    delays = [failures.delay(1, Conflict("late")) for _ in range(100)]
    assert delays[:6] == [0.1, 0.2, 0.5, 1.0, 2.0, 2.0]
    assert None not in delays


def test_what_is_temporary_does_not_use_up_tries() -> None:
    failures = Failures(EVEN)
    for _ in range(50):
        failures.delay(1, Temporary("away"))
        failures.delay(1, Conflict("late"))
    assert failures.delay(1, ValueError()) == 1.0


def test_a_message_that_is_done_is_forgotten() -> None:
    failures = Failures(EVEN)
    failures.delay(1, ValueError())
    failures.forget(1)
    assert failures.delay(1, ValueError()) == 1.0


def test_memory_is_bounded() -> None:
    failures = Failures(EVEN)
    for seq in range(REMEMBERED + 10):
        failures.delay(seq, ValueError())
    assert len(failures._unknown) == REMEMBERED


@pytest.mark.parametrize(("chance", "wanted"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)])
def test_delays_are_spread(chance: float, wanted: float) -> None:
    assert Retries(chance=lambda: chance).spread(1.0) == pytest.approx(wanted)


def test_no_delay_is_nothing() -> None:
    assert Retries(chance=lambda: 0.0).spread(0.0) == 0.05
