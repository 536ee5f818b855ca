"""A server's clock that is moved: time goes on evenly, everybody agrees, and nobody is fooled."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from muster.domain.clock import GIVE_BACK, ClockSet
from muster.runtime.discipline import LARGEST_S, STEP_S, WITNESS_S, Agreed, Discipline
from tests.support.lives import START

HOUR = 3600.0


class Server:
    """A clock that may be moved, and what has been agreed about it."""

    def __init__(self) -> None:
        self.ticks, self.moved, self.agreed = 0.0, 0.0, Agreed()

    def wait(self, seconds: float, *, step: float = 0.0) -> None:
        self.ticks += seconds
        self.moved += step

    def tells(self, one: Discipline, *, slept: float = 0.0) -> ClockSet | None:
        """Let a process ask. slept: how long its own monotonic clock has not counted."""
        told = START + timedelta(seconds=self.ticks + self.moved)
        return one.hear(told, self.ticks - slept, self.agreed)

    def agrees(self, fact: ClockSet | None) -> None:
        assert fact is not None
        self.agreed = Agreed(self.agreed.seq + 1, fact)

    def off(self, one: Discipline, *, slept: float = 0.0) -> float:
        """Return by how much a process is ahead of the time that has gone by."""
        return (one.at(self.ticks - slept) - START).total_seconds() - self.ticks


def watching(server: Server, seconds: float = WITNESS_S) -> Discipline:
    one = Discipline()
    assert server.tells(one) is None
    server.wait(seconds)
    assert server.tells(one) is None
    return one


@pytest.mark.parametrize("step", [HOUR, -HOUR, STEP_S + 0.01, -STEP_S - 0.01])
def test_a_step_is_taken_off_for_everybody(step: float) -> None:
    server = Server()
    one, other = watching(server), watching(server)
    server.wait(1, step=step)
    fact = server.tells(one)
    assert fact is not None
    assert (fact.offset, fact.stepped) == (step, step)
    server.agrees(fact)
    assert server.tells(one) is server.tells(other) is None
    assert server.off(one) == server.off(other) == 0
    new = Discipline()
    assert server.tells(new) is None
    assert server.off(new) == 0


@pytest.mark.parametrize("drift", [STEP_S, -STEP_S])
def test_less_than_a_step_is_drift_and_is_followed(drift: float) -> None:
    server = Server()
    one = watching(server)
    server.wait(1, step=drift)
    assert server.tells(one) is None
    assert server.off(one) == drift


@pytest.mark.parametrize("late", [20.0, -20.0])
def test_an_answer_that_was_long_on_its_way_is_no_step_and_teaches_nothing(late: float) -> None:
    server = Server()
    one = watching(server)
    told = START + timedelta(seconds=server.ticks + late)
    assert one.hear(told, server.ticks, server.agreed, slack=20.0) is None
    assert server.off(one) == 0
    far = told + timedelta(seconds=math.copysign(STEP_S + 0.01, late))
    assert one.hear(far, server.ticks, server.agreed, slack=20.0) is not None


def test_who_began_with_such_an_answer_learns_better() -> None:
    server, one = Server(), Discipline()
    assert one.hear(START + timedelta(seconds=9), 0.0, server.agreed, slack=9.0) is None
    assert server.off(one) == 9
    server.wait(1)
    assert server.tells(one) is None
    assert server.off(one) == 0
    server.wait(1, step=STEP_S + 0.01)
    assert server.tells(one) is not None


def test_nothing_moves_before_the_server_is_asked_again() -> None:
    server = Server()
    one = watching(server)
    server.wait(1000, step=HOUR)
    assert server.off(one) == 0


def test_a_clock_that_is_set_right_again_needs_no_offset() -> None:
    server = Server()
    one = watching(server)
    server.wait(1, step=-HOUR)
    server.agrees(server.tells(one))
    assert server.tells(one) is None
    server.wait(1, step=HOUR)
    fact = server.tells(one)
    assert fact is not None
    assert fact.offset == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("step", [LARGEST_S, -LARGEST_S])
def test_a_day_is_a_step_and_more_was_never_right(step: float) -> None:
    server = Server()
    one = watching(server)
    server.wait(1, step=step)
    assert server.tells(one) is not None
    server.wait(0, step=0.01 if step > 0 else -0.01)
    assert server.tells(one) is None
    assert abs(server.off(one)) > LARGEST_S


def test_a_machine_that_slept_is_put_right_by_one_that_was_awake() -> None:
    server = Server()
    awake, sleeper = watching(server), watching(server)
    server.wait(HOUR)
    server.agrees(server.tells(sleeper, slept=HOUR))
    fact = server.tells(awake)
    assert fact is not None
    assert fact.offset == 0
    server.agrees(fact)
    assert server.tells(awake) is server.tells(sleeper, slept=HOUR) is None
    assert server.off(awake) == server.off(sleeper, slept=HOUR) == 0


def test_who_has_just_come_does_not_contradict() -> None:
    server = Server()
    old = watching(server)
    server.wait(1, step=HOUR)
    new = watching(server, WITNESS_S - 1)  # it came after the step and before anybody had said so
    assert server.off(new) == HOUR
    server.agrees(server.tells(old))
    assert server.tells(new) is None
    assert server.off(new) == pytest.approx(0, abs=HOUR * GIVE_BACK)
    assert new.followed == pytest.approx(-HOUR, abs=HOUR * GIVE_BACK)


@pytest.mark.parametrize("unheard", [0.0, 10.0, 2 * HOUR])
@pytest.mark.parametrize("late", [0.0, 10.0, HOUR])
@pytest.mark.parametrize(("longer", "contradicts"), [(-0.01, False), (0.0, True)])
def test_only_who_watched_before_the_step_can_have_been_contradicts_it(
    unheard: float, late: float, longer: float, contradicts: bool
) -> None:
    """unheard: how long its writer had not asked. late: how long after it the witness asks."""
    server, witness = Server(), Discipline()
    assert server.tells(witness) is None
    server.wait(unheard + WITNESS_S + longer)
    at = START + timedelta(seconds=server.ticks)
    server.agrees(ClockSet(offset=HOUR, at=at, stepped=HOUR, within=unheard))
    server.wait(late)
    assert (server.tells(witness) is not None) is contradicts


@pytest.mark.parametrize("away", [10.0, 100.0, 1000.0, 2 * HOUR])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 1.0])
def test_who_came_after_a_step_follows_however_late_it_is_said(away: float, part: float) -> None:
    server = Server()
    old = watching(server)
    server.wait(0, step=HOUR)
    server.wait(away * part)
    new = Discipline()
    assert server.tells(new) is None
    server.wait(away * (1 - part))
    assert server.tells(new) is None
    server.agrees(server.tells(old))
    assert server.agreed.fact is not None
    assert server.agreed.fact.within == pytest.approx(away)
    server.wait(9)
    assert server.tells(new) is None
    assert server.off(new) == pytest.approx(server.off(old), abs=HOUR * GIVE_BACK * 2)


def test_a_step_written_before_that_was_noted_is_contradicted_as_it_was() -> None:
    old = ClockSet.model_validate({"offset": HOUR, "at": START, "stepped": HOUR})
    assert old.within == 0


def test_an_offset_is_given_back_slowly_and_by_all_alike() -> None:
    server = Server()
    one = watching(server)
    server.wait(0, step=HOUR)
    server.agrees(server.tells(one))
    assert server.tells(one) is None
    for _ in range(360):
        server.wait(10)
        assert server.tells(one) is None
    assert server.off(one) == pytest.approx(HOUR * GIVE_BACK)
    new = Discipline()
    assert server.tells(new) is None
    assert server.off(new) == server.off(one)
    server.wait(HOUR / GIVE_BACK)
    assert server.agreed.offset_at(START + timedelta(seconds=server.ticks)) == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_left_of_an_offset_has_its_sign_and_ends_at_nothing(sign: int) -> None:
    fact = ClockSet(offset=sign * 10.0, at=START, stepped=sign * 10.0)
    assert fact.offset_at(START - timedelta(days=1)) == sign * 10
    assert fact.offset_at(START + timedelta(seconds=10_000)) == pytest.approx(sign * 5)
    assert fact.offset_at(START + timedelta(seconds=20_000)) == 0
    assert fact.offset_at(START + timedelta(days=9)) == 0


def test_there_is_no_time_before_the_first_answer() -> None:
    with pytest.raises(RuntimeError, match="never synchronised"):
        Discipline().at(0)
