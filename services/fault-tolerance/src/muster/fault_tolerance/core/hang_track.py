"""What was seen of one attempt, sample by sample, as far as a later judgement needs it. Pure.

A `Track` belongs to one attempt: of marks and steps of an earlier one nothing is left but what was
learned of the job's pace. Samples may come twice or late; a hole between them begins it anew, since
unknown is not dead. Progress is a new step or a declared phase that begins or ends; a mark that a
newer step has overtaken says nothing any more, whatever became of its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from muster.domain.evidence import JobSignals
from muster.fault_tolerance.core.hang_pace import Learned, Pace
from muster.fault_tolerance.core.hang_signs import (
    NOTHING,
    Marks,
    Says,
    Sign,
    Why,
    device,
    pairs,
    process,
)


class Family(StrEnum):
    """Signals that fail for different reasons."""

    PROGRESS = "progress"
    DEVICE = "device"
    PROCESS = "process"
    FRAMEWORK = "framework"


@dataclass(frozen=True, slots=True)
class Sample:
    """at: seconds of a clock that never steps. collective: a line tells of a collective operation
    that does not end, or none does; None = nobody has looked."""

    at: float
    signals: JobSignals
    collective: bool | None = None


@dataclass(frozen=True, slots=True)
class Quiet:
    """A family that has said still, and nothing else, from the first instant to the second."""

    since: float
    upto: float
    why: Why
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What a family says lately. moving_at: when it last said that something goes on."""

    quiet: Quiet | None = None
    moving_at: float | None = None
    moving: Says = NOTHING


Mark = tuple[str, datetime | None]
"""A declared phase as the signals have it: its name, and since when by the executor's clock."""


@dataclass(frozen=True, slots=True)
class Track:
    """began, progress_at, phase_at, left_at: instants of samples. step: the last one seen.

    step_at: when that step was first seen, for step times; None once a phase came between. phase:
    the open declared one. overtaken: a mark that counts no more. left: the worker that ended well
    while others live.
    """

    attempt: int
    last: Sample
    began: float
    progress_at: float
    learned: Learned = field(default_factory=Learned)
    step: int | None = None
    step_at: float | None = None
    phase: str | None = None
    phase_at: float = 0.0
    overtaken: Mark | None = None
    heard: Mapping[Family, Heard] = field(default_factory=dict)
    left: str | None = None
    left_at: float = 0.0


def begin(sample: Sample, learned: Learned | None = None) -> Track:
    """Return a window that begins with this sample."""
    told, at = sample.signals, sample.at
    track = Track(
        attempt=told.attempt,
        last=sample,
        began=at,
        progress_at=at,
        learned=learned or Learned(),
        step=told.step,
    )
    mark = _mark(told)
    if mark is None:
        return track
    if _overtaken(told):
        return replace(track, overtaken=mark)
    return replace(track, phase=mark[0], phase_at=at)


def observe(
    track: Track | None, sample: Sample, gpus: Mapping[str, int], pace: Pace, marks: Marks
) -> Track:
    """Return the track after one more sample. gpus: of one worker, by role.

    A sample of an earlier attempt, or no newer than the last one, changes nothing.
    """
    if track is None:
        return begin(sample)
    if sample.signals.attempt < track.attempt:
        return track
    if sample.signals.attempt > track.attempt:
        return begin(sample, track.learned)
    if sample.at <= track.last.at:
        return track
    if sample.at - track.last.at > pace.longest_gap_s:
        return begin(sample, track.learned)
    after = _progressed(track, sample)
    heard = _heard(track, sample, gpus, pace, marks)
    return replace(_left(after, sample), heard=heard, last=sample)


# --- progress ------------------------------------------------------------------------------------


def _mark(told: JobSignals) -> Mark | None:
    return (told.declared, told.declared_at) if told.declared else None


def _overtaken(told: JobSignals) -> bool:
    """Tell whether a step came after the mark; both instants are of one clock."""
    begun, stepped = told.declared_at, told.step_at
    return begun is not None and stepped is not None and stepped > begun


