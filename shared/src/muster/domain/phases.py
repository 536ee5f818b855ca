"""The phases of a job, which of them are over, and what a person is shown for each."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """Where a job stands. What it holds is a field of its state, not a phase."""

    SUBMITTED = "submitted"
    REJECTED = "rejected"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    EVICTING = "evicting"
    INTERRUPTED = "interrupted"
    FAULTED = "faulted"
    STOPPING = "stopping"
    DEBUG_HOLDING = "debug_holding"
    ABNORMAL = "abnormal"
    STOPPED = "stopped"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


TERMINAL = frozenset({Phase.REJECTED, Phase.STOPPED, Phase.SUCCEEDED, Phase.FAILED})
"""Absorb every later report."""

PARKED = frozenset({Phase.ABNORMAL})
"""Absorb reports, obey people."""

ACTIVE = frozenset(Phase) - TERMINAL - PARKED

HOLDING = frozenset(
    {
        Phase.STARTING,
        Phase.RUNNING,
        Phase.EVICTING,
        Phase.FAULTED,
        Phase.STOPPING,
        Phase.DEBUG_HOLDING,
    }
)
"""Phases in which a job normally holds nodes. Pods outlive phases, so `held` decides, not this."""


class Shown(StrEnum):
    """What a person sees. Differs from the phase where the phase is an inner matter."""

    SUBMITTED = "submitted"
    REJECTED = "rejected"
    QUEUED = "queued"
    STARTING = "starting"
    RESTARTING = "restarting"
    RUNNING = "running"
    HANDLING_FAULT = "handling_fault"
    EVICTING = "evicting"
    STOPPING = "stopping"
    DEBUG_HOLDING = "debug_holding"
    ABNORMAL = "abnormal"
    STOPPED = "stopped"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


SHOWN_TEXT: dict[Shown, tuple[str, str]] = {
    Shown.SUBMITTED: ("submitted", "已提交"),
    Shown.REJECTED: ("rejected", "提交失败"),
    Shown.QUEUED: ("queued", "排队中"),
    Shown.STARTING: ("starting", "启动中"),
    Shown.RESTARTING: ("restarting", "重启中"),
    Shown.RUNNING: ("running", "运行中"),
    Shown.HANDLING_FAULT: ("running (handling a fault)", "运行中 (故障处理中)"),
    Shown.EVICTING: ("evicting", "驱逐中"),
    Shown.STOPPING: ("stopping", "停止中"),
    Shown.DEBUG_HOLDING: ("held for debugging", "调试保留中"),
    Shown.ABNORMAL: ("abnormal", "异常"),
    Shown.STOPPED: ("stopped", "已停止"),
    Shown.SUCCEEDED: ("succeeded", "运行成功"),
    Shown.FAILED: ("failed", "运行失败"),
}
"""English and Chinese word of each displayed state."""
