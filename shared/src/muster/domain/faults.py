"""What a job's failures leave behind for the next verdict, and when a restart is given back.

Pure pieces of `muster.domain.evolve`. Progress is what counts: a failure that comes again without
any is the same failure, and a restart comes back only after new work that is safe in a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from muster.domain.model import Frozen, Instant

NODES = 64
"""Nodes of a failed attempt that are remembered."""
HEALTHY = timedelta(minutes=30)
"""A run must last so long, and save a checkpoint, before a restart is given back."""


class Faults(Frozen):
    """fingerprint: of the last failure. count: how often it came in a row without progress.

    step: the last step known then. nodes: where it happened, the last time and the times before
    that belong to the same row. disjoint: twice in this row no node was the same. credited_at: when
    a restart was last given back.
    """

    fingerprint: str
    count: int = 1
    step: int = 0
    nodes: tuple[str, ...] = ()
    disjoint: bool = False
    credited_at: Instant | None = None


def after_failure(
    known: Faults | None, fingerprint: str, step: int, nodes: Iterable[str]
) -> Faults:
    """Return what is known once an attempt on these nodes has failed with this fingerprint."""
    placed = tuple(sorted(nodes))[:NODES]
    credited = known.credited_at if known else None
    if known is None or known.fingerprint != fingerprint or step > known.step:
        return Faults(fingerprint=fingerprint, step=step, nodes=placed, credited_at=credited)
    apart = bool(placed) and bool(known.nodes) and not set(placed) & set(known.nodes)
    return known.model_copy(
        update={
            "count": known.count + 1,
            "nodes": placed,
            "disjoint": known.disjoint or apart,
        }
    )


def gives_back(
    known: Faults | None, *, step: int, started_at: datetime | None, at: datetime
) -> bool:
    """Tell whether a checkpoint of `step` that is heard of at `at` gives a restart back.

    It must be of new work, and the run must have been healthy for long since it began and since a
    restart was last given back.
    """
    if known is None or started_at is None or step <= known.step:
        return False
    since = max(started_at, known.credited_at) if known.credited_at else started_at
    return at - since >= HEALTHY
