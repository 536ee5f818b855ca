"""The web application: routes, what is checked before each, and how errors are said.

Everything only reads; everything is GET, but for a question that no address holds. Built over a
`Surface`; serving it is `server`'s business.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import structlog
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.domain.errors import Temporary
from muster.gateway.http import (
    capacity_routes,
    health_routes,
    job_routes,
    lemon_routes,
    page_routes,
    plan_routes,
    stream_routes,
    usage_routes,
)
from muster.gateway.http.problems import Problem, answer, violation
from muster.gateway.http.queries import (
    ExplainQuery,
    JobQuery,
    LemonQuery,
    NodeQuery,
    Query,
    StreamQuery,
    UsageQuery,
    once,
    violations_of,
)
from muster.gateway.http.surface import Surface

_ROUTES = (job_routes, plan_routes, capacity_routes, lemon_routes, usage_routes, stream_routes)
_QUERIES: dict[str, type[Query]] = {
    "explanation": ExplainQuery,
    "jobs": JobQuery,
    "lemons": LemonQuery,
    "nodes": NodeQuery,
    "stream": StreamQuery,
    "usage": UsageQuery,
}
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


def create(surface: Surface) -> ASGIApp:
    """Return the application."""
    app = FastAPI(
        title="Muster gateway",
        version="1",
        description="Reads jobs, nodes, pools and use; follows their status.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    checked = [Depends(surface.authorise), Depends(once)]
    for routes in _ROUTES:
        app.include_router(routes.router(surface), prefix="/api/v1", dependencies=checked)
    app.include_router(health_routes.router(surface))
    app.include_router(page_routes.router())
    _say_errors(app)
    return Counted(app, surface)


def _say_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> JSONResponse:
        return answer(error.status, error.violations, error.wait)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(400, violations_of(error.errors(), _allowed(request)))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        code = "E_METHOD" if error.status_code == 405 else "E_PATH_UNKNOWN"
        return answer(error.status_code, [violation(code, "$")])

    @app.exception_handler(Temporary)
    async def away(request: Request, error: Temporary) -> JSONResponse:
        return answer(503, [violation("E_AWAY", "$")], wait=max(1, round(error.delay)))

    @app.exception_handler(Exception)
    async def unknown(request: Request, error: Exception) -> JSONResponse:
        structlog.get_logger().error("request failed", path=request.url.path, exc_info=error)
        return answer(500, [violation("E_INTERNAL", "$")])


def _allowed(request: Request) -> Sequence[str]:
    route = request.scope.get("route")
    model = _QUERIES.get(getattr(route, "name", ""), Query)
    return sorted(model.model_fields)


class Counted:
    """Counts and times every answer; on loopback, refuses a Host that names another place.

    A web page in the reader's own browser may have its name point to loopback; the Host header
    gives it away.
    """

    def __init__(self, app: ASGIApp, surface: Surface) -> None:
        self._app, self._surface = app, surface
        self._any_host = not surface.settings.is_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(scope, message["status"], time.perf_counter() - began)
            await send(message)

        if not self._any_host and _host(scope) not in _LOOPBACK:
            refusal = answer(400, [violation("E_HOST", "$.headers.host")])
            await refusal(scope, receive, counting)
            return
        await self._app(scope, receive, counting)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "name", "other")
        self._surface.metrics.requests.labels(route, status).inc()
        self._surface.metrics.seconds.labels(route).observe(seconds)


def _host(scope: Scope) -> str:
    found = [value for name, value in scope["headers"] if name == b"host"]
    host: str = found[0].decode("latin-1").lower() if found else ""
    return host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
