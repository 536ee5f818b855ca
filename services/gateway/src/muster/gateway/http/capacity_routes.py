"""`/api/v1/nodes`, `/api/v1/pools` and `/api/v1/stock`."""

from __future__ import annotations

from typing import Annotated

import fastapi
from fastapi import APIRouter

from muster.domain.nodes import NodeCondition
from muster.gateway.core.capacity import NodeUse
from muster.gateway.http.queries import CapacityQuery, NodeQuery, StockQuery
from muster.gateway.http.rows import Nodes, Pools, node_row, pool_row
from muster.gateway.http.shelf import Shelf, item_row
from muster.gateway.http.surface import Surface


def router(surface: Surface) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["capacity"])

    @routes.get("/nodes", name="nodes")
    async def nodes(query: Annotated[NodeQuery, fastapi.Query()]) -> Nodes:
        """Nodes, who is on them and what is free, by pool and name."""
        surface.have_view()
        uses = surface.reading.nodes(query.pool, query.asks)
        shown = [node_row(use) for use in uses if _is_asked_for(use, query.condition)]
        return Nodes(nodes=shown, position=surface.reading.view.position)

    @routes.get("/pools", name="pools")
    async def pools(query: Annotated[CapacityQuery, fastapi.Query()]) -> Pools:
        """Pools: capacity, use, fragments, jobs by phase, and the last placement round."""
        surface.have_view()
        shown = [pool_row(pool) for pool in surface.reading.pools(query.asks)]
        return Pools(pools=shown, position=surface.reading.view.position)

    @routes.get("/stock", name="stock")
    async def stock(query: Annotated[StockQuery, fastapi.Query()]) -> Shelf:
        """Spot capacity that can be had now, by pool, zone and GPU model."""
        surface.have_view()
        found = surface.reading.stock(query.pool, query.asks)
        shown = [item_row(item, enabled=enabled) for item, enabled in found]
        return Shelf(stock=shown, position=surface.reading.view.position)

    return routes


def _is_asked_for(use: NodeUse, condition: NodeCondition | None) -> bool:
    """Without a condition: what is part of its cluster, and what is not but still has workers."""
    if condition is not None:
        return use.state.condition is condition
    return use.state.condition is not NodeCondition.GONE or bool(use.holdings)
