"""Whether an attempt hangs: at least two families of signals that are still for the whole window.

Pure. Progress must always be one of those that are still: a job that steps on is never called hung.
Where a job is not known to tell of its steps, its silence counts for nothing, and two others must
agree. While a family says that something goes on, nothing is ended: after the cap people are told.
`hang_track` collects, `hang_pace` has the times; `muster.fault_tolerance.watching` asks, and acts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from muster.domain.demand import HangLimits
from muster.fault_tolerance.core import hang_pace as p
from muster.fault_tolerance.core.hang_pace import Pace
from muster.fault_tolerance.core.hang_signs import Sign, Why
from muster.fault_tolerance.core.hang_track import Family, Heard, Track

NEEDED = 2
"""Families that must agree."""
FIRST_STEP, TRAINING = "first_step", "training"


@dataclass(frozen=True, slots=True)
class Told:
    """What one family says. seconds: for how long it has been still; worker: who stands out.

    moved_s: how long ago it last said that something goes on.
    """

    family: Family
    sign: Sign
    why: Why
    seconds: float = 0.0
    worker: str | None = None
    moved_s: float | None = None


@dataclass(frozen=True, slots=True)
class Suspicion:
    """seconds: without progress. exited: a worker has ended and the others stay; no hang then.

    doubtful: a family has said lately that something goes on, so nothing may be ended for it.
    """

    seconds: int
    agreed: tuple[Told, ...]
    worker: str | None = None
    exited: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """How an attempt looks now. stage: first_step, training, or the declared phase it is in.

    limit_s: how long this stage may go without progress; silent_s: how long it has. window_s: for
    so long the other families must be still, too; contradicted_s: after so long people are told
    although one of them says that something goes on. proven: the job tells of its steps, so that
    its silence counts.
    """

    stage: str
    silent_s: float
    limit_s: float
    window_s: float
    contradicted_s: float
    proven: bool
    told: tuple[Told, ...]
    suspicion: Suspicion | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of the job itself. gpus: of one worker, by role. tells: an earlier attempt has
    told steps. together: all its workers end at about the same time when all is well."""

    limits: HangLimits
    gpus: Mapping[str, int] = field(default_factory=dict)
    tells: bool = False
    together: bool = True


def judge(track: Track, subject: Subject, pace: Pace) -> Reading:
    """Return how the attempt looks at its last sample."""
    limits, learned = subject.limits, track.learned
    window = p.window(limits, learned, pace)
    stage, limit = _stage(track, limits, pace)
    silent = track.last.at - track.progress_at
    proven = subject.tells or track.step is not None
    reading = Reading(
        stage=stage,
        silent_s=silent,
        limit_s=limit,
        window_s=window,
        contradicted_s=max(limit, p.contradicted(limits, learned, pace)),
        proven=proven,
        told=(_progress(silent, limit, proven), *_others(track, pace)),
    )
    found = _hangs(reading) or _outlived(track, reading, subject, pace)
    return reading if found is None else replace(reading, suspicion=found)


def _stage(track: Track, limits: HangLimits, pace: Pace) -> tuple[str, float]:
    if track.phase is not None:
        return track.phase, p.phase(track.phase, limits, track.learned, pace)
    if track.step is None:
        return FIRST_STEP, p.first_step(limits, track.learned, pace)
    return TRAINING, p.window(limits, track.learned, pace)


def _progress(silent: float, limit: float, proven: bool) -> Told:
    if silent < limit:
        return Told(Family.PROGRESS, Sign.MOVING, Why.SILENT, silent)
    sign = Sign.STILL if proven else Sign.UNKNOWN
    return Told(Family.PROGRESS, sign, Why.NO_STEP, silent)


def _others(track: Track, pace: Pace) -> Iterator[Told]:
    for family in (Family.DEVICE, Family.PROCESS, Family.FRAMEWORK):
        yield _told(family, track.heard.get(family, Heard()), track.last.at, pace.longest_gap_s)


def _told(family: Family, heard: Heard, at: float, gap: float) -> Told:
    quiet, moving = heard.quiet, heard.moving_at
    moved = None if moving is None else at - moving
    if quiet is not None and at - quiet.upto <= gap:
        seconds = quiet.upto - quiet.since
        return Told(family, Sign.STILL, quiet.why, seconds, quiet.worker, moved)
    if moved is not None and moved <= gap:
        return Told(family, Sign.MOVING, heard.moving.why, 0.0, heard.moving.worker, moved)
    return Told(family, Sign.UNKNOWN, Why.SILENT, moved_s=moved)


def _hangs(reading: Reading) -> Suspicion | None:
    if reading.silent_s < reading.limit_s:
        return None
    agreed = [
        told
        for told in reading.told
        if told.sign is Sign.STILL
        and (told.family is Family.PROGRESS or told.seconds >= reading.window_s)
    ]
    if len(agreed) < NEEDED:
        return None
    doubtful = _moved(reading.told, reading.window_s)
    if doubtful and reading.silent_s < reading.contradicted_s:
        return None
    odd = next((told.worker for told in agreed if told.worker), None)
    return Suspicion(int(reading.silent_s), tuple(agreed), odd, doubtful=doubtful)


def _moved(told: Iterable[Told], within: float) -> bool:
    """Tell whether any family has said lately that something goes on."""
    return any(each.moved_s is not None and each.moved_s < within for each in told)


def _outlived(track: Track, reading: Reading, subject: Subject, pace: Pace) -> Suspicion | None:
    """A worker ended well, and the others wait for it: nothing of them moves.

    One that still saves the last checkpoint moves bytes, and is left alone.
    """
    if track.left is None or not subject.together:
        return None
    since = max(track.left_at, track.progress_at)
    lasted, least = track.last.at - since, pace.exited_s * pace.scale
    still = [t for t in reading.told if t.sign is Sign.STILL and t.seconds >= least]
    if lasted < least or not still or _moved(reading.told, least):
        return None
    return Suspicion(int(lasted), tuple(still), track.left, exited=True)
