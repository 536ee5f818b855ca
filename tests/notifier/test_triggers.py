"""What each trigger tells beside the displayed states, with which facts, in every order."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.diagnosis import Advice, Diagnosis, EvidenceLine, Source
from muster.domain.edges import IllegalEdge
from muster.domain.incidents import Incident, IncidentKind, incident_id
from muster.domain.nodes import NodeCordoned, NodeExcluded, NodeJoined, NodeShape, evolve_node
from muster.domain.reasons import ReasonCode, advised, reason
from muster.notifier.core.notice import Facts, IncidentFacts, NodeFacts, Notice, Trigger
from muster.notifier.core.rules import (
    Rule,
    Scope,
    ScopeKind,
    incident_notices,
    node_notices,
    notices_for,
    tellings,
)
from muster.notifier.core.ruleset import RuleSet
from tests.notifier.lives import START, Life, queued, rule, told

JOBS = tuple(
    rule(trigger) for trigger in Trigger if trigger not in {Trigger.NODE_EXCLUDED, Trigger.INCIDENT}
)
DIAGNOSIS = Diagnosis(
    rule="xid.79",
    node="n0",
    evidence=(EvidenceLine(source=Source.KERNEL, text="Xid 79", zh="GPU 掉卡"),),
    advice=Advice(en="replace the card", zh="更换显卡"),
    gpu_hours=3.5,
    step=40,
)
HUNG = f.Hung(evidence=("no step",), evidence_zh=("没有进展",), seconds=1800, worker="worker-1")
RESTARTED = f.Restarted(
    reason=reason(ReasonCode.RESTARTING, count=1, limit=3, why="x"), diagnosis=DIAGNOSIS
)


def ordered(cause: EvictionCause = EvictionCause.FAULT) -> f.ReplacementOrdered:
    why = advised(reason(ReasonCode.REPLACING, why="x"), "replace the card", "更换显卡")
    return f.ReplacementOrdered(cause=cause, reason=why, avoid=("n0",), diagnosis=DIAGNOSIS)


def suspected() -> f.HangSuspected:
    return f.HangSuspected(
        evidence=("no step",), evidence_zh=("没有进展",), step=41, seconds=1800, worker="worker-1"
    )


def lost() -> f.ProgressLost:
    return f.ProgressLost(
        attempt=1, step_before=100, step_after=10, checkpoint_step=90, gpu_hours=8.0
    )


CASES: dict[str, tuple[Life, list[str]]] = {
    "a preemption": (
        queued().runs().evicted(EvictionCause.PRIORITY),
        ["queued:1", "running:1", "job_preempted:6"],
    ),
    "a restart in place": (
        queued().runs().breaks().then(RESTARTED),
        ["queued:1", "running:1", "job_restarted:7"],
    ),
    "a replacement": (
        queued().runs().breaks().then(ordered()),
        ["queued:1", "running:1", "job_restarted:7"],
    ),
    "a suspected hang, twice": (
        queued().runs().then(suspected(), suspected()),
        ["queued:1", "running:1", "hang_suspected:6", "hang_suspected:7"],
    ),
    "a hang that is acted upon": (
        queued().runs().then(HUNG),
        ["queued:1", "running:1", "hang_suspected:6"],
    ),
    "workers that outstay one that has ended": (
        queued().runs().then(HUNG.model_copy(update={"exited": True})),
        ["queued:1", "running:1"],
    ),
    "progress that is lost": (
        queued().runs().then(lost()),
        ["queued:1", "running:1", "progress_lost:6"],
    ),
    "a hold after a failure: both, at once": (
        queued(hold_s=600).runs().fails(),
        ["queued:1", "running:1", "failed:7", "held:7"],
    ),
    "a hold after a success, and its end": (
        queued(hold_s=600).runs().then(f.Succeeded(attempt=1), f.HoldEnded()),
        ["queued:1", "running:1", "succeeded:6", "held:6"],
    ),
    "a hold that a preemption ends": (
        queued(hold_s=600).runs().fails().evicted(EvictionCause.PRIORITY),
        ["queued:1", "running:1", "failed:7", "held:7", "job_preempted:8"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_life_tells_by_every_trigger(name: str) -> None:
    life, expected = CASES[name]
    assert [notice.transition for notice in told(life, JOBS)] == expected


def facts(life: Life, trigger: Trigger) -> Facts:
    return told(life, [rule(trigger)])[-1].of_job


def test_facts_of_a_preemption() -> None:
    life = queued().runs()
    life.then(f.Preempted(cause=EvictionCause.PRIORITY, by="j9", nodes=("n0",), grace_s=30))
    seen = facts(life, Trigger.JOB_PREEMPTED)
    assert (seen.by, seen.cause, seen.nodes) == ("j9", "priority", ("n0",))
    assert seen.leave_by == life.at + timedelta(seconds=30)
    assert (seen.ran_s, seen.gpu_hours) == (60.0, 16 / 60)


def test_facts_of_a_replacement_say_the_advice_once() -> None:
    seen = facts(queued().runs().breaks().then(ordered()), Trigger.JOB_RESTARTED)
    assert seen.advice == ("replace the card", "更换显卡")
    assert seen.reason is not None
    assert "replace the card" not in seen.reason[0]
    assert "更换显卡" not in seen.reason[1]
    assert seen.evidence == (("Xid 79", "GPU 掉卡"),)
    assert (seen.lost_gpu_hours, seen.avoid) == (3.5, ("n0",))


@pytest.mark.parametrize("fact", [suspected(), HUNG])
def test_facts_of_a_hang(fact: f.Fact) -> None:
    seen = facts(queued().runs().then(fact), Trigger.HANG_SUSPECTED)
    assert seen.evidence == (("no step", "没有进展"),)
    assert seen.worker == "worker-1"


def test_facts_of_lost_progress() -> None:
    seen = facts(queued().runs().then(lost()), Trigger.PROGRESS_LOST)
    assert (seen.step, seen.resumed_step, seen.checkpoint_step) == (100, 10, 90)
    assert seen.lost_gpu_hours == 8.0


def test_facts_of_a_hold() -> None:
    life = queued(hold_s=600).runs().fails()
    assert facts(life, Trigger.DEBUG_HOLD).hold_until == life.at + timedelta(seconds=600)


def fleet(trigger: Trigger, **values: Any) -> Rule:
    return rule(trigger, **{"scope": Scope(ScopeKind.CLUSTER), **values})


def test_a_node_that_is_kept_out() -> None:
    shape = NodeShape(gpus=8, gpu_model="A100", cpus=64, memory_mib=1)
    joined = NodeJoined(pool="west", node="n7", cluster="c", shape=shape)
    state = evolve_node(None, joined, START)
    until = START + timedelta(hours=24)
    state = evolve_node(state, NodeExcluded(until=until, why="sick", why_zh="故障"), START)
    pool = Scope(ScopeKind.POOL, pool="west")
    rules = [
        fleet(Trigger.NODE_EXCLUDED, id="all"),
        fleet(Trigger.NODE_EXCLUDED, id="west", scope=pool, tenant="other"),
        fleet(Trigger.NODE_EXCLUDED, id="east", scope=Scope(ScopeKind.POOL, pool="east")),
    ]
    notices = node_notices("excluded", state, START, rules)
    assert [notice.rule for notice in notices] == ["all", "west"]
    assert [notice.tenant for notice in notices] == ["acme", "other"]
    assert notices[0].key == ("all", "west/n7", "excluded:2")
    assert isinstance(notices[0].facts, NodeFacts)
    assert notices[0].facts.until == until
    assert node_notices("cordoned", evolve_node(state, NodeCordoned(), START), START, rules) == ()


@pytest.mark.parametrize(
    ("pool", "expected"),
    [("west", ["all", "west"]), ("east", ["all"]), (None, ["all", "west"])],
)
def test_an_incident_begins_and_ends_once_each_time(pool: str | None, expected: list[str]) -> None:
    incident = Incident(
        id=incident_id(IncidentKind.STORAGE, "nfs"),
        kind=IncidentKind.STORAGE,
        name="nfs",
        number=2,
        pool=pool,
        opened_at=START,
        last_at=START,
        jobs=30,
    )
    over = incident.model_copy(update={"closed_at": START, "closed_by": "ann"})
    rules = [
        fleet(Trigger.INCIDENT, id="all"),
        fleet(Trigger.INCIDENT, id="west", scope=Scope(ScopeKind.POOL, pool="west")),
    ]
    opened = incident_notices("opened", incident, START, rules)
    closed = incident_notices("closed", over, START, rules)
    assert [notice.rule for notice in opened] == expected
    assert (opened[0].transition, closed[0].transition) == ("opened:2", "closed:2")
    assert opened[0].version < closed[0].version
    assert isinstance(closed[0].facts, IncidentFacts)
    assert (closed[0].facts.phase, closed[0].facts.closed_by) == ("closed", "ann")
    assert incident_notices("updated", incident, START, rules) == ()


SOME: tuple[Any, ...] = (
    lambda s: f.Admitted(),
    lambda s: f.Scheduled(placement={"n0": s.demand.workers}),
    lambda s: f.Launching(attempt=s.attempt),
    lambda s: f.Started(attempt=s.attempt),
    lambda s: f.Preempted(cause=EvictionCause.SPOT_RECLAIM, grace_s=30),
    lambda s: f.Signalled(attempt=s.attempt),
    lambda s: f.Released(attempt=s.attempt),
    lambda s: f.Requeued(cause=EvictionCause.SPOT_RECLAIM, counted=True),
    lambda s: f.RequeueExhausted(cause=EvictionCause.SPOT_RECLAIM),
    lambda s: f.QueueTimedOut(entry=s.queue_entry),
    lambda s: f.Resumed(by="alice", request=f"r{s.version}"),
    lambda s: f.WorkersFailed(
        attempt=s.attempt, failures=(f.WorkerFailure(worker="worker-0", node="n0", exit_code=1),)
    ),
    lambda s: RESTARTED,
    lambda s: ordered(),
    lambda s: f.Failed(reason=reason(ReasonCode.UNDECIDED, seconds=1)),
    lambda s: f.Escalated(reason=reason(ReasonCode.UNDECIDED, seconds=1)),
    lambda s: suspected(),
    lambda s: HUNG,
    lambda s: f.Succeeded(attempt=s.attempt),
    lambda s: f.HoldEnded(),
    lambda s: f.StopRequested(by="alice", request=f"s{s.version}"),
    lambda s: f.Stopped(),
)


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """A life of any events that the table of edges allows."""
    life = queued(hold_s=draw(st.sampled_from([0, 600])))
    for choice in draw(st.lists(st.integers(0, len(SOME) - 1), min_size=20, max_size=80)):
        try:
            life.then(SOME[choice](life.state), seconds=1 + choice)
        except IllegalEdge:
            continue
    return life


def notices_of(life: Life, order: list[int]) -> list[Notice]:
    rules = RuleSet(JOBS)
    found: list[Notice] = []
    for index in order:
        (event, state), fact = life.steps[index], life.facts[index]
        at = START + timedelta(seconds=index)
        told = tellings(event, state)
        found += notices_for(event, state, fact, at, rules.for_job(state, told))
    return found


@settings(deadline=None, max_examples=150)
@given(life=lives(), seed=st.integers(0, 2**16))
def test_redelivery_reordering_and_replay_of_any_life_give_the_same_notices(
    life: Life, seed: int
) -> None:
    once = list(range(len(life.steps)))
    chance = random.Random(seed)
    again = once + chance.choices(once, k=len(once))
    chance.shuffle(again)
    first = notices_of(life, once)
    assert len({notice.key for notice in first}) == len(first), "no transition is told twice"
    assert set(notices_of(life, again)) == set(first)
    started = [event for event, _ in life.steps].count("started")
    running = [each for each in first if each.trigger is Trigger.JOB_RUNNING]
    assert len(running) == started


def test_an_event_meets_only_the_rules_that_may_want_it() -> None:
    scopes = [
        Scope(ScopeKind.ME, user="alice"),
        Scope(ScopeKind.ME, user="bob"),
        Scope(ScopeKind.TENANT),
        Scope(ScopeKind.JOB, job="j1"),
        Scope(ScopeKind.JOB, job="j2"),
        Scope(ScopeKind.LABELS, labels=(("stage", "sft"), ("team", "nlp"))),
        Scope(ScopeKind.LABELS, labels=(("stage", "sft"), ("team", "cv"))),
        Scope(ScopeKind.RESOURCE_CLASS, resource_class="spot"),
        Scope(ScopeKind.RESOURCE_CLASS, resource_class="idle"),
    ]
    rules = [
        rule(Trigger.JOB_QUEUED, id=f"r{number}", scope=scope)
        for number, scope in enumerate(scopes)
    ]
    life = queued(labels={"team": "nlp", "stage": "sft"})
    event, state = life.steps[-1]
    met = RuleSet(rules).for_job(state, tellings(event, state))
    assert [each.id for each in met] == ["r0", "r2", "r3", "r5", "r6", "r7"]
    heard = notices_for(event, state, life.facts[-1], life.at, met)
    assert [each.rule for each in heard] == ["r0", "r2", "r3", "r5", "r7"]
    assert [each.rule for each in told(life, rules)][-5:] == [each.rule for each in heard]
    assert (
        RuleSet(rules).for_job(state.model_copy(update={"tenant": "x"}), tellings(event, state))
        == []
    )
