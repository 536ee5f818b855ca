"""What one node of a gang shows and no other does, though all do the same. Pure.

A missing file, mount, library or right is the specification's fault on every worker alike, and one
machine's fault if it is there alone. Called by `narrowed`, after the choice.
"""

from __future__ import annotations

import re
from dataclasses import replace

from muster.domain.diagnosis import Action, Kind, Source
from muster.fault_tolerance.core.cause import Cause
from muster.fault_tolerance.core.choice import View
from muster.fault_tolerance.core.spread import showing

FEWEST = 2
"""Nodes of a gang from which one can stand out."""
_QUOTED = re.compile(r"'([^']{1,300})'|\"([^\"]{1,300})\"")


def alone(cause: Cause, view: View) -> Cause:
    """Return the cause as the node's, where its rule says that it is and only one node shows it.

    The first rank does what no other does, so what it alone shows tells nothing of its node; nor
    does a path of the worker's own, or what was so on another node before.
    """
    rule = cause.sign.rule if cause.sign else None
    if rule is None or rule.alone is None or cause.source is not Source.LOG:
        return cause
    workers = view.failure.workers
    seen = {worker.node for worker in showing(view, cause)}
    first = min(workers, key=lambda worker: worker.rank).node
    if len({worker.node for worker in workers}) < FEWEST or len(seen) != 1 or first in seen:
        return cause
    if _names_its_rank(cause, view) or _was_elsewhere(cause, seen, view):
        return cause
    return replace(
        cause,
        blame=rule.alone,
        kind=Kind.TRANSIENT,
        action=Action.EXCLUDE,
        nodes=tuple(seen),
        advice=None,
    )


def _names_its_rank(cause: Cause, view: View) -> bool:
    """Tell whether what the line quotes has the worker's rank in it: every rank has its own."""
    worker = next((w for w in view.failure.workers if w.worker == cause.worker), None)
    if worker is None or cause.sign is None:
        return False
    own = re.compile(rf"(?<!\d)0*{worker.rank}(?!\d)")
    quoted = ("".join(found) for found in _QUOTED.findall(cause.sign.hit.text))
    return any(own.search(text) for text in quoted)


def _was_elsewhere(cause: Cause, seen: set[str], view: View) -> bool:
    earlier = view.failure.earlier
    return any(e.rule == cause.rule and e.node and e.node not in seen for e in earlier)
