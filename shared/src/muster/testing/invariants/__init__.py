"""Invariants I1-I22 as code: checked after every step of a world, each change looked at once."""

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
from muster.testing.invariants.preemption import GuaranteeIsKept, VictimsAreUseful
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
    WhatIsShownIsTrue,
    BudgetsAreSeparate,
    ReasonsAreTrue,
    TheUsersWordIsKept,
)
"""Every invariant that looks at the log and the cluster alone; what others build on comes first."""


def every(cluster: SimCluster) -> Fold:
    """Return a watcher for a world that checks them all."""
    known = Known(cluster)
    return Fold(known, [invariant(known) for invariant in OBSERVED])
