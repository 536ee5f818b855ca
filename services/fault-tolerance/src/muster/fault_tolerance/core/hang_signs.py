"""What devices and processes say between two samples of one attempt: moving, still, or nothing.

Pure. What nobody can say (None) counts for nothing. A family answers for the whole gang, and names
the one worker that stands out, where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from muster.domain.evidence import JobSignals, WorkerSignals


class Sign(StrEnum):
    """What a family says at one moment."""

    MOVING = "moving"
    STILL = "still"
    UNKNOWN = "unknown"


class Why(StrEnum):
    """Why a family says so; people read sentences made of these."""

    NO_STEP = "no_step"
    DEVICE_IDLE = "device_idle"
    DEVICE_SPINS = "device_spins"
    DEVICE_WORKS = "device_works"
    BYTES_MOVE = "bytes_move"
    ASLEEP = "asleep"
    ONE_SLEEPS = "one_sleeps"
    DISK = "disk"
    SAME_PLACE = "same_place"
    ONE_ELSEWHERE = "one_elsewhere"
    PLACES_CHANGE = "places_change"
    COLLECTIVE = "collective"
    SILENT = ""


@dataclass(frozen=True, slots=True)
class Says:
    """worker: the one that stands out, if one does."""

    sign: Sign
    why: Why = Why.SILENT
    worker: str | None = None


NOTHING = Says(Sign.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Marks:
    """Where still ends and moving begins.

    idle_cores: CPU time per second up to which a worker sleeps; busy_cores: from which it spins.
    gpu_idle, gpu_full: share of the time. idle_watts: of one GPU that only waits; where its usual
    draw is known, half of that counts instead. bytes_s: that a worker moves when it works.
    """

    idle_cores: float = 0.1
    busy_cores: float = 0.8
    gpu_idle: float = 0.05
    gpu_full: float = 0.95
    idle_watts: float = 150.0
    bytes_s: float = 16384.0


@dataclass(frozen=True, slots=True)
class Pair:
    """One worker in two samples. cores: CPU seconds per second between them."""

    before: WorkerSignals
    now: WorkerSignals
    seconds: float

    @property
    def cores(self) -> float | None:
        return _rate(self.before.cpu_s, self.now.cpu_s, self.seconds)

    @property
    def bytes_s(self) -> float | None:
        return _rate(self.before.moved, self.now.moved, self.seconds)


def _rate(before: float | None, now: float | None, seconds: float) -> float | None:
    if before is None or now is None or now < before or seconds <= 0:
        return None
    return (now - before) / seconds


def pairs(before: JobSignals, now: JobSignals, seconds: float) -> list[Pair]:
    """Return the workers that lived in both samples, by name."""
    known = {each.worker: each for each in before.workers if each.alive}
    both = (Pair(known[w.worker], w, seconds) for w in now.workers if w.alive and w.worker in known)
    return sorted(both, key=lambda pair: pair.now.worker)


def role_of(worker: str) -> str:
    """Return the role that a worker's name tells."""
    return worker.rpartition("-")[0]


# --- devices -------------------------------------------------------------------------------------


def device(
    both: Sequence[Pair], gpus: Mapping[str, int], usual: Mapping[str, float], marks: Marks
) -> Says:
    """Return what GPUs and traffic say. gpus: of a worker of each role. usual: watts by worker.

    One that moves is enough; still are they when half of those with GPUs are known to be.
    """
    said = [_device_of(each, gpus, usual, marks) for each in both]
    moving = next((one for one in said if one.sign is Sign.MOVING), None)
    if moving is not None:
        return moving
    still = [one for one in said if one.sign is Sign.STILL]
    having = sum(1 for each in both if gpus.get(role_of(each.now.worker)))
    if not still or 2 * len(still) < having:
        return NOTHING
    spins = any(one.why is Why.DEVICE_SPINS for one in still)
    return Says(Sign.STILL, Why.DEVICE_SPINS if spins else Why.DEVICE_IDLE)


