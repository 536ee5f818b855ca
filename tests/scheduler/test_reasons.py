"""Every job that does not run has a reason: one for each phase, verdict and guard, as data."""

from __future__ import annotations

from typing import Any

import pytest

from muster.domain.demand import Locality, LocalityMode
from muster.domain.nodes import NodeState
from muster.domain.phases import TERMINAL, Phase
from muster.domain.pools import DemandHistory, SpotQuotaMeasured, SpotQuotaRow
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.tenants import QuotaSet, Share, SpotSet, TenantView
from muster.domain.waiting import Explanation, HelpKind, Tier, Why, WhyCode
from muster.domain.waiting_words import KINDS, WORDS, in_general, steady, why
from muster.scheduler.core.explain import explain, explain_state
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Order, Policy, SpotQuota
from muster.scheduler.core.snapshot import Eviction, Snapshot
from muster.scheduler.core.verdicts import Waiting
from muster.scheduler.cycle.summary import summarise
from tests.scheduler.worlds import (
    NOW,
    EvictionCause,
    at,
    held,
    launched,
    node,
    only,
    preempted,
    queued,
    running,
    world,
)

ONE = [node("n1")]
FULL = running("k", ["n1"], gpus=6, guarantee=True)
LOW = running("low", ["n1"], priority=10)
QUOTA = QuotaSet(
    by="ops", request="r", shares=(Share(pool="default", gpu_model="A100", ceiling=8),)
)
QUOTED = SpotQuotaMeasured(
    at=NOW,
    upto=NOW,
    rows=(
        SpotQuotaRow(
            gpu_model="A100",
            capacity=8,
            demand=2,
            forecast=3,
            held=0,
            quota=5,
            eta=1,
            evicted=0,
            kept=0,
            history=DemandHistory(hour=0, peak=2),
        ),
    ),
)
NEAR = Locality(mode=LocalityMode.REQUIRED, level="node")


def placed(name: str = "q") -> JobState:
    """A job that waits for a victim of its."""
    victim = preempted(running("v", ["n1"]), when=-5)
    return held(queued(name, priority=80), ["n1"], waits=[victim], when=-5)


def evicted() -> tuple[Eviction, ...]:
    return (Eviction(at(-5), ("t", "x"), "y", EvictionCause.PRIORITY),)


CASES: dict[WhyCode, tuple[Snapshot, Policy]] = {
    WhyCode.NO_ROOM: (world(ONE, [FULL, queued("q")]), Policy()),
    WhyCode.NEVER_FITS: (world(ONE, [queued("q", gpus=9)]), Policy()),
    WhyCode.NO_DOMAIN: (
        world(
            [node("n1"), node("n2")],
            [FULL, running("l", ["n2"], gpus=6, guarantee=True), queued("q", 2, 2, locality=NEAR)],
        ),
        Policy(),
    ),
    WhyCode.NODES_ABSENT: (world(ONE, [queued("q", node_policy=only("n9"))]), Policy()),
    WhyCode.NODES_SHUT: (world([node("n1", cordoned=True)], [queued("q")]), Policy()),
    WhyCode.NO_NODES: (world([], [queued("q")]), Policy()),
    WhyCode.NOT_BEFORE: (world(ONE, [queued("q", not_before=at(9))]), Policy()),
    WhyCode.SET_ASIDE: (world(ONE, [queued("q")], set_aside=frozenset({("t", "q")})), Policy()),
    WhyCode.QUOTA: (
        world(
            [node("n1"), node("n2")],
            [running("k", ["n1"]), queued("q")],
            tenants={"t": TenantView(QUOTA)},
        ),
        Policy(),
    ),
    WhyCode.SPOT_DISABLED: (
        world(
            [node("n1", spot=True)],
            [queued("q", kind="spot")],
            tenants={"t": TenantView(spot=SpotSet(by="op", request="s", enabled=False))},
        ),
        Policy(),
    ),
    WhyCode.STOCK: (
        world(
            [node("n1", spot=True)],
            [queued("q", kind="spot")],
            stock=(StockChanged(pool="default", zone="default", gpu_model="A100", gpus=4),),
        ),
        Policy(),
    ),
    WhyCode.SPOT_QUOTA: (
        world(ONE, [queued("q", kind="spot")], spot_quota=QUOTED),
        Policy(spot_quota=SpotQuota.FORECAST),
    ),
    WhyCode.BEHIND: (
        world(
            ONE,
            [queued("p", 2, 8, entered=-200), FULL, queued("o", entered=-150), queued("q", gpus=1)],
        ),
        Policy(order=Order.FIFO),
    ),
    WhyCode.RESERVED: (
        world(
            [node("n1"), node("n2")],
            [
                running("k", ["n1"], max_runtime_s=3600, auto=False),
                queued("p", 2, 8, entered=-1000, auto=False),
                queued("q"),
            ],
        ),
        Policy(reserve_after_s=600),
    ),
    WhyCode.EVICTION_LIMIT: (
        world(ONE, [LOW, queued("q", priority=90)], evictions=evicted()),
        Policy(max_evictions_per_minute=1),
    ),
    WhyCode.FITS_NOW: (world(ONE, [queued("q")]), Policy()),
    WhyCode.NOT_REACHED: (
        world(ONE, [queued("p", gpus=1, entered=-200), queued("q", gpus=1)]),
        Policy(max_decisions=1),
    ),
    WhyCode.DECLINED: (world(ONE, [FULL, queued("q", kind="spot", auto=False)]), Policy()),
    WhyCode.VICTIMS: (world(ONE, [preempted(running("v", ["n1"]), when=-5), placed()]), Policy()),
    WhyCode.LAUNCH: (world(ONE, [launched(held(queued("q"), ["n1"]))]), Policy()),
    WhyCode.RUNNING: (world(ONE, [running("q", ["n1"])]), Policy()),
    WhyCode.EVICTING: (world(ONE, [preempted(running("q", ["n1"]))]), Policy()),
}
"""One pool for each reason that a job `q` in it has."""

