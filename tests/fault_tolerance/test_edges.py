"""What evolve refuses so that no worker is ever left behind uncounted."""

from __future__ import annotations

import pytest

from muster.domain import facts as f
from muster.domain.edges import IllegalEdge
from tests.support.lives import Life, spec


def test_a_restart_in_place_cannot_be_unscheduled() -> None:
    life = Life(spec(fault_tolerance={"enabled": True})).faulted()
    assert life.state.reason is not None
    life.then(f.Restarted(reason=life.state.reason))
    with pytest.raises(IllegalEdge, match="nothing was launched"):
        life.then(f.Unscheduled(cause=f.Withdrawal.PLAN_ABANDONED))


def test_a_job_that_must_leave_cannot_restart_in_place() -> None:
    life = Life(spec(fault_tolerance={"enabled": True})).running()
    failure = f.WorkerFailure(worker="worker-0", node="n1", exit_code=1)
    life.then(
        f.Preempted(cause="spot_reclaim", grace_s=30),  # type: ignore[arg-type]
        f.WorkersFailed(attempt=1, failures=(failure,)),
    )
    assert life.state.reason is not None
    with pytest.raises(IllegalEdge, match="order to leave"):
        life.then(f.Restarted(reason=life.state.reason))
