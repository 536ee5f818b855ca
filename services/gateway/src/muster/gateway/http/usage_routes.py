"""`/api/v1/usage`: GPU-seconds and time, summed up from the archive."""

from __future__ import annotations

from typing import Annotated

import fastapi
from fastapi import APIRouter

from muster.contracts.usage import UsageAnswer, usage_rows, usage_sum
from muster.gateway.http.queries import UsageQuery
from muster.gateway.http.surface import Surface


def router(surface: Surface) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["usage"])

    @routes.get("/usage", name="usage")
    async def usage(query: Annotated[UsageQuery, fastapi.Query()]) -> UsageAnswer:
        """What jobs held and for how long, and what they waited; what goes on, up to now."""
        asked = query.asked(surface.readiness.now())
        found = await surface.reading.usage(asked)
        return UsageAnswer(
            source="archive",
            by=asked.by,
            since=asked.since,
            until=asked.until,
            rows=usage_rows(asked.by, found.rows),
            total=usage_sum(found.total),
            groups=found.groups,
            gaps=found.gaps,
            whole=found.whole,
            position=found.position,
        )

    return routes
