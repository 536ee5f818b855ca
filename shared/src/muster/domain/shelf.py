"""The shelf of spot capacity: what is offered by zone and GPU model, what is held, what can be had.

Pure; for everybody who shows it. "None left" and "not offered" are kept apart, and where nobody
ever spoke of an item the nodes alone tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muster.domain.nodes import NodeCondition, NodeState
from muster.domain.state import JobState
from muster.domain.stock import StockChanged
from muster.domain.usage import Use, free_gpus, total, use_by

Place = tuple[str, str, str]
"""(pool, zone, GPU model)."""


@dataclass(frozen=True, slots=True)
class Item:
    """A GPU model in a zone. held, free: GPUs of its spot nodes that jobs have, or could have.

    offered: None where nobody ever spoke of it. noticed: of the held ones, those of nodes that are
    being taken back; until: when the first of these go.
    """

    pool: str
    zone: str
    gpu_model: str
    offered: StockChanged | None
    held: int = 0
    free: int = 0
    noticed: int = 0
    until: datetime | None = None

    @property
    def status(self) -> str:
        """Return `offered`, `withdrawn` (no longer offered: not the same as none left) or `unknown`
        (nobody ever spoke of it)."""
        if self.offered is None:
            return "unknown"
        return "withdrawn" if self.offered.gpus is None else "offered"

    @property
    def available(self) -> int:
        """GPUs that a spot job could have now, wherever they are."""
        if self.offered is None:
            return self.free
        return max(0, min(self.free, (self.offered.gpus or 0) - self.held))

    @property
    def over(self) -> int:
        """GPUs that are held beyond what is offered."""
        return max(0, self.held - (self.offered.gpus or 0)) if self.offered else 0

    @property
    def going(self) -> int:
        """GPUs that are held and must be given back."""
        return max(self.over, self.noticed)

    @property
    def gone_by(self) -> datetime | None:
        """When the first of them must be back; None: nothing must, or at once."""
        stock = self.offered.deadline if self.offered and self.over else None
        return min((at for at in (stock, self.until) if at), default=None)

    def row(self) -> dict[str, Any]:
        """Return the item by the names that programs know. offered_gpus: None = not spoken of, or
        withdrawn; `status` tells."""
        said = self.offered
        return {
            "pool": self.pool,
            "zone": self.zone,
            "gpu_model": self.gpu_model,
            "status": self.status,
            "offered_gpus": said.gpus if said else None,
            "held_gpus": self.held,
            "free_gpus": self.free,
            "available_gpus": self.available,
            "going_gpus": self.going,
            "gone_by": self.gone_by,
            "price": said.price if said else None,
            "currency": said.currency if said else None,
            "network": said.network if said else None,
        }


def shelf(
    stock: Iterable[StockChanged],
    nodes: Sequence[NodeState],
    jobs: Iterable[JobState],
    blocked: Callable[[NodeState], bool] = lambda node: False,
) -> list[Item]:
    """Return every item that is spoken of or has spot nodes, by pool, zone and model.

    blocked: nodes that whoever asks may not use; what is free there is not free for them.
    """
    here: dict[tuple[str, str], list[JobState]] = defaultdict(list)
    for job in jobs:
        for name in job.held:
            here[job.pool, name].append(job)
    on: dict[Place, list[tuple[NodeState, Use]]] = defaultdict(list)
    for node in nodes:
        if node.shape.spot and node.condition is not NodeCondition.GONE:
            use = total(use_by(job, node.node) for job in here[node.pool, node.node])
            on[node.pool, node.shape.zone, node.shape.gpu_model].append((node, use))
    known = {(item.pool, item.zone, item.gpu_model): item for item in stock}
    return [
        _item(place, known.get(place), on.get(place, []), blocked)
        for place in sorted({*known, *on})
    ]


def _item(
    place: Place,
    offered: StockChanged | None,
    nodes: Sequence[tuple[NodeState, Use]],
    blocked: Callable[[NodeState], bool],
) -> Item:
    leaving = [
        (node, use)
        for node, use in nodes
        if node.condition is NodeCondition.RECLAIMING and use.gpus
    ]
    return Item(
        *place,
        offered,
        held=sum(use.gpus for _, use in nodes),
        free=sum(free_gpus(node, use) for node, use in nodes if not blocked(node)),
        noticed=sum(use.gpus for _, use in leaving),
        until=min((node.deadline for node, _ in leaving if node.deadline), default=None),
    )
