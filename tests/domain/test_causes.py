"""What requeue does after a release: the table of the life cycle, cell by cell."""

from __future__ import annotations

import pytest

from muster.domain.causes import PREEMPTIONS, after_release
from muster.domain.causes import AfterRelease as A
from muster.domain.causes import EvictionCause as C
from muster.domain.demand import ResourceClass as R

COUNTED = (C.SPOT_RECLAIM, C.IDLE_RECLAIM, C.PRIORITY, C.QUOTA_RECLAIM)
FREE = (C.FAULT, C.NODE_LOST, C.NODE_DRAIN, C.START_FAILED, C.BACKOFF)


def test_every_cause_is_in_one_row() -> None:
    assert sorted([*COUNTED, *FREE]) == sorted(C)
    assert set(COUNTED) == PREEMPTIONS


@pytest.mark.parametrize("kind", R)
@pytest.mark.parametrize("cause", COUNTED)
@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_a_preemption_with_auto_queue_uses_a_requeue_while_there_is_one(
    cause: C, kind: R, left: int
) -> None:
    expected = A.REQUEUE_COUNTED if left else A.EXHAUSTED
    assert after_release(cause, auto_queue=True, left=left, resource_class=kind) is expected


@pytest.mark.parametrize("kind", R)
@pytest.mark.parametrize("cause", COUNTED)
def test_a_preemption_without_auto_queue_ends_the_job(cause: C, kind: R) -> None:
    assert after_release(cause, auto_queue=False, left=0, resource_class=kind) is A.NOT_REQUEUED


@pytest.mark.parametrize("kind", R)
@pytest.mark.parametrize("cause", FREE)
@pytest.mark.parametrize("left", [0, 3])
def test_trouble_that_is_nobodys_order_costs_no_requeue(cause: C, kind: R, left: int) -> None:
    assert after_release(cause, auto_queue=True, left=left, resource_class=kind) is A.REQUEUE_FREE


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (R.SPOT, A.REQUEUE_ONE_SHOT),
        (R.IDLE, A.REQUEUE_NO_DEADLINE),
        (R.RESERVED, A.REQUEUE_NO_DEADLINE),
        (R.ON_DEMAND, A.REQUEUE_NO_DEADLINE),
    ],
)
@pytest.mark.parametrize("cause", FREE)
def test_trouble_without_auto_queue_queues_again_as_its_class_does(
    cause: C, kind: R, expected: A
) -> None:
    assert after_release(cause, auto_queue=False, left=0, resource_class=kind) is expected
