"""What one node of a gang shows and no other does, though all do the same. Pure.

A missing file, mount, library or right is the specification's fault on every worker alike, and one
machine's fault if it is there alone. Called by `narrowed`, after the choice.
"""

from __future__ import annotations

from dataclasses import replace

from muster.domain.diagnosis import Action, Kind, Source
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.spread import showing

FEWEST = 2
"""Nodes of a gang from which one can stand out."""


def alone(cause: Cause, view: View) -> Cause:
    """Return the cause as the node's, where its rule says that it is and only one node shows it.

    The first rank does what no other does, so what it alone shows tells nothing of its node.
    """
    rule = cause.sign.rule if cause.sign else None
    if rule is None or rule.alone is None or cause.source is not Source.LOG:
        return cause
    workers = view.failure.workers
    seen = {worker.node for worker in showing(view, cause)}
    first = min(workers, key=lambda worker: worker.rank).node
    if len({worker.node for worker in workers}) < FEWEST or len(seen) != 1 or first in seen:
        return cause
    return replace(
        cause,
        blame=rule.alone,
        kind=Kind.TRANSIENT,
        action=Action.EXCLUDE,
        nodes=tuple(seen),
        advice=None,
    )