def _device_of(
    pair: Pair, gpus: Mapping[str, int], usual: Mapping[str, float], marks: Marks
) -> Says:
    worker, busy = pair.now.worker, pair.now.gpu
    if pair.bytes_s is not None and pair.bytes_s >= marks.bytes_s:
        return Says(Sign.MOVING, Why.BYTES_MOVE, worker)
    count = gpus.get(role_of(worker), 0)
    if busy is None or not count:
        return NOTHING
    if busy <= marks.gpu_idle:
        return Says(Sign.STILL, Why.DEVICE_IDLE)
    if busy < marks.gpu_full:
        return Says(Sign.MOVING, Why.DEVICE_WORKS, worker)
    if pair.now.gpu_watts is None:
        return NOTHING  # busy for certain, and perhaps only waiting
    drawn = usual.get(worker)
    waits = marks.idle_watts * count if drawn is None else drawn / 2
    if pair.now.gpu_watts <= waits:
        return Says(Sign.STILL, Why.DEVICE_SPINS)
    return Says(Sign.MOVING, Why.DEVICE_WORKS, worker)


# --- processes -----------------------------------------------------------------------------------


def process(both: Sequence[Pair], marks: Marks) -> Says:
    """Return what processes say: where they stand, and how much they run.

    Places that change say that something goes on, whatever the CPU says.
    """
    said = [_places(both), *_by_cpu(both, marks)]
    for sign in (Sign.MOVING, Sign.STILL):
        found = [one for one in said if one.sign is sign]
        if found:
            return next((one for one in found if one.worker), found[0])
    return NOTHING


def _places(both: Sequence[Pair]) -> Says:
    """Compare places between the samples and between workers; half must be known."""
    known = [p for p in both if p.before.stack is not None and p.now.stack is not None]
    if not known or 2 * len(known) < len(both):
        return NOTHING
    changed = [p for p in known if p.before.stack != p.now.stack]
    if 2 * len(changed) > len(known):
        return Says(Sign.MOVING, Why.PLACES_CHANGE)
    return NOTHING if changed else _together(known)


def _together(known: Sequence[Pair]) -> Says:
    """Nobody has moved on: do they all wait at one place, or all but one?"""
    (place, many), *rest = Counter(pair.now.stack for pair in known).most_common()
    if not rest:
        return Says(Sign.STILL, Why.SAME_PLACE)
    if many == len(known) - 1 and many > 1:
        odd = next(pair.now.worker for pair in known if pair.now.stack != place)
        return Says(Sign.STILL, Why.ONE_ELSEWHERE, odd)
    return NOTHING


def _by_cpu(both: Sequence[Pair], marks: Marks) -> Iterator[Says]:
    cores = {pair.now.worker: pair.cores for pair in both}
    stuck = [p.now.worker for p in both if _waits_for_a_disk(p, marks)]
    if stuck:
        yield Says(Sign.STILL, Why.DISK, stuck[0] if len(stuck) == 1 else None)
    if cores and all(used is not None and used <= marks.idle_cores for used in cores.values()):
        yield Says(Sign.STILL, Why.ASLEEP)
    for workers in _roles(cores):
        yield _dispersion({worker: cores[worker] for worker in workers}, marks)


def _waits_for_a_disk(pair: Pair, marks: Marks) -> bool:
    asleep = pair.cores is not None and pair.cores <= marks.idle_cores
    return asleep and pair.before.state == pair.now.state == "D"


def _roles(workers: Iterable[str]) -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for worker in workers:
        found.setdefault(role_of(worker), []).append(worker)
    return list(found.values())


def _dispersion(cores: Mapping[str, float | None], marks: Marks) -> Says:
    """All of one role spin but one, which sleeps: the others wait for that one."""
    known = {worker: used for worker, used in cores.items() if used is not None}
    asleep = [worker for worker, used in known.items() if used <= marks.idle_cores]
    spinning = sum(1 for used in known.values() if used >= marks.busy_cores)
    if len(asleep) == 1 and len(known) == len(cores) and spinning == len(known) - 1 >= 2:
        return Says(Sign.STILL, Why.ONE_SLEEPS, asleep[0])
    return NOTHING
