"""Which nodes an idle job may use, by how soon the room there is likely to be taken back.

The risk of a node is how many of the next workers of the pool's usual mix would come to it, if each
went to any of the nodes that have room for it. A fragment that nobody else can use has none; one of
a few nodes with room for everybody has much; one of a thousand empty nodes has little.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.domain.demand import StabilityLevel
from muster.scheduler.core.rooms import Kind
from muster.scheduler.core.scoring import Market

NEXT_WORKERS = 10
"""So many workers to come are thought of."""

BOUNDS: Mapping[StabilityLevel, float | None] = {
    StabilityLevel.LOW: None,
    StabilityLevel.MEDIUM: 0.5,
    StabilityLevel.HIGH: 0.1,
}
"""The largest risk that a node may have for an idle job of a level: the higher, the less. Assumed
to be right until measurements say better (`steadiness`)."""


def risks(sizes: Mapping[Kind, int], market: Market) -> dict[Kind, float]:
    """Return the risk of a node of each kind. sizes: how many nodes of it there are."""
    found: dict[Kind, float] = dict.fromkeys(sizes, 0.0)
    for need, models, weight in market.shapes:
        hosts = [
            kind
            for kind, size in sizes.items()
            if size and (models is None or kind.gpu_model in models) and kind.free.holds(need)
        ]
        count = sum(sizes[kind] for kind in hosts)
        for kind in hosts:
            found[kind] += NEXT_WORKERS * weight / count
    return found


def allows(bound: float | None, risk: float) -> bool:
    """Tell whether an idle job whose level has this bound may use a node of this risk."""
    return bound is None or risk <= bound
