"""Idle jobs are planned as if absent: they keep no gang apart, and go only where that helps."""

from __future__ import annotations

from random import Random

import pytest

from muster.domain.demand import Locality, LocalityMode
from muster.scheduler.core.plan import plan
from muster.scheduler.core.policy import Policy
from muster.scheduler.core.rooms import domain_of
from muster.scheduler.core.verdicts import Plan
from tests.scheduler.worlds import node, placements, queued, running, victims, world

ZONED = [
    node(name, zone=zone, labels={"sw": "s"})
    for name, zone in (("a1", "z1"), ("a2", "z1"), ("b1", "z2"), ("b2", "z2"))
]
"""A switch of the same name in either zone: two switches."""


@pytest.mark.parametrize("level", ["sw", "zone", None])
def test_no_idle_job_keeps_a_gang_apart_at_a_level_of_the_pool(level: str | None) -> None:
    locality = Locality(mode=LocalityMode.PREFERRED, level=level) if level else None
    idle = running("i", ["a2"], kind="idle")
    made = plan(
        world(ZONED[:3], [idle, queued("gang", 2, locality=locality)]),
        Policy(levels=("zone", "sw")),
    )
    assert set(placements(made)["gang"]) == {"a1", "a2"}
    assert victims(made) == {"i"}


@pytest.mark.parametrize("level", ["sw", "zone", None])
def test_no_idle_job_leaves_where_an_equally_near_place_is_free(level: str | None) -> None:
    locality = Locality(mode=LocalityMode.PREFERRED, level=level) if level else None
    idle = running("i", ["a2"], kind="idle")
    made = plan(
        world(ZONED, [idle, queued("gang", 2, locality=locality)]), Policy(levels=("zone", "sw"))
    )
    assert set(placements(made)["gang"]) == {"b1", "b2"}
    assert victims(made) == set()


@pytest.mark.parametrize("seed", range(150))
def test_a_gang_is_as_near_as_without_idle_jobs_and_only_then_sends_them_off(seed: int) -> None:
    dice = Random(seed)
    levels = ("zone", "sw")
    nodes = [
        node(f"n{i}", 4, zone=dice.choice("ab"), labels={"sw": dice.choice("st")})
        for i in range(dice.randint(3, 7))
    ]
    held = [
        (f"l{i}", each.node, dice.randint(1, 4), dice.random() < 0.7)
        for i, each in enumerate(nodes)
        if dice.random() < 0.6
    ]
    gang = queued("gang", dice.randint(2, 4), dice.choice([2, 4]))

    def planned(who: str) -> Plan:
        """Plan with the idle jobs as they are, as jobs that stay, or without them."""
        jobs = [
            running(
                name, [where], gpus=gpus, **({"kind": "idle"} if may_go else {"guarantee": True})
            )
            for name, where, gpus, idle in held
            if not (idle and who == "absent")
            for may_go in [idle and who == "idle"]
        ]
        return plan(world(nodes, [*jobs, gang]), Policy(levels=levels))

    def depth(found: Plan) -> int | None:
        where = placements(found).get("gang")
        if where is None:
            return None
        used = [each for each in nodes if each.node in where]
        chains = [levels[:depth] for depth in (1, 2)]
        return sum(len({domain_of(n.node, n.shape, c) for n in used}) == 1 for c in chains)

    made, absent, stay = planned("idle"), planned("absent"), planned("stay")
    assert depth(made) == depth(absent)
    if depth(made) is not None and depth(made) == depth(stay):
        assert victims(made) == set()
