"""A scheduler alone on the log in memory: batches, conflicts, unknown outcomes, proofs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from muster.contracts import subjects
from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.edges import Owner
from muster.domain.errors import Permanent
from muster.domain.nodes import NodeCordoned, NodeLost, NodeReclaiming
from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind
from muster.domain.waiting import Tier
from muster.log.memory import LogFault
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.verdicts import Decision, Move
from muster.scheduler.cycle import batch as batches
from muster.scheduler.handlers import CatchingUp
from tests.scheduler.pools import Faults, Pool, auto_queue, settle
from tests.scheduler.worlds import POOL, at


async def test_a_job_is_placed_in_one_batch_with_the_record_of_the_round() -> None:
    pool = Pool()
    await pool.join("n1", "n2")
    await pool.submit("a", workers=2)
    await settle(pool.scheduler())
    state = await pool.state("a")
    assert state.phase is Phase.STARTING
    assert state.placed_on == {"worker-0": "n1", "worker-1": "n2"}
    decided, scheduled = pool.events("decided"), pool.events("scheduled")
    assert [one.seq for one in decided] == [scheduled[0].seq - 1]
    assert decided[0].event.data.detail.scheduled == 1


async def test_a_higher_job_gets_the_victims_nodes_in_the_batch_that_evicts() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")
    await pool.submit("high", resource={"priority": "high"})
    await settle(scheduler)
    low, high = await pool.state("low"), await pool.state("high")
    assert low.phase is Phase.EVICTING
    assert low.eviction is not None
    assert (low.eviction.cause, low.eviction.by) == (EvictionCause.PRIORITY, "high")
    assert high.phase is Phase.STARTING
    assert [wait.job for wait in high.waits_for] == ["low"]
    assert dict(high.held) == {"n1": ("worker-0",)}


async def test_a_pool_at_rest_is_not_written_to() -> None:
    pool = Pool()
    await pool.join("n1")
    await pool.submit("a")
    await pool.submit("b")
    scheduler = pool.scheduler()
    await settle(scheduler)
    await pool.launch("a")
    pool.pass_by(Policy().reserve_after_s + 10)
    await settle(scheduler)
    before = await pool.log.end()
    for _ in range(500):
        pool.pass_by(10)
        await scheduler.step()
    assert await pool.log.end() == before


async def test_nothing_is_decided_before_the_log_is_read_to_its_end() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    await pool.submit("a")
    scheduler = pool.scheduler(faults)
    faults.next["follow"] = [LogFault.STALE] * 3
    for _ in range(3):
        await scheduler.step()
        with pytest.raises(CatchingUp):
            await scheduler.ready()
    assert pool.events("epoch") == []
    await settle(scheduler)
    await scheduler.ready()
    assert (await pool.state("a")).phase is Phase.STARTING


async def test_a_stale_reading_after_a_batch_repeats_nothing() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1", "n2")
    scheduler = pool.scheduler(faults)
    await settle(scheduler)
    await pool.submit("a")
    await scheduler.step()
    faults.next["follow"] = [LogFault.STALE] * 5
    await settle(scheduler, turns=5)
    assert len(pool.events("decided")) == 1
    assert len(pool.events("scheduled")) == 1


# --- somebody else is faster ----------------------------------------------------------------------


async def test_a_victim_that_ends_meanwhile_makes_the_whole_batch_fail() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    scheduler = pool.scheduler(faults)
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")

    async def ends() -> None:
        await pool.write("low", f.Succeeded(attempt=1))

    await settle(scheduler)
    await pool.submit("high", resource={"priority": "high"})
    faults.before_batch = [ends]
    await scheduler.step()
    assert (await pool.state("high")).phase is Phase.QUEUED
    assert len(pool.events("decided")) == 1
    await settle(scheduler)
    assert (await pool.state("low")).phase is Phase.SUCCEEDED
    assert pool.events("preempted") == []
    assert [wait.job for wait in (await pool.state("high")).waits_for] == ["low"]


async def test_a_job_that_is_stopped_meanwhile_stays_stopped() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    scheduler = pool.scheduler(faults)
    await settle(scheduler)
    await pool.submit("a")
    await pool.submit("b")

    async def stops() -> None:
        stop = f.StopRequested(by="u", request="r9")
        await pool.write("a", stop, owner=Owner.ADMISSION)

    faults.before_batch = [stops]
    await settle(scheduler)
    assert (await pool.state("a")).phase is Phase.STOPPED
    assert (await pool.state("b")).phase is Phase.STARTING


async def test_batches_shrink_while_somebody_is_always_faster_and_grow_again() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    scheduler = pool.scheduler(faults)
    await settle(scheduler)
    for index in range(8):
        await pool.submit(f"j{index}", gpus=1)

    async def interferes() -> None:
        label = f.Relabelled(by="u", request=pool.ids(), before={}, labels={})
        await pool.write("j7", label, owner=Owner.ADMISSION)

    faults.before_batch = [interferes] * 9
    await settle(scheduler, turns=12)
    rounds = [one.event.data.detail for one in pool.events("decided")]
    assert rounds
    assert (await pool.state("j0")).phase is Phase.STARTING
    await settle(scheduler, turns=12)
    assert (await pool.state("j7")).phase is Phase.STARTING
    assert sum(one.event.data.detail.scheduled for one in pool.events("decided")) == 8


async def test_an_unreadable_event_of_a_job_is_part_of_its_condition() -> None:
    pool = Pool()
    await pool.join("n1")
    await pool.submit("a")
    pool.store.put("jobs.t.a.admitted", b"nonsense")
    await settle(pool.scheduler())
    assert (await pool.state("a")).phase is Phase.STARTING


# --- nobody knows whether it was written ---------------------------------------------------------


@pytest.mark.parametrize("fault", [LogFault.UNKNOWN_STORED, LogFault.UNKNOWN_LOST])
async def test_after_an_unknown_outcome_a_new_epoch_comes_first(fault: LogFault) -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1", "n2")
    scheduler = pool.scheduler(faults)
    await settle(scheduler)
    await pool.submit("a")
    faults.next["append_all"] = [fault]
    await scheduler.step()
    ended = await pool.log.end()
    await settle(scheduler)
    assert [one.event.data.detail.epoch for one in pool.events("epoch")] == [1, 2]
    assert pool.events("epoch")[1].seq == ended + 1
    assert len(pool.events("scheduled")) == 1
    assert (await pool.state("a")).attempt == 1


async def test_a_batch_that_lands_late_is_fenced() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1", "n2")
    scheduler = pool.scheduler(faults)
    await pool.submit("a")
    await settle(scheduler)
    leadership = scheduler.cycles[POOL].leadership
    old = leadership.basis
    await pool.submit("b")
    faults.next["append_all"] = [LogFault.UNKNOWN_LOST]
    await settle(scheduler)
    assert leadership.basis != old
    journal, record = pool.journal(Owner.SCHEDULER), await pool.decided()
    assert record is not None
    with pytest.raises(Exception, match="is at"):
        await journal.record_all((), journal.about_pool(POOL, record, old))


# --- deadlines and proofs ------------------------------------------------------------------------


async def test_a_passed_deadline_gets_the_record_of_one_round_and_no_more() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("k", resource={"guarantee": True})
    await pool.submit("w", auto_queue=auto_queue(hours=1))
    await settle(scheduler)
    await pool.launch("k")
    last = await pool.last("w")
    deadline = last.job.due(DeadlineKind.QUEUE)
    assert deadline == at(3600)
    pool.pass_by(3599)
    await settle(scheduler)
    before = await pool.decided()
    assert before is not None
    assert before.at < deadline
    pool.pass_by(1.5)
    await settle(scheduler)
    proof = await pool.decided()
    assert proof is not None
    assert proof.at >= deadline
    assert proof.upto >= last.seq
    assert len(pool.events("decided")) == 2
    for _ in range(60):
        pool.pass_by(1)
        await settle(scheduler)
    assert len(pool.events("decided")) == 2


async def test_a_deadline_that_passed_while_we_were_down_leaves_one_more_round() -> None:
    pool = Pool()
    await pool.submit("w", auto_queue=auto_queue(hours=1))
    pool.pass_by(7200)
    await pool.join("n1")
    await settle(pool.scheduler())
    assert (await pool.state("w")).phase is Phase.STARTING


async def test_an_event_after_the_proof_asks_for_another_one() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("k", resource={"guarantee": True})
    await pool.submit("w", auto_queue=auto_queue(hours=1))
    await settle(scheduler)
    await pool.launch("k")
    pool.pass_by(3601)
    await settle(scheduler)
    label = f.Relabelled(by="u", request="r1", before={}, labels={"a": "b"})
    await pool.write("w", label, owner=Owner.ADMISSION)
    await settle(scheduler)
    proof = await pool.decided()
    assert proof is not None
    assert proof.upto >= (await pool.last("w")).seq


async def test_a_round_that_did_not_reach_a_job_proves_nothing_for_it() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler(policy=Policy(max_decisions=1))
    for name in ("a", "b"):
        await pool.submit(name, gpus=1, auto_queue=auto_queue(hours=1))
    pool.pass_by(3601)
    await settle(scheduler, turns=2)
    proof = await pool.decided()
    assert proof is not None
    assert (proof.scheduled, proof.remainder) == (1, 1)
    assert proof.at < at(3600)
    await settle(scheduler)
    assert (await pool.state("b")).phase is Phase.STARTING


async def test_not_before_wakes_the_round() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("a")
    await settle(scheduler)
    refused = f.StartRefused(attempt=1, permanent=False, why="away", not_before=at(30))
    await pool.write("a", refused)
    await settle(scheduler)
    assert (await pool.state("a")).phase is Phase.QUEUED
    pool.pass_by(30)
    await settle(scheduler)
    assert (await pool.state("a")).phase is Phase.STARTING


async def test_a_victim_that_does_not_leave_frees_its_beneficiary_of_the_plan() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")
    await pool.submit("high", resource={"priority": "high"})
    await settle(scheduler)
    await pool.join("n2")
    pool.pass_by(89)
    await settle(scheduler)
    assert dict((await pool.state("high")).held) == {"n1": ("worker-0",)}
    pool.pass_by(2)
    await settle(scheduler)
    assert dict((await pool.state("high")).held) == {"n2": ("worker-0",)}
    assert len(pool.events("preempted")) == 1
    withdrawn = pool.events("unscheduled")[0].event.data.detail
    assert withdrawn.cause is f.Withdrawal.VICTIM_OVERDUE


# --- nodes ---------------------------------------------------------------------------------------


async def test_a_node_that_is_lost_before_the_launch_costs_only_the_placement() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("a")
    await settle(scheduler)
    await pool.about_node("n1", NodeLost())
    await pool.join("n2")
    await settle(scheduler)
    state = await pool.state("a")
    assert dict(state.held) == {"n2": ("worker-0",)}
    assert (state.queue_entry, state.ledgers.requeues, state.attempt) == (1, 0, 2)


async def test_a_node_that_goes_right_after_the_commit_is_dealt_with_in_the_next_round() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1", spot=True)
    scheduler = pool.scheduler(faults)
    await settle(scheduler)
    await pool.submit("s", resource={"type": "spot"}, auto_queue=auto_queue())

    async def goes() -> None:
        end = pool.clock.now() + timedelta(seconds=9)
        await pool.about_node("n1", NodeReclaiming(deadline=end))

    faults.before_batch = [goes]
    await settle(scheduler)
    state = await pool.state("s")
    assert (state.phase, dict(state.held)) == (Phase.QUEUED, {})
    causes = [one.event.data.detail.cause for one in pool.events("unscheduled")]
    assert causes == [f.Withdrawal.NODE_GONE]


async def test_a_reclaimed_spot_gang_leaves_whole_with_what_grace_there_is() -> None:
    pool = Pool()
    await pool.join("n1", "n2", spot=True)
    scheduler = pool.scheduler()
    await pool.submit("s", workers=2, resource={"type": "spot"}, auto_queue=auto_queue())
    await settle(scheduler)
    await pool.launch("s")
    await pool.about_node("n1", NodeReclaiming(deadline=at(12)))
    await settle(scheduler)
    state = await pool.state("s")
    assert state.phase is Phase.EVICTING
    assert state.eviction is not None
    assert state.eviction.cause is EvictionCause.SPOT_RECLAIM
    assert state.due(DeadlineKind.GRACE) == at(12)
    await pool.about_node("n2", NodeReclaiming(deadline=at(5)))
    await settle(scheduler)
    assert (await pool.state("s")).due(DeadlineKind.GRACE) == at(5)
    assert len(pool.events("preempted")) == 1


async def test_a_hold_is_taken_and_its_first_owner_planned_again() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")
    await pool.submit("mid", resource={"priority": "normal"})
    await settle(scheduler)
    await pool.submit("high", resource={"priority": "high"})
    await settle(scheduler)
    assert (await pool.state("mid")).phase is Phase.QUEUED
    assert dict((await pool.state("high")).held) == {"n1": ("worker-0",)}
    await pool.release("low")
    await pool.launch("high")
    await pool.join("n2")
    await settle(scheduler)
    assert dict((await pool.state("mid")).held) == {"n2": ("worker-0",)}
    assert len(pool.events("preempted")) == 1


# --- what others are told ------------------------------------------------------------------------


async def test_the_summary_says_what_is_free_and_why_jobs_wait() -> None:
    pool = Pool()
    await pool.join("n1", "n2")
    await pool.about_node("n2", NodeCordoned(), owner=Owner.ADMISSION)
    await pool.submit("a", gpus=6)
    await pool.submit("b")
    await settle(pool.scheduler())
    summary = await pool.summary()
    assert summary is not None
    assert (summary.nodes, summary.gpus, summary.gpus_free, summary.waiting) == (1, 8, 2, 1)
    (waiting,) = summary.queue
    assert (waiting.job, waiting.code, waiting.ahead) == ("b", "NO_ROOM", 0)
    assert "do not all fit into what is free now" in waiting.en
    assert waiting.tier is Tier.CAPACITY
    assert waiting.numbers == {"role": "worker", "need": 1, "spec": "8 GPU"}
    assert "当前空闲资源无法同时容纳" in waiting.zh


async def test_summaries_come_only_when_changed_and_not_too_often() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await settle(scheduler)
    for index in range(20):
        await pool.submit(f"j{index}", gpus=1)
        await settle(scheduler, turns=2)
        pool.pass_by(0.1)
    assert len(pool.events("summary")) <= 2
    pool.pass_by(20)
    await settle(scheduler)
    summary = await pool.summary()
    assert summary is not None
    assert (summary.gpus_free, summary.waiting) == (0, 12)


# --- what cannot happen, and does ----------------------------------------------------------------


async def test_a_decision_that_breaks_the_life_cycle_stops_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = Pool()
    await pool.join("n1", "n2")
    await pool.submit("bad")
    await pool.submit("good")
    right = batches._appends

    def breaks(move: Move, *rest: object) -> object:
        if move.decisions[0].job == ("t", "bad"):
            move = Move((Decision(("t", "bad"), f.Unscheduled(cause=f.Withdrawal.NODE_GONE)),))
        return right(move, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(batches, "_appends", breaks)
    scheduler = pool.scheduler()
    await settle(scheduler)
    assert (await pool.state("good")).phase is Phase.STARTING
    assert (await pool.state("bad")).phase is Phase.QUEUED
    monkeypatch.setattr(batches, "_appends", right)
    ended = await pool.log.end()
    await settle(scheduler)
    assert await pool.log.end() == ended
    label = f.Relabelled(by="u", request="r1", before={}, labels={"a": "b"})
    await pool.write("bad", label, owner=Owner.ADMISSION)
    await settle(scheduler)
    assert (await pool.state("bad")).phase is Phase.STARTING


async def test_a_log_that_went_back_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await settle(scheduler)
    follower = scheduler._follower
    assert follower is not None

    async def gone(wait: float = 0.0) -> list[object]:
        raise Permanent("the log went back")

    monkeypatch.setattr(follower, "next", gone)
    with pytest.raises(Permanent):
        await scheduler.step()
    await pool.submit("a")
    await settle(scheduler)
    assert (await pool.state("a")).phase is Phase.STARTING


async def test_every_pool_has_its_own_rounds() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await settle(scheduler)
    assert list(scheduler.cycles) == [POOL]
    key = subjects.pool_key("other", "epoch")
    assert await pool.log.last(key) is None


# --- what is counted -----------------------------------------------------------------------------


def _count(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"muster_scheduler_{name}", labels) or 0.0


async def test_metrics_follow_what_was_written_and_name_no_job() -> None:
    pool, faults = Pool(), Faults()
    await pool.join("n1")
    before = _count("decisions_total", pool=POOL, event="scheduled")
    unknown = _count("rounds_total", pool=POOL, outcome="unknown")
    scheduler = pool.scheduler(faults)
    await settle(scheduler)
    for index in range(3):
        await pool.submit(f"j{index}", gpus=4)
    faults.next["append_all"] = [LogFault.UNKNOWN_LOST]
    await settle(scheduler)
    assert _count("decisions_total", pool=POOL, event="scheduled") == before + 2
    assert _count("rounds_total", pool=POOL, outcome="unknown") == unknown + 1
    assert (_count("waiting", pool=POOL), _count("leads", pool=POOL)) == (1, 1)
    labels = {
        name
        for family in REGISTRY.collect()
        if family.name.startswith("muster_scheduler")
        for sample in family.samples
        for name in sample.labels
    }
    assert labels <= {"pool", "event", "outcome", "le"}


# --- what was planned on the account of another decision ------------------------------------------


async def test_nothing_after_a_refused_decision_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room of the second is what the first one leaves beside it: without it, it is wrong."""
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")
    await pool.submit("high", gpus=5, resource={"priority": "high"})
    await pool.submit("beside", gpus=3, resource={"priority": "low"})
    right, sent = batches._appends, []

    def breaks(move: Move, *rest: object) -> object:
        if any(one.job == ("t", "high") for one in move.decisions):
            wrong = f.Unscheduled(cause=f.Withdrawal.NODE_GONE)
            move = Move((*move.decisions[:-1], Decision(("t", "high"), wrong)))
        found = right(move, *rest)  # type: ignore[arg-type]
        sent.append(move)
        return found

    monkeypatch.setattr(batches, "_appends", breaks)
    await settle(scheduler)
    assert pool.events("preempted") == []
    assert (await pool.state("beside")).phase is Phase.QUEUED
    assert sent == []


