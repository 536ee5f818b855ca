"""The fragments of a pool after a plan: what of its free room is of use to which shape of worker.

Rows speak of the same free cards and are never summed. "Free in all" and "the largest gang that
fits now" stand side by side: many free cards may hold few workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muster.domain.demand import Demand, JobType, ResourceClass, StabilityLevel
from muster.domain.pools import FragmentRow, FragmentsMeasured
from muster.scheduler.core.amounts import ENDLESS
from muster.scheduler.core.doors import keeps_off
from muster.scheduler.core.market import Asked, counted, market_of
from muster.scheduler.core.rooms import Kind
from muster.scheduler.core.scoring import Fragments, Market
from muster.scheduler.core.stability import allows, risks
from muster.scheduler.core.steadiness import Bounds, bounds
from muster.scheduler.core.verdicts import Plan

MOST_SHAPES = 12
"""So many shapes are looked at, the most frequent ones."""


def measure(made: Plan) -> FragmentsMeasured:
    """Return the fragments of a pool as they are after a plan."""
    book = made.snapshot.book
    jobs = [*book.heads(), *((job.state, 1) for job in book.holding.values())]
    market = market_of(made.snapshot.nodes, jobs)
    sizes = _open_kinds(made)
    lost = Fragments(market.shapes) if market.shapes else None
    unused = sum(lost.of(k.gpu_model, k.free) * n for k, n in sizes.items()) if lost else 0.0
    shapes = counted(jobs, idle=True)
    popular = sorted(shapes, key=lambda shape: (-shapes[shape], _key(shape)))[:MOST_SHAPES]
    return FragmentsMeasured(
        free_milli=sum(kind.free.milli * size for kind, size in sizes.items()),
        fragmented_milli=round(unused),
        rows=tuple(_rows(popular, sizes, market, bounds(made.snapshot.stability))),
    )


def _key(shape: Asked) -> tuple[object, ...]:
    need, models = shape
    return need, tuple(sorted(models or ()))


def _open_kinds(made: Plan) -> dict[Kind, int]:
    """Return how many nodes of each kind may take new work."""
    sizes: dict[Kind, int] = {}
    for node in made.snapshot.nodes:
        if node.schedulable and not keeps_off(node, _ANY):
            kind = Kind(made.board.free(node.node), node.shape.gpu_model)
            sizes[kind] = sizes.get(kind, 0) + 1
    return sizes


_ANY = Demand(type=JobType.PYTORCH, resource_class=ResourceClass.RESERVED, roles=())
"""A job that tolerates nothing."""


def _rows(
    shapes: list[Asked], sizes: Mapping[Kind, int], market: Market, within: Bounds
) -> Iterator[FragmentRow]:
    risk = risks(sizes, market)
    for shape in shapes:
        need, models = shape
        serving = [k for k in sizes if models is None or k.gpu_model in models]
        for level in StabilityLevel:
            kinds = [kind for kind in serving if allows(within[level], risk[kind])]
            fits = {kind: min(kind.free.holds(need), ENDLESS >> 20) for kind in kinds}
            yield FragmentRow(
                gpus=need.gpus,
                gpu_milli=need.milli,
                gpu_model="|".join(sorted(models)) if models else None,
                cpus=need.cpus / 1000,
                memory_mib=need.memory,
                level=level,
                free_milli=sum(kind.free.milli * sizes[kind] for kind in kinds),
                gang=sum(fits[kind] * sizes[kind] for kind in kinds),
                nodes=sum(sizes[kind] for kind in kinds if fits[kind]),
            )
