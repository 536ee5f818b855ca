"""The book of one round of what spot jobs hold on ordinary nodes, where a quota limits it.

A quota limits who comes, for so long at most, and sends nobody off. Nodes of spot capacity are not
counted: nobody with a better right takes what is there (see `stock`). Made by `Round`, and changes
with it.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from muster.domain.demand import ResourceClass
from muster.domain.facts import Placement
from muster.domain.state import JobState
from muster.scheduler.core.amounts import CARD
from muster.scheduler.core.jobs import JobKey
from muster.scheduler.core.policy import Policy, SpotQuota
from muster.scheduler.core.quota import NOBODY
from muster.scheduler.core.rank import entered
from muster.scheduler.core.snapshot import Snapshot
from muster.scheduler.core.stock import Holdings, Item, Scarce


class SpotRoom(Holdings):
    """See the module."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        found = snapshot.spot_quota if policy.spot_quota is not SpotQuota.OFF else None
        quotas = found.limits if found else {}
        limits = {item_of(model): math.floor(CARD * gpus) for model, gpus in quotas.items()}
        nodes = snapshot.nodes if limits else ()
        places = {n.node: item_of(n.shape.gpu_model) for n in nodes if not n.shape.spot}
        super().__init__(limits, places)
        self._now, self._patience = snapshot.now, timedelta(seconds=policy.spot_quota_wait_s)

    def limits(self, state: JobState) -> bool:
        """Tell whether the quota is for a job, and the job has not waited too long for it."""
        return self.active and is_spot(state) and self.spares_at(state) > self._now

    def spares_at(self, state: JobState) -> datetime:
        """Return from when on a job is kept out by nothing but room."""
        return entered(state) + self._patience

    def over(
        self, state: JobState, placement: Placement, gone: frozenset[JobKey] = NOBODY
    ) -> list[Scarce]:
        """See Holdings."""
        return super().over(state, placement, gone) if self.limits(state) else []

    def _amounts(self, state: JobState, placement: Placement) -> dict[Item, int]:
        return super()._amounts(state, placement) if is_spot(state) else {}


def item_of(gpu_model: str) -> Item:
    """Return the item of a model: the same in all zones."""
    return "", gpu_model


def is_spot(state: JobState) -> bool:
    """Tell whether a job is one that quotas are for."""
    return state.demand.resource_class is ResourceClass.SPOT
