"""`/healthz` (the process), `/readyz` (the truth), `/metrics`. Open to whoever reaches the port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from muster.bus import topology
from muster.domain.errors import MusterError
from muster.gateway.http.surface import Surface
from muster.gateway.readiness import Check, tried

CHECK_S = 2.0

T = TypeVar("T")


def router(surface: Surface) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz", name="healthz")
    async def healthz() -> dict[str, bool]:
        """The process answers."""
        return {"ok": True}

    @routes.get("/readyz", name="readyz")
    async def readyz() -> JSONResponse:
        """Every check by name: "ok", or what is wrong."""
        checks = surface.readiness.checks
        found = await asyncio.gather(*(_in_time(name, tried(name, t)) for name, t in checks))
        ready = all(check.wrong is None for check in found)
        body: dict[str, Any] = {check.name: check.wrong or "ok" for check in found}
        return JSONResponse({"ready": ready, "checks": body}, 200 if ready else 503)

    @routes.get("/metrics", name="metrics")
    async def metrics() -> Response:
        """Prometheus' text format."""
        waiting, end, rooms = await asyncio.gather(
            _known(surface.bus.waiting(topology.GATEWAY_ARCHIVE)),
            _known(surface.readiness.end()),
            _known(surface.bus.room()),
        )
        text = surface.metrics.text(waiting, end, rooms or ())
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return routes


async def _in_time(name: str, check: Awaitable[Check]) -> Check:
    try:
        return await asyncio.wait_for(check, CHECK_S)
    except TimeoutError:
        return Check(name, f"no answer within {CHECK_S:g} s")


async def _known(asked: Awaitable[T]) -> T | None:
    try:
        return await asyncio.wait_for(asked, CHECK_S)
    except (MusterError, TimeoutError):
        return None
