"""What the scheduler counts: what a batch has written, each event once, and nothing twice."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY

from muster.domain.nodes import NodeReclaiming
from muster.log.memory import LogFault
from tests.scheduler.pools import Faults, Pool, auto_queue, settle
from tests.scheduler.worlds import POOL, at


def counted(event: str) -> float:
    labels = {"pool": POOL, "event": event}
    return REGISTRY.get_sample_value("muster_scheduler_decisions_total", labels) or 0.0


async def five_on_a_node(hooks: Faults | None = None) -> tuple[Pool, object]:
    """Five spot jobs run on one node, and its owner takes it back."""
    pool = Pool()
    await pool.join("n1", gpus=10, spot=True)
    scheduler = pool.scheduler(hooks)
    for number in range(5):
        resource = {"type": "spot"}
        await pool.submit(f"v{number}", gpus=2, resource=resource, auto_queue=auto_queue())
    await settle(scheduler)
    for number in range(5):
        await pool.launch(f"v{number}")
    await settle(scheduler)
    return pool, scheduler


@pytest.mark.case("SCL-12")
async def test_five_evictions_for_one_reason_are_five_and_stay_five() -> None:
    pool, scheduler = await five_on_a_node()
    before = counted("preempted")
    await pool.about_node("n1", NodeReclaiming(deadline=at(60)))
    await settle(scheduler)  # type: ignore[arg-type]
    assert len(pool.events("preempted")) == 5
    assert counted("preempted") - before == 5
    await settle(scheduler, pool.scheduler())  # type: ignore[arg-type]
    assert counted("preempted") - before == 5


@pytest.mark.sibling_of("SCL-12")
async def test_a_batch_that_is_not_written_counts_nothing() -> None:
    hooks = Faults()
    pool, scheduler = await five_on_a_node(hooks)
    before = counted("preempted")
    hooks.next["append_all"] = [LogFault.LOST]
    await pool.about_node("n1", NodeReclaiming(deadline=at(60)))
    await settle(scheduler, turns=1)  # type: ignore[arg-type]
    assert counted("preempted") == before
    pool.pass_by(60)
    await settle(scheduler, turns=12)  # type: ignore[arg-type]
    assert len(pool.events("preempted")) == 5
    assert counted("preempted") - before == 5
