"""Which worker failed first. Pure.

By time, corrected for clocks that run ahead. Launchers tell ends in whole seconds, so ties are
common; then a worker with a cause in its output comes before one without, one that does not report
on others before one that does, the one that most others name, and at last the lowest rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.failure import Failure
from muster.fault_tolerance.core.rules import Role
from muster.fault_tolerance.core.signs import Sign, Signs, ended_at

TIE = timedelta(seconds=1)
"""Ends so near to each other have no order."""
TOGETHER = timedelta(seconds=10)
"""What fails later than this after the first follows from it."""
_TOLD_EARLIER = timedelta(seconds=60)
"""A cause in the output moves the failure of a worker to its time, by so much at most."""
_NEVER = timedelta(days=3650)


def has_ended(worker: WorkerEvidence) -> bool:
    """Tell whether a worker is known to be over."""
    if worker.alive:
        return False
    return worker.exit_code is not None or worker.ended_at is not None or worker.cause != "exited"


def has_failed(worker: WorkerEvidence) -> bool:
    """Tell whether a worker is over and did not end well."""
    return has_ended(worker) and worker.exit_code != 0


def ranked(failure: Failure, signs: Signs) -> tuple[WorkerEvidence, ...]:
    """Return the workers that failed, the first one first.

    Where none failed, those that ended are returned: one that left while others stay.
    """
    over = [w for w in failure.workers if has_failed(w)]
    over = over or [w for w in failure.workers if has_ended(w)]
    if not over:
        return ()
    times = {w.worker: _time(failure, w, signs.logs.get(w.worker, ())) for w in over}
    over.sort(key=lambda w: (times[w.worker], w.rank))
    first = times[over[0].worker]
    tied = [w for w in over if times[w.worker] - first <= TIE]
    named = named_peers(failure, signs)
    tied.sort(key=lambda w: (*_telling(w, signs), -named[w.worker], w.rank))
    return (*tied, *over[len(tied) :])


def _time(failure: Failure, worker: WorkerEvidence, told: Iterable[Sign]) -> datetime:
    """Return when a worker failed. One that only vanished ended before anybody could say so."""
    end = ended_at(worker)
    if end is None:
        return failure.at - _NEVER if worker.cause != "exited" else failure.at
    causes = [s.at for s in told if s.root and s.at and end - _TOLD_EARLIER <= s.at <= end]
    return min(causes, default=end)


def _telling(worker: WorkerEvidence, signs: Signs) -> tuple[bool, bool]:
    told = signs.logs.get(worker.worker, ())
    has_cause = worker.worker in signs.pods or any(s.root and not s.rule.weak for s in told)
    reports = any(s.rule.role is Role.CASCADE for s in told)
    return not has_cause, reports


def named_peers(failure: Failure, signs: Signs) -> Counter[str]:
    """Return worker -> by how many others their output names it as the one that went away."""
    known = _names(failure.workers)
    named: Counter[str] = Counter()
    for reporter, told in signs.logs.items():
        peers = {known.get(s.hit.peer.lower()) for s in told if s.hit.peer}
        named.update(peer for peer in peers if peer is not None and peer != reporter)
    return named


def _names(workers: Iterable[WorkerEvidence]) -> Mapping[str, str]:
    """Return whatever a line may call a worker -> the worker: its name, rank or node.

    A node that holds several workers names none of them.
    """
    workers = tuple(workers)
    on_node = Counter(worker.node for worker in workers)
    names: dict[str, str] = {}
    for one in workers:
        names[str(one.rank)] = names[one.worker.lower()] = one.worker
        if on_node[one.node] == 1:
            names.setdefault(one.node.lower(), one.worker)
    return names
