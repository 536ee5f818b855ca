"""Settings of hang detection, a part of fault tolerance's (MUSTER_FAULT_TOLERANCE_HANG_*)."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from muster.fault_tolerance.core.hang_pace import Pace
from muster.fault_tolerance.core.hang_signs import Marks

_FASTEST_S, _FITTING = 1.0, 3
"""Seconds between two looks of a rehearsal, at least; so many looks fit into its gap."""


class HangSettings(BaseSettings):
    """hang_poll_s: seconds between two looks at running jobs that are watched for hangs.

    hang_stacks_after_s: of a job without progress for so long, stacks are looked at, too.
    hang_floor_s, hang_cap_s, hang_factor: a silence counts after the factor times the 99th
    percentile of the job's step times, not below the floor, not above the cap, and never below the
    user's own window. hang_first_step_s, hang_loading_s: until the first step; where the job says
    that it loads or compiles. hang_checkpoint_s, hang_evaluation_s: for the first one of a job;
    hang_phase_factor: times the longest one seen. hang_exited_s: that workers may wait for one that
    has ended well. hang_gap_s: without an answer of the executor for longer, everything begins
    anew. hang_idle_cores, hang_busy_cores: CPU seconds per second up to which a worker sleeps, from
    which it spins. hang_gpu_idle, hang_gpu_full: share of the time. hang_idle_watts: of a GPU that
    only waits, where its usual draw is unknown. hang_bytes_s: bytes per second that say that a
    worker works. hang_scale: multiplies every time here and the user's window, for rehearsals; one
    look a second is the most.
    """

    hang_poll_s: float = Field(default=15.0, gt=0, le=60)
    hang_stacks_after_s: float = Field(default=60.0, ge=0, le=3600)
    hang_floor_s: float = Field(default=300.0, ge=60, le=86400)
    hang_cap_s: float = Field(default=3600.0, ge=60, le=86400)
    hang_factor: float = Field(default=5.0, ge=1, le=100)
    hang_first_step_s: float = Field(default=1800.0, ge=60, le=86400)
    hang_loading_s: float = Field(default=7200.0, ge=60, le=86400)
    hang_checkpoint_s: float = Field(default=1800.0, ge=60, le=86400)
    hang_evaluation_s: float = Field(default=3600.0, ge=60, le=86400)
    hang_phase_factor: float = Field(default=3.0, ge=1, le=100)
    hang_exited_s: float = Field(default=120.0, ge=10, le=86400)
    hang_gap_s: float = Field(default=150.0, ge=10, le=3600)
    hang_idle_cores: float = Field(default=0.1, ge=0, le=1)
    hang_busy_cores: float = Field(default=0.8, gt=0, le=64)
    hang_gpu_idle: float = Field(default=0.05, ge=0, le=1)
    hang_gpu_full: float = Field(default=0.95, ge=0, le=1)
    hang_idle_watts: float = Field(default=150.0, ge=0, le=5000)
    hang_bytes_s: float = Field(default=16384.0, gt=0)
    hang_scale: float = Field(default=1.0, gt=0, le=1)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        pairs = (
            ("hang_floor_s", "hang_cap_s"),
            ("hang_idle_cores", "hang_busy_cores"),
            ("hang_gpu_idle", "hang_gpu_full"),
        )
        for low, high in pairs:
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} may not be above {high}")
        if self.hang_gap_s < 2 * self.hang_poll_s:
            raise ValueError("hang_gap_s must be twice hang_poll_s or more")
        return self

    @property
    def poll_s(self) -> float:
        """Seconds between two looks, scaled."""
        return max(self.hang_poll_s * self.hang_scale, min(self.hang_poll_s, _FASTEST_S))

    @property
    def _gap_s(self) -> float:
        """Return, before it is scaled, a gap that looks which come no faster still fit into."""
        rehearsed = _FITTING * self.poll_s / self.hang_scale if self.hang_scale < 1 else 0.0
        return max(self.hang_gap_s, rehearsed)

    @property
    def pace(self) -> Pace:
        """How long a silence may last."""
        return Pace(
            floor_s=self.hang_floor_s,
            cap_s=self.hang_cap_s,
            factor=self.hang_factor,
            first_step_s=self.hang_first_step_s,
            loading_s=self.hang_loading_s,
            checkpoint_s=self.hang_checkpoint_s,
            evaluation_s=self.hang_evaluation_s,
            phase_factor=self.hang_phase_factor,
            exited_s=self.hang_exited_s,
            gap_s=self._gap_s,
            scale=self.hang_scale,
        )

    @property
    def marks(self) -> Marks:
        """Where still ends and moving begins."""
        return Marks(
            idle_cores=self.hang_idle_cores,
            busy_cores=self.hang_busy_cores,
            gpu_idle=self.hang_gpu_idle,
            gpu_full=self.hang_gpu_full,
            idle_watts=self.hang_idle_watts,
            bytes_s=self.hang_bytes_s,
        )
