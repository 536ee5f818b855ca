"""Why a job left its nodes, and what requeue does about it: the one table of both product pages."""

from __future__ import annotations

from enum import StrEnum

from muster.domain.demand import ResourceClass


class EvictionCause(StrEnum):
    """Why a gang is taken off its nodes."""

    SPOT_RECLAIM = "spot_reclaim"
    IDLE_RECLAIM = "idle_reclaim"
    PRIORITY = "priority"
    QUOTA_RECLAIM = "quota_reclaim"
    NODE_DRAIN = "node_drain"
    NODE_LOST = "node_lost"
    FAULT = "fault"
    START_FAILED = "start_failed"
    BACKOFF = "backoff"


CAUSES_ZH: dict[str, str] = {
    EvictionCause.SPOT_RECLAIM: "spot 容量回收",
    EvictionCause.IDLE_RECLAIM: "闲时资源回收",
    EvictionCause.PRIORITY: "更高优先级抢占",
    EvictionCause.QUOTA_RECLAIM: "配额回收",
    EvictionCause.NODE_DRAIN: "节点排空",
    EvictionCause.NODE_LOST: "节点失联",
    EvictionCause.FAULT: "故障",
    EvictionCause.START_FAILED: "启动失败",
    EvictionCause.BACKOFF: "退避等待",
}
"""What a cause is called in a Chinese sentence; in English it is called by its code."""


def cause_zh(cause: str) -> str:
    """Return a cause in Chinese; words that are none as they are."""
    return CAUSES_ZH.get(cause, cause)


PREEMPTIONS = frozenset(
    {
        EvictionCause.SPOT_RECLAIM,
        EvictionCause.IDLE_RECLAIM,
        EvictionCause.PRIORITY,
        EvictionCause.QUOTA_RECLAIM,
    }
)
"""Causes that a requeue counts, and that end a job without auto-queue."""

SCHEDULER_CAUSES = PREEMPTIONS | {EvictionCause.NODE_DRAIN}


class AfterRelease(StrEnum):
    """What happens to an interrupted job."""

    REQUEUE_COUNTED = "requeued, counts"
    REQUEUE_FREE = "requeued, does not count"
    REQUEUE_ONE_SHOT = "requeued as one-shot"
    REQUEUE_NO_DEADLINE = "requeued, no deadline"
    EXHAUSTED = "requeue_exhausted"
    NOT_REQUEUED = "not_requeued"


def after_release(
    cause: EvictionCause, *, auto_queue: bool, left: int, resource_class: ResourceClass
) -> AfterRelease:
    """Decide by the table. `left` is the number of requeues that the job may still use."""
    counted = cause in PREEMPTIONS
    if auto_queue:
        if not counted:
            return AfterRelease.REQUEUE_FREE
        return AfterRelease.REQUEUE_COUNTED if left > 0 else AfterRelease.EXHAUSTED
    if counted:
        return AfterRelease.NOT_REQUEUED
    if resource_class is ResourceClass.SPOT:
        return AfterRelease.REQUEUE_ONE_SHOT
    return AfterRelease.REQUEUE_NO_DEADLINE
