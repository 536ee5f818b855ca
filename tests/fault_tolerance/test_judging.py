"""From the event of a failure to one decision, in virtual time: who is waited for, who is not."""

from __future__ import annotations

import pytest

from muster.domain import facts as f
from muster.domain.deadlines import SETTLE_S, VERDICT_S
from muster.domain.diagnosis import Blame
from muster.domain.edges import Owner
from muster.domain.phases import Phase
from muster.fault_tolerance.judging.questions import FIRST, FIRST_BYTES, PAGE, REST_BYTES
from tests.support.judged_world import JudgedWorld, failures_of

IMPORT = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'"


def test_a_job_whose_every_worker_ended_is_judged_at_once() -> None:
    world = JudgedWorld()
    world.running(workers=2)
    world.fails(0, 1, tail=IMPORT)
    world.after(1)
    (fact,) = world.verdicts()
    assert isinstance(fact, f.Failed)
    assert fact.diagnosis is not None
    assert (fact.diagnosis.rule, fact.diagnosis.blame) == ("py.import", Blame.USER)
    assert "Install the package" in fact.reason.en
    assert "镜像" in fact.reason.zh


def test_those_that_may_fail_of_the_same_cause_are_waited_for_and_no_longer() -> None:
    world = JudgedWorld()
    world.running(workers=3)
    world.fails(0, tail="Watchdog caught collective operation timeout")
    world.after(SETTLE_S - 2)
    assert world.verdicts() == []
    world.end(2, tail=IMPORT, ended_at=world.now)
    world.after(4)
    (fact,) = world.verdicts()
    assert fact.diagnosis is not None
    assert (fact.diagnosis.rule, fact.diagnosis.first) == ("py.import", "worker-2")
    assert world.state().phase is Phase.FAILED


def test_where_nobody_answers_it_is_decided_by_the_event_before_the_time_is_over() -> None:
    world = JudgedWorld()
    world.running(workers=2)
    world.away = True
    world.fails(0, tail=IMPORT)
    world.after(VERDICT_S - 20)
    assert world.verdicts() == []
    world.after(20)
    (fact,) = world.verdicts()
    assert isinstance(fact, f.Restarted), "unknown is tried again on the user's budget"
    assert world.state().ledgers.restarts == 1


def test_an_executor_that_comes_back_is_still_asked() -> None:
    world = JudgedWorld()
    world.running(workers=2)
    world.away = True
    world.fails(0, 1, tail=IMPORT)
    world.after(20)
    world.away = False
    world.after(10)
    assert [type(fact) for fact in world.verdicts()] == [f.Failed]


def test_a_lost_node_is_replaced_although_fault_tolerance_is_off() -> None:
    world = JudgedWorld()
    world.running(workers=2, tolerant={"enabled": False, "hang": {"action": "off"}})
    world.fails(1, code=None, cause="node_lost")
    world.end(0)
    world.after(SETTLE_S + 2)
    (fact,) = world.verdicts()
    assert isinstance(fact, f.ReplacementOrdered)
    assert fact.avoid == ("n1",)
    assert world.state().ledgers.restarts == 0


def test_what_the_user_stops_meanwhile_is_not_judged() -> None:
    world = JudgedWorld()
    world.running(workers=2)
    world.fails(0, tail=IMPORT)
    world.after(2)
    world.then("j1", Owner.ADMISSION, f.StopRequested(by="ann", request="r-stop"))
    world.after(VERDICT_S)
    assert world.verdicts() == []
    assert world.state().phase is Phase.STOPPING


def test_much_is_read_of_those_that_failed_first_and_a_little_of_the_rest() -> None:
    world = JudgedWorld()
    world.running(workers=FIRST + PAGE + 1)
    world.fails(*range(FIRST + PAGE), tail=IMPORT)
    world.after(SETTLE_S + 2)
    *_, last = (i for i, q in enumerate(failures_of(world.asked)) if not q.tails)
    first, page, rest = failures_of(world.asked)[last + 1 :]
    assert (len(first.tails), first.tail_bytes) == (FIRST, FIRST_BYTES)
    assert (len(page.tails), page.tail_bytes) == (PAGE, REST_BYTES)
    assert rest.tails == (f"worker-{FIRST + PAGE}",)


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_thousand_ranks_that_die_together_are_one_decision(replicas: int) -> None:
    world = JudgedWorld(replicas=replicas)
    world.running(workers=1024)
    world.fails(*range(1024), tail="step 120 loss 0.3")
    for begin in range(1, 1024, 256):  # the others are reported while it is being judged
        assert world.state().phase in {Phase.FAULTED, Phase.STARTING}, begin
        world.after(0.5)
    world.after(VERDICT_S)
    assert [type(fact) for fact in world.verdicts()] == [f.Restarted]
    assert (world.state().attempt, world.state().ledgers.restarts) == (2, 1)


def test_a_keyword_in_the_output_of_any_worker_is_seen() -> None:
    tolerant = {"strategy": "log_keywords", "log_keywords": ["flaky mount"]}
    world = JudgedWorld()
    world.running(workers=2, tolerant=tolerant)
    world.end(1, tail="this is the flaky mount again")
    world.fails(0)
    world.after(1)
    assert [type(fact) for fact in world.verdicts()] == [f.Restarted]
    other = JudgedWorld()
    other.running(workers=2, tolerant=tolerant)
    other.fails(0, 1, tail="something else")
    other.after(1)
    assert [type(fact) for fact in other.verdicts()] == [f.Failed]