def _progressed(track: Track, sample: Sample) -> Track:
    told, at = sample.signals, sample.at
    mark = _mark(told)
    if told.step is not None and told.step != track.step:
        track = _stepped(_closed(track, at), sample)
        if mark is None or mark[0] == track.phase or not _begun_after(told):
            return replace(track, phase=None, overtaken=mark)
        return _opened(track, mark, at)
    if mark is None:
        return _closed(track, at)
    if mark in {track.overtaken, (track.phase, told.declared_at)} or mark[0] == track.phase:
        return track
    return _opened(_closed(track, at), mark, at)


def _begun_after(told: JobSignals) -> bool:
    """Tell whether a mark is newer than the step beside it: a step ends what came before it, so of
    two that were told at once the mark is."""
    begun, stepped = told.declared_at, told.step_at
    return begun is not None and stepped is not None and begun >= stepped


def _stepped(track: Track, sample: Sample) -> Track:
    step, at = sample.signals.step, sample.at
    assert step is not None
    learned = track.learned
    if track.step is not None and track.step_at is not None and step > track.step:
        learned = learned.step((at - track.step_at) / (step - track.step))
    watts = {w.worker: w.gpu_watts for w in sample.signals.workers if w.gpu_watts is not None}
    most = {name: max(drawn, learned.watts.get(name, 0.0)) for name, drawn in watts.items()}
    learned = replace(learned, watts={**learned.watts, **most})
    return replace(track, step=step, step_at=at, progress_at=at, learned=learned)


def _opened(track: Track, mark: Mark, at: float) -> Track:
    return replace(track, phase=mark[0], phase_at=at, overtaken=None, progress_at=at, step_at=None)


def _closed(track: Track, at: float) -> Track:
    """The open phase, if there is one, has come to its end."""
    if track.phase is None:
        return track
    learned = track.learned.phase(track.phase, at - track.phase_at)
    return replace(track, phase=None, progress_at=at, learned=learned, step_at=None)


# --- the other families --------------------------------------------------------------------------


def _heard(
    track: Track, sample: Sample, gpus: Mapping[str, int], pace: Pace, marks: Marks
) -> dict[Family, Heard]:
    both = pairs(track.last.signals, sample.signals, sample.at - track.last.at)
    said = {
        Family.DEVICE: device(both, gpus, track.learned.watts, marks),
        Family.PROCESS: process(both, marks),
        Family.FRAMEWORK: _framework(sample),
    }
    return {
        family: _after(track.heard.get(family, Heard()), says, track.last.at, sample.at, pace)
        for family, says in said.items()
    }


def _framework(sample: Sample) -> Says:
    return Says(Sign.STILL, Why.COLLECTIVE) if sample.collective else NOTHING


def _after(heard: Heard, says: Says, before: float, at: float, pace: Pace) -> Heard:
    """What was still between two samples has been so since the first of them."""
    quiet = heard.quiet
    if quiet is not None and at - quiet.upto > pace.longest_gap_s:
        quiet = None
    match says.sign:
        case Sign.MOVING:
            return Heard(moving_at=at, moving=says)
        case Sign.UNKNOWN:
            return replace(heard, quiet=quiet)
    if quiet is None or (quiet.worker and says.worker and quiet.worker != says.worker):
        since = at if says.why is Why.COLLECTIVE else before
        return replace(heard, quiet=Quiet(since, at, says.why, says.worker))
    worker = quiet.worker or says.worker
    why = says.why if says.worker or not quiet.worker else quiet.why
    return replace(heard, quiet=Quiet(quiet.since, at, why, worker))


def _left(track: Track, sample: Sample) -> Track:
    """Note the first worker that ended well while others live on."""
    workers = sample.signals.workers
    ended = sorted(w.worker for w in workers if not w.alive and w.exit_code == 0)
    if not ended or not any(w.alive for w in workers):
        return replace(track, left=None)
    if track.left in ended:
        return track
    return replace(track, left=ended[0], left_at=sample.at)
