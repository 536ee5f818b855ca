"""Random walks with jobs that step on and jobs that stand still, whatever else goes wrong.

What steps on shows no other sign of life at all, so that progress alone keeps it from being ended.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from muster.cli.simulation.installation import Installation, install
from muster.contracts.requests import job_id
from muster.domain import facts as f
from muster.domain.phases import PARKED, TERMINAL
from muster.testing.cluster import Script, WorkerId, shape
from muster.testing.faults import CALM, drawn
from muster.testing.scripts import STUCK
from muster.testing.steady import advance
from muster.testing.walk import step
from muster.testing.world import World

STEPS, STANDS = "steps", "stands"
JOBS = (f"{STEPS}-1", f"{STEPS}-2", f"{STANDS}-1", f"{STANDS}-2")
CALM_S = 8 * 3600.0


def _spec(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "PyTorchJob",
        "image": "registry.local/train:1",
        "command": ["python", "train.py"],
        "resource": {"type": "on_demand", "replicas": 2, "gpus_per_replica": 2},
        "grace_s": 5,
        "fault_tolerance": {
            "enabled": True,
            "max_retries": 3,
            "hang": {"action": "restart", "window_s": 300},
        },
    }


def _installation(seed: int) -> Installation:
    kinds = {job_id("acme", f"r-{name}"): name.partition("-")[0] for name in JOBS}

    def script(who: WorkerId) -> Script:
        if kinds[who.job] == STANDS:
            return Script(step_s=20.0, stuck_s=60.0, vitals=STUCK)
        return Script(step_s=20.0, run_s=4000.0, vitals=STUCK)

    nodes = {f"n{number}": shape(8) for number in range(4)}
    found = install(seed, nodes, script, replicas=2, trouble=0.1)
    found.world.faults = drawn(found.world.dice)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_only_what_stands_still_is_ended_whatever_else_goes_wrong(seed: int) -> None:
    installation = _installation(seed)
    world, known = installation.world, installation.fold.known
    try:
        for name in JOBS:
            installation.client.submit(f"r-{name}", _spec(name))
        for _ in range(1500):
            step(world)
        world.faults, world.mood.hurried, world.idle_s = CALM, True, 30.0
        for process in world.processes:
            process.paused_until = 0.0
            process.clock.synchronise()
        installation.life.heal(world)
        over = TERMINAL | PARKED
        advance(
            world,
            CALM_S,
            until=lambda world: (
                len(known.jobs) == len(JOBS) and all(s.phase in over for s in known.jobs.values())
            ),
        )
        told = _told(world)
    finally:
        world.close()
    assert {name.partition("-")[0] for name in told} == {STANDS}
    for state in known.jobs.values():
        assert state.phase in over
        assert told[state.name] <= state.attempt


def _told(world: World) -> Counter[str]:
    """Return how often each job was called hung."""
    facts = (entry.event.data for entry in world.store.entries if entry.event is not None)
    return Counter(
        data.job.name for data in facts if isinstance(data.detail, f.Hung | f.HangSuspected)
    )
