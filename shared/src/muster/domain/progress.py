"""How far a training has come, as its own output tells it; part of the state of a job.

Written by `evolve` from `checkpoint_saved`, `resume_verified` and `progress_lost`; read by whoever
asks what an eviction would cost, and by people.
"""

from __future__ import annotations

from muster.domain.model import Frozen, Instant


class Resumption(Frozen):
    """What became of the training's progress when it last ran again. kept: it went on.

    step_before: the last step that was told before; step_after: the first one after.
    gpu_hours: GPU time of steps that have to be, or were, done again.
    """

    attempt: int
    kept: bool
    step_before: int
    step_after: int
    gpu_hours: float = 0.0


class Progress(Frozen):
    """step: the last one that the log knows. checkpointed_at: when a checkpoint was last heard of.

    checkpoint_step: the step of the newest checkpoint that still counts; None when there is none.
    """

    step: int = 0
    checkpoint_step: int | None = None
    checkpointed_at: Instant | None = None
    resumption: Resumption | None = None
