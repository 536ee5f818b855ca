"""Shares, ceilings, lenders and borrowers, as a round sees them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain import facts as f
from muster.domain.causes import EvictionCause
from muster.domain.nodes import NodeState
from muster.domain.state import JobState
from muster.domain.tenants import BlocklistSet, QuotaSet, Share, TenantView
from muster.scheduler.core.explain import explain
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.worlds import (
    POOL,
    decisions,
    held,
    node,
    only,
    placements,
    preempted,
    queued,
    role,
    running,
    victims,
    world,
)

ONE = [node("n1"), node("n2")]


def shares(**tenants: Any) -> dict[str, TenantView]:
    """tenant=(guaranteed, ceiling) of A100, or a whole tuple of shares."""
    found = {}
    for tenant, value in tenants.items():
        if isinstance(value[0], Share):
            own = value
        else:
            own = (Share(pool=POOL, gpu_model="A100", guaranteed=value[0], ceiling=value[1]),)
        found[tenant] = TenantView(quota=QuotaSet(by="op", request="q", shares=own))
    return found


def seen(
    nodes: Iterable[NodeState], jobs: Iterable[JobState], tenants: dict[str, TenantView]
) -> Snapshot:
    return world(nodes, jobs, tenants=tenants)


def decided(
    nodes: Iterable[NodeState], jobs: Iterable[JobState], tenants: dict[str, TenantView]
) -> Plan:
    return plan(seen(nodes, jobs, tenants), Policy())


def verdict(made: Plan, job: str) -> Waiting:
    return next(v.why for (_, name), v in made.verdicts.items() if name == job)


def causes(made: Plan) -> dict[str, EvictionCause]:
    found = decisions(made)
    return {job: fact.cause for job, fact in found.items() if isinstance(fact, f.Preempted)}


# --- ceilings ----------------------------------------------------------------------------------


def test_nothing_is_held_above_a_ceiling() -> None:
    jobs = [running("r", ["n1"], tenant="a"), queued("q", tenant="a")]
    made = decided(ONE, jobs, shares(a=(0, 12)))
    assert placements(made) == {}
    assert verdict(made, "q") is Waiting.QUOTA
    why = explain(made.snapshot, ("a", "q"), Policy()).why.en
    assert "tenant a may hold 12 GPUs of A100: 8 are taken, this job asks for 8" in why


def test_a_ceiling_is_of_one_model() -> None:
    jobs = [running("r", ["n1"], tenant="a"), queued("q", tenant="a")]
    made = decided([node("n1"), node("n2", gpu_model="H100")], jobs, shares(a=(0, 12)))
    assert placements(made) == {"q": {"n2": ("worker-0",)}}


def test_of_several_models_those_with_room_below_the_ceiling_are_used() -> None:
    wanted = role(gpus=8, gpu_model="A100|H100")
    jobs = [queued("q", roles=(wanted,), tenant="a")]
    nodes = [node("n1"), node("n2", gpu_model="H100"), node("n3", gpu_model="V100")]
    made = decided(nodes, jobs, shares(a=(0, 4)))
    assert placements(made) == {"q": {"n2": ("worker-0",)}}


def test_idle_jobs_have_no_quota() -> None:
    made = decided(ONE, [queued("i", kind="idle", tenant="a")], shares(a=(0, 0)))
    assert set(placements(made)) == {"i"}
    running_idle = running("r", ["n1"], kind="idle", tenant="a")
    made = decided(ONE, [running_idle, queued("q", tenant="a")], shares(a=(0, 8)))
    assert placements(made) == {"q": {"n2": ("worker-0",)}}


def test_a_tenant_without_a_recorded_share_has_no_limits() -> None:
    jobs = [queued("q", 2, tenant="x"), queued("g", guarantee=True, tenant="x")]
    made = decided([*ONE, node("n3")], jobs, shares(a=(8, 8)))
    assert set(placements(made)) == {"q", "g"}


def test_a_share_of_another_pool_is_no_limit_here() -> None:
    other = (Share(pool="other", gpu_model="A100", ceiling=0),)
    assert set(placements(decided(ONE, [queued("q", tenant="a")], shares(a=other)))) == {"q"}


def test_workers_that_share_cards_count_by_thousandths() -> None:
    def half(name: str) -> JobState:
        return queued(name, roles=(role(gpus=0, gpu_milli=500),), tenant="a")

    made = decided(ONE, [half("x"), half("y"), half("z")], shares(a=(0, 1)))
    assert set(placements(made)) == {"x", "y"}


def test_the_victim_does_not_count_for_its_own_successor() -> None:
    """A tenant at its ceiling: the higher of its jobs takes the place of the lower."""
    jobs = [
        running("v", ["n1"], priority=20, tenant="a"),
        queued("h", priority=80, tenant="a"),
    ]
    made = decided([node("n1")], jobs, shares(a=(8, 8)))
    assert victims(made) == {"v"}
    assert set(placements(made)) == {"h"}


def test_a_higher_job_evicts_below_the_ceiling_even_if_another_node_is_free() -> None:
    jobs = [
        running("v", ["n1"], priority=20, tenant="a"),
        queued("h", priority=80, tenant="a"),
    ]
    assert victims(decided(ONE, jobs, shares(a=(8, 8)))) == {"v"}


def test_one_that_leaves_counts_until_it_is_gone_and_is_waited_for() -> None:
    leaving = preempted(running("v", ["n1"], tenant="a"))
    made = decided(ONE, [leaving, queued("q", tenant="a")], shares(a=(8, 8)))
    found = decisions(made)["q"]
    assert isinstance(found, f.Scheduled)
    assert [wait.job for wait in found.waits_for] == ["v"]


def test_a_placement_and_the_victim_that_it_waits_for_are_counted_once() -> None:
    leaving = preempted(running("v", ["n1"], tenant="a"))
    paper = held(queued("p", tenant="a"), ["n1"], waits=[leaving], when=-5)
    jobs = [leaving, paper, queued("q", tenant="a")]
    assert set(placements(decided(ONE, jobs, shares(a=(16, 16))))) == {"q"}
    assert verdict(decided(ONE, jobs, shares(a=(8, 8))), "q") is Waiting.QUOTA


def test_a_victim_for_the_share_and_one_for_the_node_leave_together_or_not_at_all() -> None:
    def jobs(priority: int) -> list[JobState]:
        return [
            running("q", ["n1"], priority=20, tenant="a"),
            running("x", ["n2"], priority=priority, tenant="b"),
            queued("h", priority=80, tenant="a", node_policy=only("n2")),
        ]

    both = shares(a=(8, 8), b=(8, 8))
    made = decided(ONE, jobs(20), both)
    assert victims(made) == {"q", "x"}
    assert placements(made) == {"h": {"n2": ("worker-0",)}}
    assert decided(ONE, jobs(90), both).moves == ()


def test_what_runs_above_a_ceiling_that_was_cut_is_counted_and_stays() -> None:
    made = decided(
        [*ONE, node("n3")],
        [running("r", ["n1", "n2"], tenant="a"), queued("q", tenant="a"), queued("o", tenant="b")],
        shares(a=(0, 8)),
    )
    assert placements(made) == {"o": {"n3": ("worker-0",)}}
    assert verdict(made, "q") is Waiting.QUOTA


# --- guarantees --------------------------------------------------------------------------------


def test_guaranteed_jobs_only_inside_the_share() -> None:
    jobs = [
        running("g1", ["n1"], guarantee=True, tenant="a"),
        queued("g2", guarantee=True, tenant="a"),
    ]
    made = decided(ONE, jobs, shares(a=(12, None)))
    assert verdict(made, "g2") is Waiting.QUOTA
    why = explain(made.snapshot, ("a", "g2"), Policy()).why
    assert "guaranteed share of tenant a is 12 GPUs of A100: 8 are taken" in why.en
    assert "保障份额为 12 个 GPU" in why.zh
    assert set(placements(decided(ONE, jobs, shares(a=(16, None))))) == {"g2"}


def test_a_guaranteed_job_takes_the_place_of_an_ordinary_one_of_its_own_tenant() -> None:
    jobs = [
        running("o", ["n1"], priority=90, tenant="a"),
        running("b", ["n2"], priority=10, tenant="b"),
        queued("g", priority=10, guarantee=True, tenant="a"),
    ]
    made = decided(ONE, jobs, shares(a=(8, None), b=(8, None)))
    assert causes(made) == {"o": EvictionCause.QUOTA_RECLAIM}


# --- lenders and borrowers ---------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", [True, False], ids=["guaranteed", "ordinary"])
@pytest.mark.parametrize("borrower", ["b", "unknown"])
def test_the_owner_takes_back_what_is_borrowed_whatever_its_priority(
    guarantee: bool, borrower: str
) -> None:
    jobs = [
        running("v", ["n1"], priority=90, tenant=borrower),
        queued("q", priority=10, guarantee=guarantee, tenant="a"),
    ]
    made = decided([node("n1")], jobs, shares(a=(8, 8), b=(0, 16)))
    assert causes(made) == {"v": EvictionCause.QUOTA_RECLAIM}
    assert set(placements(made)) == {"q"}


def test_exactly_one_leaves_for_the_share_of_the_other_and_nobody_comes_back() -> None:
    nodes = [node(f"n{i}", gpus=1) for i in range(1, 6)]
    mine = [running(f"a{i}", [f"n{i}"], gpus=1, tenant="a") for i in range(1, 5)]
    theirs = [running("b0", ["n5"], gpus=1, tenant="b")]
    waiting = [queued(f"b{i}", gpus=1, tenant="b") for i in range(1, 5)]
    both = shares(a=(3, 5), b=(2, 5))
    made = decided(nodes, [*mine, *theirs, *waiting], both)
    assert len(victims(made)) == 1
    assert len(placements(made)) == 1
    (gone,) = victims(made)
    b1 = next(iter(placements(made)))
    place = next(iter(placements(made)[b1]))
    left = [job for job in [*mine, *theirs] if job.job != gone]
    came = running(b1, [place], gpus=1, tenant="b")
    again = queued(gone, gpus=1, tenant="a")
    rest = [job for job in waiting if job.job != b1]
    assert decided(nodes, [*left, came, again, *rest], both).moves == ()


def test_who_stays_within_a_share_is_not_evicted_by_one_who_would_borrow() -> None:
    jobs = [
        running("v", ["n1"], priority=10, tenant="b"),
        queued("q", priority=90, tenant="a"),
    ]
    assert decided([node("n1")], jobs, shares(a=(0, 8), b=(8, 8))).moves == ()
    assert victims(decided([node("n1")], jobs, shares(a=(8, 8), b=(8, 8)))) == {"v"}


def test_spot_and_idle_jobs_own_no_part_of_a_share() -> None:
    jobs = [running("v", ["n1"], kind="spot", tenant="b"), queued("q", tenant="a")]
    assert victims(decided([node("n1")], jobs, shares(a=(0, 8), b=(8, 8)))) == {"v"}
    jobs = [running("v", ["n1"], tenant="b"), queued("q", kind="spot", tenant="a")]
    assert decided([node("n1")], jobs, shares(a=(8, 8))).moves == ()


def test_no_more_is_taken_than_is_borrowed() -> None:
    """Both borrow: b has 1 too many, c has 3. The owner wants 4."""
    nodes = [node(f"n{i}", gpus=1) for i in range(8)]
    jobs = [running(f"b{i}", [f"n{i}"], gpus=1, tenant="b", since=-10) for i in range(4)]
    jobs += [running(f"c{i}", [f"n{i + 4}"], gpus=1, tenant="c", since=-900) for i in range(4)]
    made = decided(
        nodes, [*jobs, queued("q", 4, 1, tenant="a")], shares(a=(4, 4), b=(3, 8), c=(1, 8))
    )
    gone = victims(made)
    assert (sum(job[0] == "b" for job in gone), sum(job[0] == "c" for job in gone)) == (1, 3)


def test_the_owner_comes_before_a_borrower_of_higher_priority() -> None:
    jobs = [
        running("a1", ["n2"], priority=60, tenant="a"),
        queued("a2", priority=60, tenant="a"),
        queued("b1", priority=40, tenant="b"),
    ]
    made = decided(ONE, jobs, shares(a=(8, 16), b=(8, 16)))
    assert set(placements(made)) == {"b1"}
    assert verdict(made, "a2") is Waiting.NO_ROOM
    unknown = decided(ONE, [*jobs[:2], queued("b1", priority=40, tenant="x")], shares(a=(8, 16)))
    assert set(placements(unknown)) == {"a2"}  # both would borrow


def test_of_an_owners_jobs_only_those_come_first_that_its_share_holds() -> None:
    jobs = [queued(f"b{i}", priority=40, entered=i - 9, tenant="b") for i in range(2)]
    jobs.append(queued("a", priority=50, tenant="a"))
    snapshot = seen([*ONE, node("n3")], jobs, shares(a=(0, 24), b=(8, 24)))
    jobs_ahead = [plan(snapshot, Policy()).verdicts.ahead((n[0], n)) for n in ("b0", "a", "b1")]
    assert jobs_ahead == [0, 1, 2]


# --- block lists -------------------------------------------------------------------------------


def blocked(**lists: Any) -> dict[str, TenantView]:
    return {"t": TenantView(blocklist=BlocklistSet(by="op", request="b", **lists))}


def test_blocked_nodes_are_not_used_and_are_named() -> None:
    made = decided([node("n1")], [queued("q")], blocked(nodes={POOL: ("n1",)}))
    assert verdict(made, "q") is Waiting.NODES_SHUT
    why = explain(made.snapshot, ("t", "q"), Policy()).nodes
    assert [each.en for each in why] == ["n1: on the block list of the job's tenant or user"]


def test_a_users_list_is_that_users_alone() -> None:
    lists = blocked(users={"u": {POOL: ("n1",)}})
    assert placements(decided(ONE, [queued("q")], lists)) == {"q": {"n2": ("worker-0",)}}
    other = queued("q").model_copy(update={"user": "w"})
    made = decided([node("n1")], [queued("first"), other], lists)
    assert set(placements(made)) == {"q"}


def test_nobody_is_evicted_from_a_blocked_node_and_who_runs_there_stays() -> None:
    jobs = [running("v", ["n1"], priority=10), queued("h", priority=90)]
    assert decided([node("n1")], jobs, blocked(nodes={POOL: ("n1",)})).moves == ()


# --- several models ----------------------------------------------------------------------------

MIXED = [node("a"), node("h", gpu_model="H100")]


def both(guaranteed: int, ceiling: int | None) -> dict[str, TenantView]:
    models = ("A100", "H100")
    own = (Share(pool=POOL, gpu_model=m, guaranteed=guaranteed, ceiling=ceiling) for m in models)
    return shares(a=tuple(own))


@pytest.mark.parametrize("model", [None, "A100|H100"])
@pytest.mark.parametrize("guarantee", [False, True])
def test_a_gang_is_within_its_share_of_each_model(model: str | None, guarantee: bool) -> None:
    wanted = role(replicas=2, gpus=4, gpu_model=model)
    jobs = [queued("q", roles=(wanted,), tenant="a", guarantee=guarantee)]
    made = decided(MIXED, jobs, both(4, 4))
    assert placements(made) == {"q": {"a": ("worker-0",), "h": ("worker-1",)}}
    assert verdict(decided(MIXED, jobs, both(3, 3)), "q") is Waiting.QUOTA


def test_what_the_tenant_has_counts_for_the_parts_of_a_gang() -> None:
    jobs = [running("r", ["a"], gpus=4, tenant="a"), queued("q", 3, 4, tenant="a")]
    made = decided([*MIXED, node("a2")], jobs, both(0, 8))
    assert set(placements(made)["q"]) == {"a", "h"}
    jobs.append(queued("late", 2, 4, entered=-50, tenant="a"))
    assert verdict(decided([*MIXED, node("a2")], jobs, both(0, 8)), "late") is Waiting.QUOTA


def test_only_the_pool_keeps_a_gang_out_that_is_within_its_share_of_each() -> None:
    jobs = [running("r", ["h"], tenant="x"), queued("q", 2, 4, tenant="a")]
    full = decided(MIXED, jobs, both(0, 4))
    assert verdict(full, "q") is Waiting.QUOTA  # the A100 are free, and would hold it
    jobs.append(running("s", ["a"], gpus=5, tenant="x"))
    assert verdict(decided(MIXED, jobs, both(0, 4)), "q") is Waiting.NO_ROOM


def test_roles_of_several_sizes_share_what_may_be_had() -> None:
    roles = (role("big", gpus=4), role("small", replicas=2, gpus=2))
    made = decided(MIXED, [queued("q", roles=roles, tenant="a")], both(0, 4))
    assert set(placements(made)["q"]) == {"a", "h"}


def test_an_owner_takes_back_of_each_model_what_its_share_holds() -> None:
    jobs = [
        running("b1", ["a"], tenant="b", priority=90),
        running("b2", ["h"], tenant="b", priority=90),
        queued("q", 2, 8, tenant="a", priority=10),
    ]
    tenants = both(8, None) | shares(b=(0, None))
    assert causes(decided(MIXED, jobs, tenants)) == {
        "b1": EvictionCause.QUOTA_RECLAIM,
        "b2": EvictionCause.QUOTA_RECLAIM,
    }
    assert decided(MIXED, jobs, both(7, None) | shares(b=(0, None))).moves == ()


limit = st.one_of(st.none(), st.integers(min_value=0, max_value=20))
amounts = st.tuples(st.integers(min_value=0, max_value=16), limit)
wishes = st.tuples(
    st.integers(min_value=1, max_value=5),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([None, "A100", "A100|H100", "A100|H100|L40"]),
    st.booleans(),
    st.sampled_from([10, 50, 90]),
)
MODELS = ("A100", "H100", "L40")


def several(each: Iterable[tuple[int, int | None]]) -> tuple[Share, ...]:
    return tuple(
        Share(
            pool=POOL,
            gpu_model=model,
            guaranteed=guaranteed if ceiling is None else min(guaranteed, ceiling),
            ceiling=ceiling,
        )
        for model, (guaranteed, ceiling) in zip(MODELS, each, strict=True)
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(MODELS), min_size=1, max_size=6),
    st.tuples(*[amounts] * 3),
    st.tuples(*[amounts] * 3),
    st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), wishes), min_size=1, max_size=8),
    st.integers(min_value=0, max_value=5),
)
def test_no_gang_on_several_models_is_above_a_ceiling_or_a_share(
    models: list[str],
    one: tuple[tuple[int, int | None], ...],
    two: tuple[tuple[int, int | None], ...],
    wanted: list[tuple[str, Any]],
    there: int,
) -> None:
    nodes = [node(f"n{i}", gpu_model=model) for i, model in enumerate(models)]
    tenants = shares(a=several(one), b=several(two))
    jobs: dict[str, JobState] = {}
    for i in range(min(there, len(nodes))):
        owner = "abc"[i % 3]
        jobs[f"r{i}"] = running(f"r{i}", [f"n{i}"], gpus=4 + i % 5, tenant=owner, priority=30)
    for i, (tenant, (workers, gpus, model, guarantee, priority)) in enumerate(wanted):
        own = role(replicas=workers, gpus=gpus, gpu_model=model)
        jobs[f"q{i}"] = queued(
            f"q{i}", roles=(own,), tenant=tenant, guarantee=guarantee, priority=priority
        )
    made = decided(nodes, jobs.values(), tenants)
    placed, model_of = placements(made), {n.node: n.shape.gpu_model for n in nodes}
    gone = {
        wait.job
        for fact in decisions(made).values()
        if isinstance(fact, f.Scheduled)
        for wait in fact.waits_for
    }
    has = {name: placed.get(name) or state.held for name, state in jobs.items() if name not in gone}

    def used(tenant: str, model: str, *, sure: bool) -> int:
        return sum(
            jobs[name].demand.roles[0].gpus * len(workers)
            for name, held_by in has.items()
            if jobs[name].tenant == tenant and (jobs[name].demand.guarantee or not sure)
            for where, workers in held_by.items()
            if model_of[where] == model
        )

    for name, where in placed.items():
        state = jobs[name]
        for model in {model_of[each] for each in where}:
            share = tenants[state.tenant].shares_of(POOL)[model] if state.tenant != "c" else None
            if share is None:
                continue
            if share.ceiling is not None:
                assert used(state.tenant, model, sure=False) <= share.ceiling
            if state.demand.guarantee:
                assert used(state.tenant, model, sure=True) <= share.guaranteed


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(MODELS), min_size=1, max_size=6),
    st.tuples(*[amounts] * 3),
    wishes,
)
def test_a_gang_comes_in_wherever_room_and_share_hold_it(
    models: list[str], each: tuple[tuple[int, int | None], ...], wish: Any
) -> None:
    workers, gpus, wanted, guarantee, _ = wish
    nodes = [node(f"n{i}", gpu_model=model) for i, model in enumerate(models)]
    own = role(replicas=workers, gpus=gpus, gpu_model=wanted)
    state = queued("q", roles=(own,), tenant="a", guarantee=guarantee)
    made = decided(nodes, [state], shares(a=several(each)))
    room = may = 0
    for share in several(each):
        if wanted is not None and share.gpu_model not in wanted.split("|"):
            continue
        fits = models.count(share.gpu_model) * (8 // gpus)
        limits = [share.guaranteed] if guarantee else []
        limits += [] if share.ceiling is None else [share.ceiling]
        room += fits
        may += min([fits, *(limit // gpus for limit in limits)])
    if may >= workers:
        assert set(placements(made)) == {"q"}
    elif room >= workers:
        assert verdict(made, "q") is Waiting.QUOTA