async def test_what_does_not_fit_into_a_batch_waits_for_the_next_with_all_after_it() -> None:
    pool = Pool()
    await pool.join("n1", "n2")
    scheduler = pool.scheduler()
    for name in ("low1", "low2"):
        await pool.submit(name, resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low1")
    await pool.launch("low2")
    cycle = scheduler.cycles[POOL]
    await pool.submit("high", workers=2, gpus=5, resource={"priority": "high"})
    await pool.submit("beside", gpus=3, resource={"priority": "low"})
    await scheduler._read(await scheduler._open())
    made = cycle._plan()
    assert [len(move.decisions) for move in made.moves] == [3, 1]
    for limit, moves in ((2, 1), (4, 1), (5, 2)):
        cycle._limit = limit
        batch = cycle._batch(made)
        assert batch is not None
        assert batch.moves == made.moves[:moves]
        assert batch.record.remainder == 2 - moves


async def test_the_room_of_a_beneficiary_that_gives_up_goes_to_the_next() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")
    await pool.submit("high", resource={"priority": "high"})
    await pool.submit("next", resource={"priority": "low"})
    await settle(scheduler)
    await pool.release("low")
    await settle(scheduler)
    assert (await pool.state("next")).phase is Phase.QUEUED  # the room is high's until it starts
    stop = f.StopRequested(by="u", request="r9")
    await pool.write("high", stop, owner=Owner.ADMISSION)
    if (await pool.state("high")).held:
        await pool.release("high")
    await settle(scheduler)
    assert dict((await pool.state("next")).held) == {"n1": ("worker-0",)}


async def test_a_node_that_never_frees_lets_its_beneficiary_be_planned_again() -> None:
    pool = Pool()
    await pool.join("n1")
    scheduler = pool.scheduler()
    await pool.submit("low", resource={"priority": "low"})
    await settle(scheduler)
    await pool.launch("low")
    await pool.submit("high", resource={"priority": "high"})
    await settle(scheduler)
    pool.pass_by(600)
    await settle(scheduler)
    high = await pool.state("high")
    assert (high.phase, dict(high.held)) == (Phase.QUEUED, {})
    withdrawn = pool.events("unscheduled")[0].event.data.detail
    assert withdrawn.cause is f.Withdrawal.VICTIM_OVERDUE
    assert len(pool.events("preempted")) == 1  # nobody is told twice, and nobody else instead
    await pool.join("n2")
    await settle(scheduler)
    assert dict((await pool.state("high")).held) == {"n2": ("worker-0",)}
