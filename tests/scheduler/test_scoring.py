"""The policies of placement: each against its definition, and all of them deterministic."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.demand import Role
from muster.scheduler.core.amounts import CARD, Need, Room
from muster.scheduler.core.market import market_of
from muster.scheduler.core.placement import How, Placed, Shortfall, place
from muster.scheduler.core.rooms import Kind, Rooms, Site, Sites, gathered
from muster.scheduler.core.scoring import (
    POLICIES,
    Fragments,
    Market,
    Typical,
    covering,
    prices,
    taste,
    usual,
)
from tests.scheduler.worlds import node, queued, role

MODELS = ("A", "B", "C")
seeds = st.integers(min_value=0, max_value=2**32)
many = settings(max_examples=300, deadline=None)


def some_market(dice: Random) -> Market:
    """Return a random mix of shapes and stock."""
    counts = {}
    for _ in range(dice.randint(1, 12)):
        gpus = dice.choice([0, 0, 1, 1, 2, 4, 8])
        milli = dice.choice([0, 0, 250, 500, 999]) if not gpus else 0
        models = tuple(sorted(dice.sample(MODELS, 2))) if dice.random() < 0.3 else None
        need = Need(gpus, milli, dice.choice([0, 2000, 8000, 16000]))
        counts[need, models if gpus or milli else None] = dice.randint(1, 50)
    cards = tuple((model, dice.randint(1, 50)) for model in MODELS)
    return Market(covering(counts), cards, 64_000, 8)


def some_room(dice: Random) -> Room:
    """Return what may be left of a node."""
    cards = tuple(sorted(dice.choice([1, 250, 500, 750, 999]) for _ in range(dice.randint(0, 4))))
    return Room(dice.randint(-1, 8), cards, dice.choice([0, 1000, 8000, 64_000]), 1000)


def naive_fragments(market: Market, model: str, room: Room) -> float:
    """Return the fragments of a node, card by card, as the paper defines them."""
    cards = [CARD] * max(0, room.gpus) + list(room.cards)
    total = 0.0
    for need, models, weight in market.shapes:
        each = need.milli or CARD
        can = [left for left in cards if left >= each]
        allowed = models is None or model in models
        wanted = need.gpus or (1 if need.milli else 0)
        if not wanted or not allowed or need.cpus > room.cpus or len(can) < wanted:
            total += weight * sum(cards)
        else:
            total += weight * sum(left for left in cards if left < each)
    return total


@many
@given(seeds)
def test_fragments_are_those_of_the_definition(seed: int) -> None:
    dice = Random(seed)
    market = some_market(dice)
    measure = Fragments(market.shapes)
    for _ in range(10):
        room, model = some_room(dice), dice.choice(MODELS)
        expected = naive_fragments(market, model, room)
        for _ in range(2):  # the second time from memory
            assert measure.of(model, room) == pytest.approx(expected, abs=1e-6)


@many
@given(seeds)
def test_the_gradient_is_that_of_the_definition(seed: int) -> None:
    dice = Random(seed)
    market = some_market(dice)
    fgd = taste("fgd", market)
    kind = Kind(some_room(dice), dice.choice(MODELS))
    milli = dice.choice([0, 250, 500])
    need = Need(0 if milli else dice.choice([1, 2]), milli, 1000)
    found = fgd.put(kind, need)
    rooms = _all_ways(kind.free, need)
    if not rooms:
        assert found is None
        return
    before = naive_fragments(market, kind.gpu_model, kind.free)
    grown = [naive_fragments(market, kind.gpu_model, room) - before for room in rooms]
    scores = {int(100 / (1 + math.exp((g + d) / CARD))) for g in grown for d in (-1e-6, 1e-6)}
    assert found is not None
    assert -found[0] in scores
    assert -found[0] >= max(int(100 / (1 + math.exp((g + 1e-6) / CARD))) for g in grown)


def _all_ways(room: Room, need: Need) -> list[Room]:
    if not room.holds(need):
        return []
    beside = room.less(need)
    if not need.milli:
        return [beside]
    lefts = {left for left in room.cards if left >= need.milli} | (
        {CARD} if room.gpus > 0 else set()
    )
    return [beside.shared(left, need.milli) for left in lefts]


@many
@given(seeds)
def test_a_single_worker_goes_to_the_best_node_and_of_equals_to_the_first(seed: int) -> None:
    dice = Random(seed)
    policy = dice.choice(POLICIES)
    chosen = taste(policy, some_market(dice))
    kinds = {f"n{i}": Kind(some_room(dice), dice.choice(MODELS)) for i in range(9)}
    rooms = Rooms(kinds)
    asked = role("w", 1, gpus=dice.randint(0, 1), gpu_milli=0, cpus=1)
    for _ in range(12):
        found = place((asked,), Sites(rooms), how=How(chosen))
        need = Need(asked.gpus, 0, 1000)
        worths = {name: put for name, k in kinds.items() if (put := chosen.put(k, need))}
        if isinstance(found, Shortfall):
            assert not worths
            break
        (name,) = found
        assert name == min(worths, key=lambda each: (worths[each][0], each))
        kinds[name] = kinds[name]._replace(free=worths[name][1].room)
        rooms.enter(name, kinds[name].free)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_every_policy_is_whole_within_capacity_and_blind_to_order(policy: str, seed: int) -> None:
    dice = Random(seed)
    nodes = [
        node(f"n{i}", gpus=dice.randint(0, 4), gpu_model=dice.choice(MODELS), cpus=8)
        for i in range(dice.randint(1, 6))
    ]
    roles = [
        role(f"r{i}", dice.randint(1, 4), gpus=dice.randint(0, 2), cpus=1, gpu_model="A|B")
        for i in range(dice.randint(1, 3))
    ]
    sites = [Site(n.node, n.shape, some_room(dice)) for n in nodes]
    jobs = [(queued(f"j{i}", roles=(one,)), 1) for i, one in enumerate(roles)]
    how = How(taste(policy, market_of(nodes, jobs)))
    found = place(roles, gathered(sites), how=how)
    for _ in range(5):
        dice.shuffle(sites)
        dice.shuffle(roles)
        again = place(roles, gathered(sites), how=how)
        assert again == found
    if isinstance(found, Placed):
        _check(found, roles, {site.node: site for site in sites})


def _check(found: Placed, roles: list[Role], sites: dict[str, Site]) -> None:
    names = sorted(name for workers in found.values() for name in workers)
    assert names == sorted(name for one in roles for name in one.workers)
    for name, workers in found.items():
        counts = [sum(w in one.workers for w in workers) for one in roles]
        gpus = sum(count * one.gpus for count, one in zip(counts, roles, strict=True))
        assert gpus <= max(0, sites[name].free.gpus)
        assert sum(counts) * 1000 <= sites[name].free.cpus
        if gpus:
            assert sites[name].shape.gpu_model in {"A", "B"}


def test_first_fit_takes_the_first_and_best_fit_the_fullest() -> None:
    sites = gathered(
        Site(name, node(name).shape, Room(gpus, (), 64_000, 10**6))
        for name, gpus in (("n1", 8), ("n2", 2), ("n3", 4))
    )
    market = Market((), (("A100", 24),), 64_000, 8)
    one = (role(gpus=1, cpus=1),)
    found = {policy: place(one, sites, how=How(taste(policy, market))) for policy in POLICIES}
    assert found["first_fit"] == {"n1": ("worker-0",)}
    assert found["best_fit"] == {"n2": ("worker-0",)}
    assert found["default"] == {"n2": ("worker-0",)}


def test_a_model_that_others_must_have_costs_more() -> None:
    jobs = [(queued("old", roles=(role(gpus=1, gpu_model="H100"),)), 3), (queued("any", gpus=1), 3)]
    nodes = [node("n1", gpu_model="H100", gpus=1), node("n2", gpu_model="A100", gpus=1)]
    market = market_of(nodes, jobs)
    assert prices(market)["H100"] > prices(market)["A100"] == 0.0
    sites = gathered(Site(n.node, n.shape, Room(1, (), 64_000, 10**6)) for n in nodes)
    assert place((role(gpus=1),), sites, how=How(taste("default", market))) == {"n2": ("worker-0",)}


def test_the_usual_shapes_are_those_that_make_up_most_and_change_with_the_mix_alone() -> None:
    counts = [(Need(gpus=1), None, 96), (Need(gpus=2), None, 32), (Need(gpus=8), None, 1)]
    shapes = usual(counts)
    assert [shape.need.gpus for shape in shapes] == [1, 2]
    assert sum(shape.weight for shape in shapes) == pytest.approx(1)
    assert usual([(need, models, n + n // 10) for need, models, n in counts]) == shapes
    assert usual(reversed(counts)) == shapes
    assert usual([]) == ()


def test_equal_markets_share_one_taste() -> None:
    market = Market((Typical(Need(gpus=1), None, 1.0),), (("A", 1),), 1, 1)
    again = Market((Typical(Need(gpus=1), None, 1.0),), (("A", 1),), 1, 1)
    assert taste("fgd", market) is taste("fgd", again)
