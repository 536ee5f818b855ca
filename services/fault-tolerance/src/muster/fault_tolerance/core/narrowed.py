"""What a second sign beside the cause makes of it. Pure; called by `refine`, after the choice.

Each function takes a cause and returns it, changed where its own case applies.
"""

from __future__ import annotations

import re
from dataclasses import replace

from muster.domain.diagnosis import Action, Blame, Kind, Source, Stage
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.alone import alone
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.spread import showing

LEAVES = frozenset({Action.EXCLUDE, Action.CORDON})
_CONTAINED = 94
"""The XID of a memory error that ended one program and left the GPU usable."""
_NOT_BEGUN = {None, Stage.CREATE, Stage.INIT}
_LOCAL = re.compile(r"'/(?:tmp|var/tmp|dev/shm|local|scratch|mnt/(?:local|nvme))\b")
_OTHERS = "gpu.foreign_process"
_LIBRARY = re.compile(r'\s*File "[^"]*(?:site|dist)-packages/')
_FRAME = re.compile(r'\s*File "')


def narrowed(cause: Cause, view: View) -> Cause:
    """Return the cause as what stands beside it has it."""
    for look in (alone, *_LOOKS):
        cause = look(cause, view)
    return cause


def _memory_of_others(cause: Cause, view: View) -> Cause:
    """One worker finds its card full of another's; where all do, they share cards themselves."""
    if cause.rule != _OTHERS or not len(view.failure.workers) == len(showing(view, cause)) > 1:
        return cause
    return _own(cause)


def _own(cause: Cause) -> Cause:
    return replace(cause, blame=Blame.USER, kind=Kind.DETERMINISTIC, action=Action.STOP, nodes=())


def _contained(cause: Cause, view: View) -> Cause:
    """A memory error that the driver contained needs no other node."""
    if cause.source is not Source.LOG or cause.blame is not Blame.HARDWARE:
        return cause
    codes = {s.hit.code for s in view.signs.nodes if s.node == cause.node and s.hit.code}
    if _CONTAINED not in codes or cause.rule != "gpu.ecc":
        return cause
    return replace(cause, action=Action.RETRY, nodes=())


def _every_node_refuses(cause: Cause, view: View) -> Cause:
    """A container that no node can create in the same words is made wrongly."""
    if cause.source is not Source.POD or cause.action not in LEAVES:
        return cause
    workers = view.failure.workers
    alike = {(worker.reason, worker.exit_code, worker.message) for worker in workers}
    nodes = {worker.node for worker in workers}
    if view.stage not in _NOT_BEGUN or len(nodes) < 2 or len(alike) > 1:
        return cause
    return replace(cause, blame=Blame.USER, kind=Kind.DETERMINISTIC, action=Action.STOP, nodes=())


def _checkpoint_before(cause: Cause, view: View) -> Cause:
    """A broken checkpoint passes once: the next attempt starts from the complete one before it."""
    folder = view.failure.checkpoint
    if cause.rule != "ckpt.corrupt" or folder is None or folder.newest is None:
        return cause
    return replace(cause, kind=Kind.TRANSIENT)


def _own_scratch(cause: Cause, view: View) -> Cause:
    """Local disks that are full on every node at once were filled by the job."""
    if cause.rule != "fs.enospc" or cause.sign is None or not _LOCAL.search(cause.sign.hit.text):
        return cause
    return _own(cause) if len(view.failure.workers) == len(showing(view, cause)) > 1 else cause


def _may_be_a_race(cause: Cause, view: View) -> Cause:
    """What one worker alone cannot parse, inside of a library, another one may just be writing."""
    rule = cause.rule or ""
    if not rule.startswith("cfg.file_format") or not in_a_library_of_one(cause, view):
        return cause
    return replace(cause, blame=Blame.UNKNOWN, kind=Kind.EITHER, action=Action.RETRY_ONCE)


def in_a_library_of_one(cause: Cause, view: View) -> bool:
    """Tell whether one worker of several raised it, and in a library: then it may be a race.

    What every worker does fails on every worker.
    """
    worker = next((w for w in view.failure.workers if w.worker == cause.worker), None)
    if worker is None or cause.sign is None or len(view.failure.workers) < 2:
        return False
    return len(showing(view, cause)) == 1 and _raised_in_library(worker, cause.sign.hit.number)


def _raised_in_library(worker: WorkerEvidence, number: int) -> bool:
    frames = [line for line in worker.tail.splitlines()[:number] if _FRAME.match(line)]
    return bool(frames) and _LIBRARY.match(frames[-1]) is not None


_LOOKS = (
    _memory_of_others,
    _contained,
    _every_node_refuses,
    _checkpoint_before,
    _own_scratch,
    _may_be_a_race,
)