BY_PHASE = {
    WhyCode.SUBMITTED,
    WhyCode.REJECTED,
    WhyCode.NO_ROUND,
    WhyCode.INTERRUPTED,
    WhyCode.FAULTED,
    WhyCode.STOPPING,
    WhyCode.DEBUG_HOLDING,
    WhyCode.ABNORMAL,
    WhyCode.STOPPED,
    WhyCode.SUCCEEDED,
    WhyCode.FAILED,
}
"""Said of a job by its phase alone."""


def whole(found: Explanation) -> None:
    """Check that an explanation says something to everybody."""
    assert found.helps
    spoken = [(found.why.en, found.why.zh)]
    spoken += [(each.en, each.zh) for each in found.helps]
    spoken += [(each.en, each.zh) for each in found.nodes]
    for english, chinese in spoken:
        assert english
        assert chinese
        assert english != chinese
        assert "{" not in english + chinese


@pytest.mark.parametrize("code", list(CASES))
def test_each_reason_has_its_case(code: WhyCode) -> None:
    snapshot, policy = CASES[code]
    found = explain(snapshot, ("t", "q"), policy)
    assert found.why.code == code
    assert found.why.tier is WORDS[code].tier
    whole(found)
    assert explain(snapshot, ("t", "q"), policy) == found


@pytest.mark.parametrize("phase", list(Phase))
def test_there_is_a_reason_in_every_phase(phase: Phase) -> None:
    state = queued("q").model_copy(update={"phase": phase})
    found = explain_state(state, NOW)
    whole(found)
    assert found.why.code in BY_PHASE | CASES.keys()
    assert phase not in TERMINAL or found.why.tier is Tier.JOB


def test_every_code_is_said_by_somebody_and_every_verdict_has_words() -> None:
    assert {verdict.value for verdict in Waiting} <= {code.value for code in WORDS}
    assert WORDS.keys() == set(WhyCode)
    assert set(WhyCode) == CASES.keys() | BY_PHASE | {WhyCode.SUPPOSED_GONE}  # by what-ifs alone
    for code in WhyCode:
        assert in_general(code).en


NUMBERS: dict[str, Any] = {
    "need": 2,
    "fits": 1,
    "spec": "8 GPU",
    "role": "worker",
    "level": "zone",
    "domain": "z1",
    "since": "then",
    "until": "later",
    "tenant": "t",
    "limit": 8,
    "model": "A100",
    "used": 3,
    "asked": 4,
    "zone": "z1",
    "offered": 4,
    "quota": 4,
    "capacity": 9,
    "forecast": 5,
    "at": "then",
    "nodes": "n1",
    "by": "j",
    "jobs": "j",
    "cause": "priority",
    "why": "because",
    "why_zh": "因为",
}


@pytest.mark.parametrize("key", [*((code, "") for code in WORDS), *KINDS])
def test_what_is_kept_of_a_reason_does_not_change_with_what_changes(
    key: tuple[WhyCode, str],
) -> None:
    code, kind = key
    one = why(code, **NUMBERS | {"kind": kind})
    other = why(
        code,
        **NUMBERS
        | {"kind": kind, "fits": 0, "domain": "z2", "used": 5, "until": "soon", "quota": 3},
    )
    if WORDS[code].steady:
        assert one != other
        assert steady(one) == steady(other)
    assert "{" not in steady(one).en + steady(one).zh


