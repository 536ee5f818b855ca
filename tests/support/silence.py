"""A pretended attempt that shows signs of life, and what hang detection makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from muster.domain.demand import HangLimits
from muster.domain.evidence import JobSignals, WorkerSignals
from muster.fault_tolerance.core.hang import Reading, Subject, judge
from muster.fault_tolerance.core.hang_pace import Pace
from muster.fault_tolerance.core.hang_signs import Marks
from muster.fault_tolerance.core.hang_track import Sample, Track, observe

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
POLL_S = 15.0
Of = float | Callable[[int], float | None] | None
"""A number for every rank, or one by rank."""


def worker(rank: int = 0, **signs: object) -> WorkerSignals:
    """Return the signs of one worker."""
    values = {"worker": f"worker-{rank}", "node": f"n{rank}", "alive": True, **signs}
    return WorkerSignals.model_validate(values)


def signals(*workers: WorkerSignals, **told: object) -> JobSignals:
    """Return the signs of one attempt."""
    values = {"tenant": "acme", "job": "j1", "attempt": 1, **told}
    return JobSignals.model_validate({**values, "workers": workers})


@dataclass
class Attempt:
    """Goes on as told, and is looked at every 15 s. ranks: how many workers, each with `gpus`."""

    ranks: int = 1
    gpus: int = 8
    window_s: int = 600
    attempt: int = 1
    tells: bool = False
    together: bool = True
    pace: Pace = field(default_factory=Pace)
    marks: Marks = field(default_factory=Marks)
    track: Track | None = None
    at: float = 0.0
    step: int | None = None
    step_at: float | None = None
    places: int = 0
    _cpu: dict[int, float] = field(default_factory=dict)
    _bytes: dict[int, float] = field(default_factory=dict)

    def go(
        self,
        seconds: float,
        *,
        step_s: float | None = None,
        cores: Of = None,
        gpu: Of = None,
        watts: Of = None,
        bytes_s: Of = None,
        stacks: Sequence[str] | str | None = None,
        states: str | None = None,
        declared: str | None = None,
        since: float | None = None,
        collective: bool | None = None,
        ended: Sequence[int] = (),
        poll_s: float = POLL_S,
    ) -> Attempt:
        """Let so many seconds pass. stacks: "change", one for all, or one for each rank.

        step_s: a step every so many seconds from now on. since: when the phase was declared.
        """
        end, began = self.at + seconds, self.at
        first = self.step or 0
        while self.at < end:
            passed = min(poll_s, end - self.at)
            self.at += passed
            if step_s and self.at - began >= step_s:
                made = int((self.at - began) / step_s)
                if first + made != self.step:
                    self.step, self.step_at = first + made, began + made * step_s
            workers = [
                self._worker(rank, passed, cores, gpu, watts, bytes_s, stacks, states)
                for rank in range(self.ranks)
                if rank not in ended
            ]
            gone = [worker(rank, alive=False, exit_code=0) for rank in ended]
            told = signals(
                *workers,
                *gone,
                attempt=self.attempt,
                step=self.step,
                step_at=_instant(self.step_at),
                declared=declared,
                declared_at=_instant(began if since is None else since) if declared else None,
            )
            self.see(told, collective=collective)
        return self

    def see(self, told: JobSignals, *, collective: bool | None = None) -> None:
        """Take one sample now."""
        gpus = {"worker": self.gpus}
        sample = Sample(self.at, told, collective)
        self.track = observe(self.track, sample, gpus, self.pace, self.marks)

    def _worker(
        self,
        rank: int,
        passed: float,
        cores: Of,
        gpu: Of,
        watts: Of,
        bytes_s: Of,
        stacks: Sequence[str] | str | None,
        states: str | None,
    ) -> WorkerSignals:
        self._add(self._cpu, rank, cores, passed)
        self._add(self._bytes, rank, bytes_s, passed)
        return worker(
            rank,
            cpu_s=self._cpu.get(rank) if _of(cores, rank) is not None else None,
            moved=int(self._bytes.get(rank, 0)) if _of(bytes_s, rank) is not None else None,
            gpu=_of(gpu, rank),
            gpu_watts=_of(watts, rank),
            state=states,
            stack=self._stack(rank, stacks),
        )

    def _add(self, total: dict[int, float], rank: int, rate: Of, passed: float) -> None:
        total[rank] = total.get(rank, 0.0) + (_of(rate, rank) or 0.0) * passed

    def _stack(self, rank: int, stacks: Sequence[str] | str | None) -> str | None:
        if stacks == "change":
            self.places += 1
            return f"place {self.places}"
        if stacks is None or isinstance(stacks, str):
            return stacks
        return stacks[rank]

    @property
    def reading(self) -> Reading:
        """How it looks now."""
        assert self.track is not None
        return judge(self.track, self.subject, self.pace)

    @property
    def subject(self) -> Subject:
        """What is known of the job itself."""
        limits = HangLimits(window_s=self.window_s, restart=True)
        return Subject(limits, {"worker": self.gpus}, self.tells, self.together)

    @property
    def hangs(self) -> bool:
        """Whether it is called hung now."""
        return self.reading.suspicion is not None


def _of(value: Of, rank: int) -> float | None:
    return value(rank) if callable(value) else value


def _instant(second: float | None) -> datetime | None:
    return None if second is None else EPOCH + timedelta(seconds=second)
