"""What the workers' output proves: that the training went on where its checkpoint was.

Pure: lines in, judgements out. The form of the lines is what `examples/training` prints, and what
any training may print to be understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

STEP = re.compile(r"\bstep=(\d+) loss=([0-9.eE+-]+|nan|inf)")
LOADED = re.compile(r"\bcheckpoint loaded: step=(\d+)")
SAVED = re.compile(r"\bcheckpoint saved: step=(\d+)")

JUMP = 0.25
"""A loss after the resume may be above the last one by this part of what was learned so far."""


@dataclass(frozen=True, slots=True)
class Point:
    """One reported step."""

    step: int
    loss: float


@dataclass(slots=True)
class Run:
    """What one attempt printed. loaded: the step of the checkpoint that it began with."""

    points: list[Point] = field(default_factory=list)
    loaded: int | None = None
    saved: int | None = None

    def read(self, line: str) -> Point | None:
        """Take in a line; returns the step that it reports, if it does."""
        if found := STEP.search(line):
            self.points.append(Point(int(found[1]), float(found[2])))
            return self.points[-1]
        if found := LOADED.search(line):
            self.loaded = int(found[1])
        elif found := SAVED.search(line):
            self.saved = int(found[1])
        return None


def read_runs(lines: Mapping[int, Iterable[str]]) -> dict[int, Run]:
    """Return what each attempt printed, by attempt."""
    runs: dict[int, Run] = {}
    for attempt in sorted(lines):
        run = runs.setdefault(attempt, Run())
        for line in lines[attempt]:
            run.read(line)
    return runs


@dataclass(frozen=True, slots=True)
class Judgement:
    """key: of the text `demo.proof.<key>`, which `values` fill in."""

    key: str
    good: bool
    values: Mapping[str, object] = field(default_factory=dict)


def judge(runs: Mapping[int, Run], steps: int) -> list[Judgement]:
    """Judge a training that was evicted once: attempt 1, then attempt 2 to the end."""
    first, second = runs.get(1, Run()), runs.get(2, Run())
    if not first.points or not second.points:
        counts = {"first": len(first.points), "second": len(second.points)}
        return [Judgement("silent", False, counts)]
    return [
        _saved(first),
        _continued(first, second),
        _calm(first.points, second.points),
        _finished(second.points, steps),
    ]


def _saved(first: Run) -> Judgement:
    last = first.points[-1].step
    saved = first.saved or 0
    return Judgement("saved", saved >= last, {"step": saved, "last": last})


def _continued(first: Run, second: Run) -> Judgement:
    """The checkpoint that was written is the one that was loaded, and the next step follows it."""
    loaded, begins = second.loaded or 0, second.points[0].step
    steps = [point.step for point in second.points]
    good = 0 < loaded == first.saved and begins > loaded and steps == sorted(set(steps))
    return Judgement("continued", good, {"loaded": loaded, "begins": begins})


def _calm(before: Sequence[Point], after: Sequence[Point]) -> Judgement:
    start, last, again = before[0].loss, before[-1].loss, after[0].loss
    allowed = last + JUMP * max(start - last, 0.0)
    shown = {"before": f"{last:.4f}", "after": f"{again:.4f}", "start": f"{start:.4f}"}
    return Judgement("calm", again <= allowed, shown)


def _finished(after: Sequence[Point], steps: int) -> Judgement:
    return Judgement("finished", after[-1].step == steps, {"step": after[-1].step, "steps": steps})