# --- what would help -----------------------------------------------------------------------------


def helps(snapshot: Snapshot, policy: Policy | None = None) -> dict[str, Any]:
    found = explain(snapshot, ("t", "q"), policy or Policy())
    return {help_.kind: help_ for help_ in found.helps}


def test_a_victim_that_is_spared_for_now_is_named_with_the_instant() -> None:
    young = running("young", ["n1"], since=-40, priority=10)
    snapshot = world(ONE, [young, queued("q", priority=90)])
    found = helps(snapshot, Policy(min_run_s=100))[HelpKind.GUARD_ENDS]
    assert found.at == at(60)
    assert found.proven
    assert "young" in found.en
    assert "2030-01-01 00:01:00" in found.en
    later = plan(world(ONE, [young, queued("q", priority=90)], now=60), Policy(min_run_s=100))
    assert later.scheduled == 1


def test_a_limit_of_evictions_ends_by_itself() -> None:
    snapshot, policy = CASES[WhyCode.EVICTION_LIMIT]
    assert helps(snapshot, policy)[HelpKind.GUARD_ENDS].at == at(55)


def test_the_lowest_priority_that_is_enough_is_named_with_the_victims() -> None:
    snapshot = world(ONE, [running("r", ["n1"], priority=50), queued("q", priority=50)])
    found = helps(snapshot)[HelpKind.PRIORITY]
    assert (found.numbers["priority"], found.numbers["count"]) == (90, 1)
    assert "r" in found.en


def test_what_would_not_help_is_not_named() -> None:
    found = helps(world(ONE, [FULL, queued("q", gpus=7)]))
    assert found.keys() == {HelpKind.ROOM}


def test_closed_nodes_are_named_if_opening_them_is_enough() -> None:
    nodes = [node("n1"), node("n2", cordoned=True), node("n3", gpus=1, cordoned=True)]
    found = helps(world(nodes, [FULL, queued("q")]))[HelpKind.OPEN_NODES]
    assert found.numbers["nodes"] == "n2"


def test_a_node_policy_and_a_locality_that_are_in_the_way_are_named() -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    narrow = queued("q", node_policy=only("n1"))
    assert HelpKind.NODE_POLICY in helps(world(nodes, [FULL, narrow]))
    near = queued("q", workers=2, locality=NEAR)
    assert HelpKind.LOCALITY in helps(world(nodes, [FULL, near]))


def test_what_was_not_tried_any_more_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.scheduler.core.remedies.TRIALS", 1)
    nodes = [node("n1"), node("n2", gpus=1, cordoned=True)]
    found = helps(world(nodes, [FULL, queued("q")]))
    assert "nothing further was tried" in found[HelpKind.GENERAL].en
    assert HelpKind.PRIORITY not in found


def test_a_locality_by_a_label_that_no_node_has_is_told_as_such() -> None:
    def told(level: str, *nodes: NodeState) -> Why:
        wanted = Locality(mode=LocalityMode.REQUIRED, level=level)
        return explain(world(nodes, [queued("q", 2, 8, locality=wanted)]), ("t", "q"), Policy()).why

    racks = [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})]
    typo = told("rakc", *racks)
    assert typo.code == WhyCode.NEVER_FITS
    assert "no node of the pool has the label rakc" in typo.en
    assert "没有节点带有标签 rakc" in typo.zh
    for level in ("rack", "node"):
        assert "no node of the pool" not in told(level, *racks).en


# --- what is kept ---------------------------------------------------------------------------------


def test_a_round_that_did_not_get_to_a_job_keeps_what_the_last_one_said() -> None:
    jobs = [FULL, queued("q", gpus=8)]
    told = summarise(plan(world(ONE, jobs), Policy()))
    assert told.queue[0].code == "NO_ROOM"
    snapshot = world(ONE, [*jobs, queued("p", gpus=1, entered=-500, priority=60)])
    cut = plan(snapshot, Policy(max_decisions=1))
    assert [v.why for v in cut.verdicts.values()] == [Waiting.NOT_REACHED]
    assert [one.code for one in summarise(cut).queue] == ["NOT_REACHED"]
    assert [one.code for one in summarise(cut, told).queue] == ["NO_ROOM"]


def test_the_same_pool_is_told_of_in_the_same_words() -> None:
    jobs = [FULL, queued("q"), queued("r", gpus=9)]
    first = summarise(plan(world(ONE, jobs), Policy()))
    assert summarise(plan(world(ONE, jobs, now=400), Policy()), first) == first
