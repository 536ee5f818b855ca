"""What equal jobs share, and what a search for victims is given, is worth what it stands for."""

from __future__ import annotations

from muster.contracts.events import job_event, read_event
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.evolve import evolve
from muster.domain.model import assembled
from muster.domain.state import JobState, Wait
from muster.scheduler.core.amounts import Amounts
from muster.scheduler.core.board import Board, Taken
from muster.scheduler.core.book import Register
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rank import lost_work
from muster.scheduler.core.stayers import stayer_of
from muster.scheduler.core.victims import Exit, candidates
from tests.scheduler.worlds import at, held, queued, running, world


def from_the_log(state: JobState, fact: f.Fact) -> JobState:
    event = job_event(state, fact, event_id="e-" + state.job, source="muster/executor", at=at(0))
    read = read_event(event.subject, event.to_bytes())
    assert read == event
    found = read.data.job
    assert isinstance(found, JobState)
    return found


def test_jobs_that_ask_for_the_same_share_what_says_so() -> None:
    one, other, larger = (
        from_the_log(state, f.Started(attempt=1))
        for state in (running("a", ["n1"], 2), running("b", ["n2"], 2), running("c", ["n3"], 4))
    )
    assert one.demand is other.demand
    assert one.demand != larger.demand
    assert one.demand == running("a", ["n1"], 2).demand


def test_who_leaves_at_the_same_instant_shares_the_order_and_no_clock_of_its_own() -> None:
    fact = f.Preempted(cause=EvictionCause.PRIORITY, by="h", grace_s=30)
    one, other = (evolve(running(name, ["n1"]), fact, at(0)) for name in ("a", "b"))
    assert one.eviction is other.eviction
    assert one.deadlines is other.deadlines
    later = evolve(running("c", ["n1"]), fact, at(1))
    assert later.deadlines != one.deadlines
    for_another = f.Preempted(cause=EvictionCause.PRIORITY, by="g", grace_s=30)
    assert evolve(running("d", ["n1"]), for_another, at(0)).eviction != one.eviction


def test_a_value_of_parts_that_are_valid_is_the_value_that_is_checked() -> None:
    parts = {"tenant": "t", "job": "j", "attempt": 2}
    assert assembled(Wait, dict(parts)) == Wait.model_validate(parts)
    assert assembled(Wait, dict(parts)).model_dump_json() == Wait(**parts).model_dump_json()  # type: ignore[arg-type]


def test_candidates_come_cheapest_first_and_cost_what_their_states_say() -> None:
    states = [
        running("long", ["n1"], 2, since=-600),
        running("short", ["n2"], 2, since=-60),
        running("wide", ["n3", "n4"], 4, since=-60),
        held(queued("paper", 1, 2), ["n5"]),
        running("idle", ["n6"], 8, since=-9000, kind="idle", priority=None),
    ]
    listed = list(world([], states).holding)
    found = candidates([stayer_of(job, Policy()) for job in listed], at(0))
    assert [one.job.state.job for one in found] == ["idle", "paper", "short", "wide", "long"]
    assert found[1].exit is Exit.HOLD_TAKEN
    for one in found:
        assert one.cost[2] == lost_work(one.job.state, at(0))
        assert set(one.nodes) == set(one.job.state.held)


def test_a_book_keeps_what_it_was_given_when_others_come_and_go() -> None:
    register = Register()
    first, second = world([], [running("a", ["n1"]), running("b", ["n2"])]).holding
    register.hold(first)
    before = register.book()
    assert register.book().holding is before.holding
    register.let_go(("nobody", "x"))
    assert register.book().holding is before.holding
    register.hold(second)
    register.let_go(first.key)
    assert list(before.holding) == [first.key]
    assert list(register.book().holding) == [second.key]


def test_equal_claims_are_one_and_others_are_not() -> None:
    board = Board({"n1": Amounts(8, 64_000, 9_000)})
    for name, taken in {
        "a": Taken(Amounts(1, 1000, 10)),
        "b": Taken(Amounts(1, 1000, 10)),
        "c": Taken(Amounts(0, 1000, 10), {0: 500}),
    }.items():
        board.claim(("t", name), {"n1": taken})
    board.claim(("t", "d"), {"n1": Taken(Amounts(1, 1000, 10))}, frozenset({("t", "a")}))
    claims = board.claimants("n1")
    assert claims["t", "a"] is claims["t", "b"]
    assert claims["t", "c"].taken.slots == {0: 500}
    assert claims["t", "d"].waits == {("t", "a")}
    everybody = frozenset(claims)
    assert board.free("n1", everybody) == board.free("n1", everybody | {("t", "stranger")})
    assert board.free("n1", everybody).gpus == 8
