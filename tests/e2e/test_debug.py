"""Looking inside, with real processes: a job that only waits, and a cluster that is held."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from muster.domain.phases import Phase
from muster.domain.state import DeadlineKind
from tests.e2e.harness import Muster, job_file, muster_in, workers_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

GANG = {"type": "on_demand", "replicas": 2, "gpus_per_replica": 1}


@pytest.fixture
async def muster(tmp_path: Path) -> AsyncIterator[Muster]:
    async with muster_in(tmp_path / "muster") as command_line:
        await command_line.up()
        yield command_line


def ray_file(muster: Muster, name: str, code: int, **debug: Any) -> Path:
    """A RayJob whose head ends soon and whose workers stay."""
    script = f'[ "$MUSTER_WORKER" = head-0 ] && {{ sleep 0.5; exit {code}; }}; exec sleep 600'
    more = {"type": "RayJob", "debug": debug} if debug else {"type": "RayJob"}
    resource = {"type": "on_demand", "replicas": 1, "gpus_per_replica": 1}
    return job_file(muster.folder, name, ["sh", "-c", script], resource=resource, **more)


async def test_a_failed_job_is_looked_into_by_one_that_waits_in_its_place(muster: Muster) -> None:
    origin = await muster.submit(
        job_file(
            muster.folder,
            "typo",
            ["python", "-c", "import nothing_of_that_name"],
            resource=GANG,
            auto_queue={"enabled": True, "max_queue_hours": 1, "max_requeues": 1},
            fault_tolerance={"enabled": True, "max_retries": 5},
        )
    )
    await muster.in_phase(origin, Phase.FAILED)
    made = (await muster.ok("debug", origin, "--json")).json
    state = await muster.in_phase(made["job"], Phase.RUNNING)
    assert (made["origin"], made["name"], state.origin) == (origin, "typo-debug", origin)
    assert len(workers_of(made["job"])) == 2
    assert (state.demand.queue, state.demand.max_restarts) == (None, 0)
    shown = (await muster.ok("show", origin)).out
    assert f"{made['job']} (running)" in shown
    assert origin in (await muster.ok("show", made["job"])).out
    assert (await muster.ok("show", origin, "--json")).json["debugged_by"] == [made["job"]]
    await muster.ok("stop", made["job"])
    await muster.in_phase(made["job"], Phase.STOPPED)
    assert workers_of(made["job"]) == []


@pytest.mark.parametrize(("code", "outcome"), [(0, Phase.SUCCEEDED), (3, Phase.FAILED)])
async def test_a_held_cluster_tells_its_outcome_at_once_and_a_stop_ends_the_hold(
    muster: Muster, code: int, outcome: Phase
) -> None:
    job = await muster.submit(ray_file(muster, "ray", code, enabled=True))
    held = await muster.in_phase(job, Phase.DEBUG_HOLDING)
    assert held.outcome is not None
    assert held.outcome.phase is outcome
    hold = (held.deadlines[DeadlineKind.HOLD] - held.since).total_seconds()
    assert hold == 600
    assert len(workers_of(job)) == 1  # the worker of the cluster stays
    await muster.ok("stop", job)
    ended = await muster.in_phase(job, outcome)
    assert ended.phase is outcome
    assert workers_of(job) == []


@pytest.mark.parametrize("debug", [{}, {"enabled": True, "hold_seconds": 0}])
async def test_without_a_hold_the_cluster_goes_with_its_head(
    muster: Muster, debug: dict[str, Any]
) -> None:
    job = await muster.submit(ray_file(muster, "ray", 0, **debug))
    await muster.in_phase(job, Phase.SUCCEEDED)
    assert "hold_ended" not in await muster.events(job)
    assert workers_of(job) == []
