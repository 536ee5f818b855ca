"""Groups of equal nodes: whichever way they came about, the placement is the same."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.scheduler.core.amounts import Amounts, Room, room
from muster.scheduler.core.placement import place
from muster.scheduler.core.rooms import Kind, Site, gathered
from tests.scheduler.worlds import node, role

MODELS = ("A100", "H100")


def site(dice: Random, name: str, model: str, second: bool) -> Site:
    """Make a site with some room."""
    free = Room(dice.randint(-1, 4), (), dice.choice([8000, 16000]), 1000)
    return Site(name, node(name, gpu_model=model).shape, free, second)


@settings(max_examples=300, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_room_that_changed_counts_as_if_it_had_always_been_so(seed: int) -> None:
    dice = Random(seed)
    fixed = [(f"n{i}", dice.choice(MODELS), dice.random() < 0.3) for i in range(dice.randint(1, 9))]
    before, after = ([site(dice, *each) for each in fixed] for _ in range(2))
    roles = [
        role(f"r{i}", dice.randint(1, 5), dice.randint(0, 3), cpus=1, gpu_model="A100")
        for i in range(dice.randint(1, 3))
    ]
    expected = place(roles, gathered(after))
    moved = {one.node: Kind(one.free, one.shape.gpu_model) for one in after}
    entered = gathered(before)
    assert place(roles, entered, moved) == expected
    for one in dice.sample(after, len(after)):
        entered.enter(one.node, one.free)
    assert place(roles, entered) == expected
    assert entered.every.names == gathered(after).every.names


def test_no_shared_card_is_sure_on_a_node_that_shrank_below_its_use() -> None:
    assert room(Amounts(gpus=0), (750,)).cards == (750,)
    assert room(Amounts(gpus=-1), (750,)).cards == ()
