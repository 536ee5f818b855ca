"""A round that remembers the rounds before it decides what one decides that remembers nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.scheduler.core.doors import is_there
from muster.scheduler.core.memory import Memory
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.snapshot import Snapshot
from tests.scheduler.small_world import SmallWorld
from tests.scheduler.worlds import at, node, queued, world

seeds = st.integers(min_value=0, max_value=2**32)


def same(snapshot: Snapshot, memory: Memory, policy: Policy) -> None:
    """Check that it makes no difference what was before."""
    with_it = plan(replace(snapshot, memory=memory), policy)
    alone = plan(snapshot, policy)
    assert with_it.moves == alone.moves
    assert list(with_it.verdicts.items()) == list(alone.verdicts.items())
    assert (with_it.next_at, with_it.cursor) == (alone.next_at, alone.cursor)
    assert with_it.unreached == alone.unreached
    assert with_it.reservation == alone.reservation
    for one in snapshot.nodes:
        if is_there(one):
            assert with_it.board.free(one.node) == alone.board.free(one.node)


POLICIES = (
    Policy(),
    Policy(levels=("zone",)),
    Policy(placement="best_fit"),
    Policy(reserve_after_s=0, reserve_max_s=3600),
)


@settings(max_examples=80, deadline=None)
@given(seeds, st.sampled_from(POLICIES))
def test_a_pool_that_lives(seed: int, policy: Policy) -> None:
    small, memory = SmallWorld(Random(seed)), Memory()
    for _ in range(10):
        snapshot = small.snapshot()
        same(snapshot, memory, policy)
        if small.dice.random() < 0.7:  # a plan that is not carried out leaves nothing behind
            small.carry_out(plan(snapshot, policy))
        small.live()


def test_nodes_that_come_go_and_change_their_shape() -> None:
    memory = Memory()
    jobs = [queued(f"j{i}", gpus=2, kind="spot" if i % 2 else "on_demand") for i in range(6)]
    for nodes in (
        [node("n1"), node("n2")],
        [node("n1", 2), node("n2")],
        [node("n2", spot=True), node("n3", 4)],
        [],
        [node("n1", 4, gpu_model="H800"), node("n2", cordoned=True)],
        [node("n1", 4, suspected=True), node("n2", 4), node("n3", 4, spot=True)],
    ):
        same(world(nodes, jobs), memory, Policy())


def test_another_policy_begins_anew() -> None:
    memory = Memory()
    snapshot = world([node("n1", spot=True)], [queued("a"), queued("b", kind="spot")])
    for policy in (Policy(), Policy(on_spot=frozenset()), Policy()):
        same(snapshot, memory, policy)


def test_a_memory_that_goes_back_in_time_is_right() -> None:
    memory = Memory()
    late, early = queued("a", not_before=at(50)), queued("b")
    for now in (100, 0, 60):
        same(world([node("n1")], [late, early], now=now), memory, Policy())
