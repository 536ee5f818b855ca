"""How many workers, nodes and jobs show the same cause. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from muster.domain.diagnosis import Spread
from muster.domain.evidence import WorkerEvidence
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.failure import Elsewhere
from muster.fault_tolerance.core.signs import ended_at

SAME_TIME = timedelta(seconds=2)
"""Workers that show the same so near to each other show it for the same reason."""
MANY_JOBS = 2
"""Other jobs with the same failure within minutes: then it is not this one's."""


def showing(view: View, cause: Cause) -> tuple[WorkerEvidence, ...]:
    """Return the workers that failed of this cause at the same time as the first."""
    return tuple(_showing(view, cause))


def _showing(view: View, cause: Cause) -> Iterator[WorkerEvidence]:
    begin = ended_at(view.order[0]) if view.order else None
    for worker in view.order:
        end = ended_at(worker)
        late = begin is not None and end is not None and end - begin > SAME_TIME
        if not late and _shows(view, worker, cause):
            yield worker


def _shows(view: View, worker: WorkerEvidence, cause: Cause) -> bool:
    if cause.rule is None:
        return not any(sign.root for sign in view.signs.logs.get(worker.worker, ()))
    signs = view.signs
    seen = (s for of in (signs.pods, signs.logs, signs.exits) for s in of.get(worker.worker, ()))
    return any(sign.rule.id == cause.rule for sign in seen)


def spread_of(view: View, cause: Cause) -> Spread:
    """Return how many show it."""
    if platform_wide(view.failure.elsewhere):
        return Spread.JOBS
    count = len(showing(view, cause))
    if count <= 1:
        return Spread.ONE
    return Spread.ALL if count >= len(view.failure.workers) else Spread.SEVERAL


def platform_wide(elsewhere: Elsewhere) -> bool:
    """Tell whether the same goes on in other jobs, so that it is not this one's."""
    if elsewhere.incident is not None:
        return True
    return elsewhere.jobs >= MANY_JOBS and elsewhere.users >= MANY_JOBS


def everywhere(elsewhere: Elsewhere, nodes: Iterable[str]) -> bool:
    """Tell whether it goes on in other jobs on other nodes than these, so that no node is to blame.

    Many jobs that fail on one node are that node's.
    """
    if elsewhere.incident is not None:
        return True
    return platform_wide(elsewhere) and not {*elsewhere.nodes} <= {*nodes}
