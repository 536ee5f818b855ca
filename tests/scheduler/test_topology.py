"""Gangs are kept together: on one node, in one switch, in one zone, as near as they fit."""

from __future__ import annotations

import time
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.demand import Locality, LocalityMode
from muster.domain.nodes import NodeState
from muster.scheduler.core.amounts import of_shape, room
from muster.scheduler.core.explain import explain_by
from muster.scheduler.core.placement import How, Placed, Shortfall, how_for, place
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rooms import Site, Sites, domain_of, gathered
from muster.scheduler.core.scoring import Market, taste
from muster.scheduler.core.verdicts import Plan, Waiting
from tests.scheduler.worlds import demand, node, placements, queued, role, running, world

LEVELS = ("zone", "switch")


def at(name: str, zone: str, switch: str | None, gpus: int = 8, **more: Any) -> NodeState:
    """A node below a switch in a zone."""
    labels = {"switch": switch} if switch is not None else {}
    return node(name, gpus=gpus, zone=zone, labels=labels, **more)


def near(level: str, mode: str = "required") -> Locality:
    """Make a wish."""
    return Locality(mode=LocalityMode(mode), level=level)


def decide(nodes: list[NodeState], jobs: list[Any], levels: tuple[str, ...] = LEVELS) -> Plan:
    """Plan a round in a pool with these levels."""
    return plan(world(nodes, jobs), Policy(levels=levels))


POOL = [
    at("a1", "a", "s1"),
    at("a2", "a", "s1"),
    at("a3", "a", "s2"),
    at("b1", "b", "s1"),
    at("b2", "b", "s2"),
    at("b3", "b", "s2"),
    at("b4", "b", "s2"),
]


def test_a_gang_goes_to_the_finest_domain_that_holds_it_and_of_these_to_the_tightest() -> None:
    cases = {
        1: {"a1"},
        2: {"a1", "a2"},
        3: {"b2", "b3", "b4"},
        4: {"b1", "b2", "b3", "b4"},
        5: None,
    }
    for workers, expected in cases.items():
        found = set(placements(decide(POOL, [queued("g", workers=workers)]))["g"])
        assert found == expected or (expected is None and len(found) == workers)


def test_the_same_name_below_another_zone_is_another_switch() -> None:
    nodes = [at("a1", "a", "s1"), at("b1", "b", "s1")]
    made = decide(nodes, [queued("g", workers=2, locality=near("switch"))])
    assert placements(made) == {}


@pytest.mark.parametrize(
    ("level", "workers", "fits"),
    [
        ("node", 1, True),
        ("node", 2, False),
        ("switch", 3, True),
        ("switch", 4, False),
        ("zone", 4, True),
        ("zone", 5, False),
        ("rack", 2, False),
    ],
)
def test_a_required_level_is_kept_or_waited_for(level: str, workers: int, fits: bool) -> None:
    made = decide(POOL, [queued("g", workers=workers, locality=near(level))])
    assert bool(placements(made)) is fits


def test_a_level_that_the_pool_does_not_list_is_a_label_all_the_same() -> None:
    nodes = [node(f"n{i}", labels={"rack": f"r{i // 2}"}) for i in range(4)]
    made = decide(nodes, [queued("g", workers=2, locality=near("rack"))], levels=())
    assert set(placements(made)["g"]) in ({"n0", "n1"}, {"n2", "n3"})
    wished = queued("g", workers=2, locality=near("rack", "preferred"))
    assert set(placements(decide(nodes, [wished], levels=()))["g"]) in ({"n0", "n1"}, {"n2", "n3"})


def test_a_wish_is_no_condition() -> None:
    made = decide(POOL, [queued("g", workers=7, locality=near("node", "preferred"))])
    assert set(placements(made)["g"]) == {one.node for one in POOL}


def test_who_waits_for_a_domain_is_told_what_the_best_one_holds() -> None:
    taken = running("f", ["b4"], guarantee=True)
    job = queued("g", workers=3, locality=near("switch"))
    made = decide(POOL, [taken, job])
    verdict = made.verdicts["t", "g"]
    assert verdict.why is Waiting.NO_DOMAIN
    assert verdict.short is not None
    assert (verdict.short.level, verdict.short.fits, verdict.short.need) == ("switch", 2, 3)
    told = explain_by(made, ("t", "g")).why
    assert "switch" in told.en
    assert "2" in told.en
    assert "switch" in told.zh


