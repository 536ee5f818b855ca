"""How long a silence may last before it counts, and what was learned of a job's own pace. Pure.

Every number is a setting (`MUSTER_FAULT_TOLERANCE_HANG_*`). Times are seconds of a clock that never
steps. `hang.py` asks; nothing here knows of signals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster.domain.demand import HangLimits

STEP_TIMES = 256
"""Step times of one job that are remembered, the newest ones."""
LOADING = ("loading", "compile")
EVALUATION = "evaluation"


@dataclass(frozen=True, slots=True)
class Pace:
    """floor_s, cap_s: of what follows from step times. factor: times the 99th percentile of them.

    first_step_s: until the first step of an attempt; loading_s: where it said that it loads or
    compiles. checkpoint_s, evaluation_s: for one that is the first of its kind; phase_factor: times
    the longest one seen. exited_s: that the others may outlive a worker that has ended well.
    gap_s: without a sample for longer, nobody knows what was, and the window begins anew.
    scale: multiplies all of these and the user's window, for rehearsals.
    """

    floor_s: float = 300.0
    cap_s: float = 3600.0
    factor: float = 5.0
    first_step_s: float = 1800.0
    loading_s: float = 7200.0
    checkpoint_s: float = 1800.0
    evaluation_s: float = 3600.0
    phase_factor: float = 3.0
    exited_s: float = 120.0
    gap_s: float = 150.0
    scale: float = 1.0

    @property
    def longest_gap_s(self) -> float:
        """Seconds between two samples that still belong together."""
        return self.gap_s * self.scale


@dataclass(frozen=True, slots=True)
class Learned:
    """steps: seconds of a step, oldest first. longest: of each declared phase, how long it took.

    watts: what each worker drew when the job last made steps, the most of it.
    """

    steps: tuple[float, ...] = ()
    longest: Mapping[str, float] = field(default_factory=dict)
    watts: Mapping[str, float] = field(default_factory=dict)

    def step(self, seconds: float) -> Learned:
        """Return what is known after one more step time."""
        return replace(self, steps=(*self.steps, seconds)[-STEP_TIMES:])

    def phase(self, name: str, seconds: float) -> Learned:
        """Return what is known after a phase that came to its end."""
        known = self.longest.get(name, 0.0)
        return replace(self, longest={**self.longest, name: max(known, seconds)})

    @property
    def p99(self) -> float | None:
        """The 99th percentile of step times (nearest rank), None while there are none."""
        if not self.steps:
            return None
        rank = math.ceil(0.99 * len(self.steps))
        return sorted(self.steps)[rank - 1]


def window(limits: HangLimits, learned: Learned, pace: Pace) -> float:
    """Return for how long every family must be silent: never below the user's own window.

    max(floor, factor x p99), at most the cap; without step times the floor.
    """
    of_steps = pace.factor * (learned.p99 or 0.0)
    own = min(max(pace.floor_s * pace.scale, of_steps), pace.cap_s * pace.scale)
    return max(limits.window_s * pace.scale, own)


def first_step(limits: HangLimits, learned: Learned, pace: Pace) -> float:
    """Return how long an attempt may take to its first step."""
    return max(window(limits, learned, pace), pace.first_step_s * pace.scale)


def phase(name: str, limits: HangLimits, learned: Learned, pace: Pace) -> float:
    """Return how long a declared phase may last: never less than any silence may."""
    least = window(limits, learned, pace)
    seen = learned.longest.get(name)
    if seen is not None:
        return max(least, pace.phase_factor * seen)
    if name in LOADING:
        return max(least, pace.loading_s * pace.scale)
    first = pace.evaluation_s if name == EVALUATION else pace.checkpoint_s
    return max(least, first * pace.scale)


def contradicted(limits: HangLimits, learned: Learned, pace: Pace) -> float:
    """Return how long a silence lasts before it is told although something seems to go on."""
    return max(window(limits, learned, pace), pace.cap_s * pace.scale)
