"""What Muster tells the world and hears of it is in the world's time, whatever the offset is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from muster.cli.simulation.installation import install
from muster.domain.nodes import NodeReclaiming
from muster.testing.cluster import Script, shape
from muster.testing.faults import CALM
from muster.testing.steady import advance

NOTICE = timedelta(seconds=120)
SPEC = {
    "name": "outside",
    "image": "i",
    "command": ["run"],
    "resource": {"type": "on_demand", "replicas": 1, "gpus_per_replica": 8},
}


@pytest.mark.parametrize("step", [3600.0, -3600.0, 0.0])
def test_a_notice_after_a_step_is_understood_and_handed_on(step: float) -> None:
    script = Script(stop_s=None)
    installation = install(5, {"n1": shape(8)}, lambda who: script, faults=replace(CALM, burst=0.0))
    world, cluster = installation.world, installation.cluster
    installation.client.submit("outside", SPEC)
    advance(world, 30)
    world.time.step_by(step)
    advance(world, 60)
    due = world.time.now() + NOTICE
    cluster.nodes["n1"].reclaim_at = due
    advance(world, 60, lambda world: any(worker.told for worker in cluster.alive()))
    (worker,) = cluster.alive()
    assert worker.deadline is not None
    assert world.time.now() < worker.deadline <= due, "the stop file is for the world"
    advance(world, 90)
    events = [entry.event for entry in world.store.entries if entry.event]
    told = [e.data.detail for e in events if isinstance(e.data.detail, NodeReclaiming)]
    assert len(told) == 1, "an offset that is given back makes no news"
    assert abs(told[0].deadline - (due - timedelta(seconds=step))) <= timedelta(seconds=0.1)
