"""`/`: one page for people, which reads the API like anybody else. Holds no data itself."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def router() -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["page"])
    page = files("muster.gateway.http").joinpath("page.html").read_text(encoding="utf-8")

    @routes.get("/", name="page")
    async def overview() -> HTMLResponse:
        """Jobs and nodes at a glance."""
        return HTMLResponse(page, headers=_HEADERS)

    return routes
