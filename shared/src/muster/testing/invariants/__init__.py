"""Invariants I1-I24 as code: checked after every step of a world, each change looked at once."""

from __future__ import annotations

from muster.testing.cluster import SimCluster
from muster.testing.invariants.base import Fold, Invariant, Known
from muster.testing.invariants.capacity import (
    BooksEqualFacts,
    GangsAreWhole,
    NoNodeOverCapacity,
)
from muster.testing.invariants.counters import (
    BudgetsAreSeparate,
    CountersAreRight,
    EveryEntryHasItsClock,
)
from muster.testing.invariants.life import (
    EffectsHappenOnce,
    EndsAreFinal,
    NothingStaleCounts,
    OneWriter,
    WholeJobsLeave,
)
from muster.testing.invariants.liveness import NothingWaitsForEver
from muster.testing.invariants.order import FirstInLineFirstServed
from muster.testing.invariants.preemption import GuaranteeIsKept, VictimsAreUseful
from muster.testing.invariants.shares import SharesAreKept
from muster.testing.invariants.stock import StockIsKept
from muster.testing.invariants.truth import (
    ReasonsAreTrue,
    TheUsersWordIsKept,
    WhatIsShownIsTrue,
)

OBSERVED: tuple[type[Invariant], ...] = (
    OneWriter,
    NothingStaleCounts,
    NoNodeOverCapacity,
    GangsAreWhole,
    WholeJobsLeave,
    EndsAreFinal,
    CountersAreRight,
    EveryEntryHasItsClock,
    GuaranteeIsKept,
    VictimsAreUseful,
    EffectsHappenOnce,
    BooksEqualFacts,
    NothingWaitsForEver,
    FirstInLineFirstServed,
    WhatIsShownIsTrue,
    BudgetsAreSeparate,
    ReasonsAreTrue,
    TheUsersWordIsKept,
    SharesAreKept,
    StockIsKept,
)
"""Every invariant that looks at the log and the cluster alone; what others build on comes first."""


ELSEWHERE: dict[str, tuple[str, str]] = {
    "I9": (
        "Room that is freed for a job is held for it until it starts, ends or gives up.",
        "part of I1: what is promised counts like what is used; and of I8: no ping-pong",
    ),
    "I17": (
        "One notice for each rule, job and transition.",
        "`tests/notifier/test_world.py`: two notifiers, a moody receiver, and the same faults;"
        " scenarios count what was told",
    ),
    "I20": (
        "Rights are the caller's; secrets never leak.",
        "not observable here: this version knows no rights of its own, and takes secrets by"
        " reference only (`tests/executor`, `tests/gateway` look for leaks)",
    ),
}
"""What this package does not look at by itself: number -> text, and where or why not."""


def every(cluster: SimCluster) -> Fold:
    """Return a watcher for a world that checks them all."""
    known = Known(cluster)
    return Fold(known, [invariant(known) for invariant in OBSERVED])
