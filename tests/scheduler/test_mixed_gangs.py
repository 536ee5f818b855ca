"""Gangs of several roles: one that fits is placed, and none is told "never" that might fit."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from muster.domain import facts as f
from muster.domain.demand import Role
from muster.domain.nodes import NodeState
from muster.scheduler.core.amounts import of_shape, room
from muster.scheduler.core.placement import Placed, Shortfall, place
from muster.scheduler.core.rooms import Site, Sites, gathered
from muster.scheduler.core.verdicts import Waiting
from tests.scheduler.worlds import decide, decisions, node, placements, queued, role, running

POOL = [
    node("a", 4, cpus=8),
    node("b", 2, cpus=8),
    node("c", 4, cpus=4),
    node("d", 4, cpus=4),
]
RAY = (role("head", gpus=0, cpus=6), role("worker", 4, gpus=2, cpus=3))
"""The head fits on a or b; only on b it leaves enough for the workers."""


def sites(nodes: Sequence[NodeState]) -> Sites:
    """Make sites of empty nodes."""
    return gathered(Site(n.node, n.shape, room(of_shape(n.shape))) for n in nodes)


def test_the_head_goes_where_it_leaves_enough_for_the_workers() -> None:
    made = decide(POOL, [queued("ray", roles=RAY)])
    assert placements(made)["ray"] == {
        "a": ("worker-0", "worker-1"),
        "b": ("head-0",),
        "c": ("worker-2",),
        "d": ("worker-3",),
    }


def test_one_that_has_a_single_round_is_not_ended_either() -> None:
    made = decide(POOL, [queued("ray", roles=RAY, auto=False)])
    assert isinstance(decisions(made)["ray"], f.Scheduled)


def test_who_is_in_its_way_is_sent_off() -> None:
    low = running("low", ["b"], gpus=2, kind="spot")
    assert set(placements(decide(POOL, [low, queued("ray", roles=RAY)]))) == {"ray"}


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        ((role("head", gpus=0, cpus=9), role("worker", gpus=2)), Waiting.NEVER_FITS),
        ((role("head", gpus=8), role("worker", 7, gpus=1)), Waiting.NEVER_FITS),
        # enough of everything in sum, but whoever sits where
        ((role("head", gpus=0, cpus=6), role("worker", 5, gpus=2, cpus=3)), Waiting.NEVER_FITS),
    ],
    ids=["one role alone", "the sum", "every seat was tried"],
)
def test_never_is_said_of_what_is_proven(roles: tuple[Role, ...], why: Waiting) -> None:
    assert decide(POOL, [queued("g", roles=roles)]).verdicts["t", "g"].why is why


def test_never_is_not_said_of_what_was_only_not_found() -> None:
    """Five of one and five of the other fill one node to the last core: a hard puzzle."""
    nodes = [node("n1", 0, cpus=55), node("n2", 0, cpus=27)]
    roles = (role("a", 7, gpus=0, cpus=6), role("b", 8, gpus=0, cpus=5))
    assert brute(roles, nodes)
    made = decide(nodes, [queued("g", roles=roles)])
    assert "g" in placements(made) or made.verdicts["t", "g"].why is Waiting.NO_ROOM


# --- compared with every placement there is ------------------------------------------------------


def brute(roles: Sequence[Role], nodes: Sequence[NodeState]) -> bool:
    """Tell whether there is any placement at all."""
    workers = [(one.gpus, one.cpus) for one in roles for _ in range(one.replicas)]
    dead: set[tuple[int, tuple[tuple[int, float], ...]]] = set()

    def rest(number: int, free: tuple[tuple[int, float], ...]) -> bool:
        if number == len(workers):
            return True
        if (number, free) in dead:
            return False
        gpus, cpus = workers[number]
        for index in range(len(free)):
            left = free[index][0] - gpus, free[index][1] - cpus
            if min(left) >= 0 and rest(
                number + 1, tuple(sorted((*free[:index], left, *free[index + 1 :])))
            ):
                return True
        dead.add((number, free))
        return False

    return rest(0, tuple(sorted((one.shape.gpus, one.shape.cpus) for one in nodes)))


@pytest.mark.parametrize("singles", [1, 2, 3])
def test_a_gang_with_few_single_workers_is_placed_if_it_fits_at_all(singles: int) -> None:
    dice = Random(singles)
    fitting = 0
    for _ in range(600):
        nodes = [
            node(f"n{i}", dice.choice([0, 2, 4]), cpus=dice.choice([4, 8]))
            for i in range(dice.randint(2, 5))
        ]
        roles = [
            role(f"s{i}", gpus=dice.choice([0, 1]), cpus=dice.choice([1, 2, 4, 6]))
            for i in range(singles)
        ]
        roles.append(
            role("w", dice.randint(1, 5), dice.choice([1, 2]), cpus=dice.choice([1, 2, 3]))
        )
        found = place(roles, sites(nodes))
        assert isinstance(found, Placed) == brute(roles, nodes), (nodes, roles)
        if isinstance(found, Shortfall):
            assert found.sure
            continue
        fitting += 1
        assert sorted(w for ws in found.values() for w in ws) == sorted(
            w for one in roles for w in one.workers
        )
        needs = {w: one for one in roles for w in one.workers}
        for each in nodes:
            here = [needs[w] for w in found.get(each.node, ())]
            assert sum(one.gpus for one in here) <= each.shape.gpus
            assert sum(one.cpus for one in here) <= each.shape.cpus
    assert fitting > 100


def test_what_is_sure_not_to_fit_never_does() -> None:
    dice = Random(7)
    sure = 0
    for _ in range(400):
        nodes = [
            node(f"n{i}", dice.randint(0, 6), cpus=dice.randint(4, 16))
            for i in range(dice.randint(1, 3))
        ]
        roles = [
            role(name, dice.randint(1, 5), dice.randint(0, 2), cpus=dice.randint(1, 4))
            for name in "ab"
        ]
        found = place(roles, sites(nodes))
        if isinstance(found, Shortfall) and found.sure:
            sure += 1
            assert not brute(roles, nodes)
    assert sure > 50