def test_who_never_fits_into_a_domain_is_told_so() -> None:
    made = decide(POOL, [queued("g", workers=4, locality=near("switch"))])
    assert made.verdicts["t", "g"].why is Waiting.NEVER_FITS


def test_victims_leave_the_domain_that_is_required() -> None:
    low = [running(f"f{n.node}", [n.node], kind="spot") for n in POOL]
    made = decide(POOL, [*low, queued("g", workers=2, priority=90, locality=near("switch"))])
    (where,) = placements(made).values()
    assert len({domain_of(n.node, n.shape, LEVELS) for n in POOL if n.node in where}) == 1


def test_head_and_workers_stay_together() -> None:
    nodes = [
        at("a1", "a", "s1", cpus=16),
        at("a2", "a", "s2", cpus=64),
        at("a3", "a", "s2", cpus=16),
    ]
    roles = (role("head", gpus=0, cpus=8), role("worker", 2, gpus=8, cpus=16))
    made = decide(nodes, [queued("ray", roles=roles, locality=near("switch"))])
    assert set(placements(made)["ray"]) == {"a2", "a3"}
    one = (role("head", gpus=0, cpus=8), role("worker", 2, gpus=4, cpus=16))
    assert set(placements(decide(nodes, [queued("ray", roles=one)]))["ray"]) == {"a2"}


# --- properties ----------------------------------------------------------------------------------


def sites_of(nodes: list[NodeState]) -> Sites:
    """Make sites of empty nodes."""
    return gathered(Site(n.node, n.shape, room(of_shape(n.shape))) for n in nodes)


@settings(max_examples=200, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_locality_is_honoured_and_never_worse_than_necessary(seed: int) -> None:
    dice = Random(seed)
    nodes = [
        at(
            f"n{i}",
            dice.choice("ab"),
            dice.choice(["s1", "s2", "s3", None]),
            gpus=dice.randint(0, 3),
            cpus=8,
        )
        for i in range(dice.randint(1, 9))
    ]
    asked = (role(replicas=dice.randint(1, 6), gpus=dice.randint(1, 2), cpus=1),)
    chosen = taste(dice.choice(["default", "first_fit"]), Market())
    sites = sites_of(nodes)
    depth = _needed_depth(nodes, asked[0])
    found = place(asked, sites, how=how_for(demand(), chosen, LEVELS))
    anywhere = place(asked, sites, how=How(chosen))
    assert isinstance(found, Shortfall) == isinstance(anywhere, Shortfall) == (depth is None)
    if isinstance(found, Placed):
        assert _depth(nodes, set(found)) == depth
    for level, least in (("node", 3), ("switch", 2), ("zone", 1)):
        how = how_for(demand(locality=near(level)), chosen, LEVELS)
        kept = place(asked, sites, how=how)
        assert isinstance(kept, Placed) == (depth is not None and depth >= least)
        if isinstance(kept, Placed):
            assert _depth(nodes, set(kept)) == depth


def _domains(nodes: list[NodeState], depth: int) -> dict[Any, list[NodeState]]:
    found: dict[Any, list[NodeState]] = {}
    for one in nodes:
        key = (one.node,) if depth == 3 else domain_of(one.node, one.shape, LEVELS[:depth])
        found.setdefault(key, []).append(one)
    return found


def _needed_depth(nodes: list[NodeState], one: Any) -> int | None:
    """Return the finest level at which a domain holds all: 3 = node, 0 = the pool, None = none."""
    for depth in (3, 2, 1, 0):
        for inside in _domains(nodes, depth).values():
            fits = sum(min(n.shape.gpus // one.gpus, int(n.shape.cpus // one.cpus)) for n in inside)
            if fits >= one.replicas:
                return depth
    return None


def _depth(nodes: list[NodeState], used: set[str]) -> int:
    for depth in (3, 2, 1):
        if any(used <= {n.node for n in inside} for inside in _domains(nodes, depth).values()):
            return depth
    return 0


def test_a_large_gang_in_a_large_pool_takes_no_time() -> None:
    nodes = [at(f"n{i:04}", f"z{i // 500}", f"s{i // 20}", cpus=96) for i in range(1000)]
    sites = sites_of(nodes)
    asked = (role(replicas=200, gpus=4, cpus=8),)
    how = how_for(demand(locality=near("zone")), taste("default", Market()), LEVELS)
    first = place(asked, sites, how=how)
    assert isinstance(first, Placed)
    assert len(first) == 100
    began = time.process_time()
    for _ in range(10):
        assert place(asked, sites, how=how) == first
    assert (time.process_time() - began) / 10 < 0.1
