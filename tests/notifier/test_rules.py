"""Whom to tell about what: tables of lives, and what holds for every life."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.demand import QueueLimits, ResourceClass
from muster.domain.edges import EDGES
from muster.domain.phases import Phase
from muster.domain.reasons import ReasonCode, reason
from muster.notifier.core.notice import Trigger
from muster.notifier.core.rules import TELLING, Scope, ScopeKind, notices_for
from tests.notifier.lives import EVERY, START, Life, queued, rule, submitted, told

STOP = f.StopRequested(by="alice", request="r9")


def transitions(life: Life) -> list[str]:
    return [notice.transition for notice in told(life)]


def _preempted_hold() -> Life:
    life = queued(hold_s=600).runs().fails()
    return life.evicted(EvictionCause.PRIORITY)


CASES: dict[str, tuple[Life, list[str]]] = {
    "a life without accidents": (
        queued().runs().then(f.Succeeded(attempt=1)),
        ["queued:1", "running:1", "succeeded:6"],
    ),
    "each queue entry and each attempt once": (
        queued().runs().evicted().requeued().runs(),
        ["queued:1", "running:1", "queued:2", "running:2"],
    ),
    "a start that fails returns to the same entry, which was told": (
        queued()
        .then(
            f.Scheduled(placement={"n0": ("worker-0",), "n1": ("worker-1",)}),
            f.Launching(attempt=1),
            f.StartFailed(attempt=1, why="node gone"),
            f.Released(attempt=1),
        )
        .requeued(cause=EvictionCause.START_FAILED, counted=False, same_entry=True),
        ["queued:1"],
    ),
    "a plan taken back is no new entry": (
        queued().then(
            f.Scheduled(placement={"n0": ("worker-0", "worker-1")}),
            f.Unscheduled(cause=f.Withdrawal.NODE_GONE),
        ),
        ["queued:1"],
    ),
    "a restart is a new attempt": (
        queued()
        .runs()
        .breaks()
        .then(
            f.Restarted(reason=reason(ReasonCode.RESTARTING, count=1, limit=3, why="x")),
            f.Launching(attempt=2),
            f.Started(attempt=2),
        ),
        ["queued:1", "running:1", "running:2"],
    ),
    "a one-shot job never queues for people": (
        queued(queue=None).then(
            f.Declined(reason=reason(ReasonCode.INSUFFICIENT_CAPACITY, need=2, spec="x", have=0))
        ),
        ["failed:3"],
    ),
    "a one-shot job that queues again as one-shot": (
        queued(queue=None)
        .runs()
        .breaks()
        .then(
            f.ReplacementOrdered(
                cause=EvictionCause.NODE_LOST,
                reason=reason(ReasonCode.WORKER_FAILED, worker="w", node="n", why="lost"),
            ),
            f.Released(attempt=1),
        )
        .requeued(cause=EvictionCause.NODE_LOST, counted=False, one_shot=True),
        ["running:1"],
    ),
    "an eviction without auto-queue fails": (
        queued(queue=None)
        .runs()
        .evicted()
        .then(f.NotRequeued(cause=EvictionCause.SPOT_RECLAIM, by="j2")),
        ["running:1", "failed:9"],
    ),
    "requeues used up": (
        queued(queue=QueueLimits(max_queue_hours=1, max_requeues=0))
        .runs()
        .evicted()
        .then(f.RequeueExhausted(cause=EvictionCause.SPOT_RECLAIM)),
        ["queued:1", "running:1", "abnormal:9"],
    ),
    "the queue entry times out, a person resumes": (
        queued().then(f.QueueTimedOut(entry=1), f.Resumed(by="alice", request="r2")),
        ["queued:1", "abnormal:3", "queued:2"],
    ),
    "twice abnormal is told twice": (
        queued().then(
            f.QueueTimedOut(entry=1),
            f.Resumed(by="alice", request="r2"),
            f.QueueTimedOut(entry=2),
        ),
        ["queued:1", "abnormal:3", "queued:2", "abnormal:5"],
    ),
    "labels of a parked job change": (
        queued().then(
            f.QueueTimedOut(entry=1),
            f.Relabelled(by="alice", request="r2", before={}, labels={"a": "b"}),
        ),
        ["queued:1", "abnormal:3"],
    ),
    "a failure is told at the hold, not after it": (
        queued(hold_s=600).runs().fails().then(f.HoldEnded()),
        ["queued:1", "running:1", "failed:7"],
    ),
    "a success is told at the hold, not after it": (
        queued(hold_s=600).runs().then(f.Succeeded(attempt=1), f.HoldEnded()),
        ["queued:1", "running:1", "succeeded:6"],
    ),
    "a hold cut short by a person": (
        queued(hold_s=600).runs().fails().then(STOP, f.Stopped()),
        ["queued:1", "running:1", "failed:7"],
    ),
    "a hold cut short by a preemption": (
        _preempted_hold(),
        ["queued:1", "running:1", "failed:7"],
    ),
    "the longest run time": (
        queued(max_runtime_s=60).runs().then(f.RunTimedOut(), f.Stopped()),
        ["queued:1", "running:1", "failed:7"],
    ),
    "success during the stop that the run time caused": (
        queued(max_runtime_s=60).runs().then(f.RunTimedOut(), f.Succeeded(attempt=1)),
        ["queued:1", "running:1", "succeeded:7"],
    ),
    "a stop by a person is nobody's trigger": (
        queued().runs().then(STOP, f.Stopped()),
        ["queued:1", "running:1"],
    ),
    "three refused starts": (
        queued().then(
            *(
                step
                for n in (1, 2, 3)
                for step in (
                    f.Scheduled(placement={"n0": ("worker-0", "worker-1")}),
                    f.StartRefused(attempt=n, permanent=True, why="no image"),
                )
            )
        ),
        ["queued:1", "abnormal:8"],
    ),
    "a fault nobody may decide": (
        queued().runs().breaks().then(f.Escalated(reason=reason(ReasonCode.UNDECIDED, seconds=60))),
        ["queued:1", "running:1", "abnormal:7"],
    ),
    "refused at the door": (submitted().then(f.Rejected(violations=())), []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_life_tells(name: str) -> None:
    life, expected = CASES[name]
    assert transitions(life) == expected


@pytest.mark.parametrize("name", CASES)
def test_redelivery_replay_and_reordering_give_the_same_keys(name: str) -> None:
    life, expected = CASES[name]
    steps = list(zip(life.steps, life.facts, strict=True)) * 3
    random.Random(7).shuffle(steps)
    keys = {
        notice.key
        for (event, state), fact in steps
        for notice in notices_for(event, state, fact, state.since, EVERY)
    }
    assert len(keys) == len(expected)
    assert {key[2] for key in keys} == set(expected)


def test_every_event_that_can_lead_to_a_told_phase_is_listened_to() -> None:
    told_phases = {
        Phase.RUNNING,
        Phase.ABNORMAL,
        Phase.FAILED,
        Phase.SUCCEEDED,
        Phase.DEBUG_HOLDING,
    }
    leading = {event for event, edge in EDGES.items() if edge.targets & told_phases}
    only_after_it_was_told = {"released", "hold_ended"}
    assert leading - only_after_it_was_told <= TELLING
    assert set(EDGES) >= TELLING


SCOPES: dict[str, tuple[Scope, bool]] = {
    "my jobs": (Scope(ScopeKind.ME, user="alice"), True),
    "somebody else's": (Scope(ScopeKind.ME, user="bob"), False),
    "the tenant's": (Scope(ScopeKind.TENANT), True),
    "this job": (Scope(ScopeKind.JOB, job="j1"), True),
    "another job": (Scope(ScopeKind.JOB, job="j2"), False),
    "one label": (Scope(ScopeKind.LABELS, labels=(("team", "nlp"),)), True),
    "all labels": (Scope(ScopeKind.LABELS, labels=(("stage", "sft"), ("team", "nlp"))), True),
    "one label of two": (Scope(ScopeKind.LABELS, labels=(("stage", "rl"), ("team", "nlp"))), False),
    "a label that is missing": (Scope(ScopeKind.LABELS, labels=(("x", ""),)), False),
}


@pytest.mark.parametrize("name", SCOPES)
def test_scope(name: str) -> None:
    scope, wanted = SCOPES[name]
    life = queued(labels={"team": "nlp", "stage": "sft"})
    assert bool(told(life, [rule(Trigger.JOB_QUEUED, scope=scope)])) is wanted


def test_a_rule_of_another_tenant_or_switched_off_is_not_told() -> None:
    wanted = rule(Trigger.JOB_QUEUED)
    assert told(queued(), [replace(wanted, tenant="other"), replace(wanted, enabled=False)]) == []


def test_a_rule_is_not_told_of_what_happened_before_it_began() -> None:
    life = queued().runs()
    began = replace(rule(Trigger.JOB_QUEUED), since=START + timedelta(seconds=61))
    on_time = replace(began, since=START + timedelta(seconds=60))
    assert told(life, [began]) == []
    assert len(told(life, [on_time])) == 1


def test_each_matching_rule_is_told_with_its_own_key() -> None:
    rules = [rule(Trigger.JOB_QUEUED, prefix=name) for name in ("a", "b")]
    notices = told(queued(), rules)
    assert [notice.rule for notice in notices] == ["a-job-queued", "b-job-queued"]
    assert len({notice.id for notice in notices}) == 2


def test_facts_of_the_notice() -> None:
    life = queued().runs().evicted().requeued()
    first, running, again = told(life)
    assert (first.of_job.entry, first.of_job.requeues_left, first.of_job.again) == (1, 2, False)
    assert first.of_job.deadline == first.at + timedelta(hours=6)
    assert (running.of_job.nodes, running.of_job.gpus, running.of_job.workers) == (
        ("n0", "n1"),
        16,
        2,
    )
    assert running.of_job.deadline is None
    assert (again.of_job.entry, again.of_job.requeues_left, again.of_job.again) == (2, 1, True)
    assert again.of_job.reason is not None
    assert "spot_reclaim" in again.of_job.reason[0]
    assert again.at == life.at


def test_without_auto_queue_there_are_no_requeues_to_count() -> None:
    (notice,) = told(queued(queue=None, kind=ResourceClass.RESERVED))
    assert notice.of_job.requeues_left is None
    assert notice.of_job.deadline is None


def test_a_hold_is_announced_with_its_end() -> None:
    life = queued(hold_s=600).runs().fails()
    notice = told(life)[-1]
    assert notice.of_job.hold_until == life.at + timedelta(seconds=600)
    assert notice.of_job.reason_code == "NOT_RETRIED"
