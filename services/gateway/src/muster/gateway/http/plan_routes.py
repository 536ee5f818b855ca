"""`/api/v1/jobs/{tenant}/{job}/explanation` and `/api/v1/fit`: what the scheduler is asked.

Both only ask. `fit` is a POST since a specification does not fit into an address; nothing is
submitted by it.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import fastapi
from fastapi import APIRouter, Request
from pydantic import ValidationError

from muster.bus import NobodyAnswers
from muster.contracts import subjects
from muster.contracts.checking import check
from muster.contracts.queries import MOST_BYTES, ExplainJob, FitJob, Query, QueryAnswer
from muster.domain.errors import Permanent, Temporary
from muster.gateway.http.problems import Problem, violation
from muster.gateway.http.queries import ExplainQuery, Token
from muster.gateway.http.surface import Surface

UNKNOWN = "E_JOB_UNKNOWN"
JSON = "application/json"


def router(surface: Surface) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["plan"])

    @routes.get("/jobs/{tenant}/{job}/explanation", name="explanation")
    async def explanation(
        tenant: Token, job: Token, query: Annotated[ExplainQuery, fastapi.Query()]
    ) -> QueryAnswer:
        """Why a job is not running, what would help, and what the next round would do with it."""
        pool, seq = await _pool_of(surface, tenant, job)
        asked = ExplainJob(
            tenant=tenant,
            job=job,
            what_if=tuple(query.what_if),
            priority=query.supposed_priority,
            at_least=seq,
        )
        return await _ask(surface, pool, asked)

    @routes.post("/fit", name="fit", openapi_extra=_BODY)
    async def fit(request: Request) -> QueryAnswer:
        """What would become of a job if it was submitted now. It is not submitted."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise Problem(415, violation("E_CONTENT", "$.headers.content-type"))
        asked, broken = check(FitJob, await _body(request))
        if asked is None:
            raise Problem(400, *broken)
        return await _ask(surface, _pool_in(asked), asked)

    return routes


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": FitJob.model_json_schema()}},
    }
}


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise Problem(413, violation("E_TOO_LARGE", "$", limit=MOST_BYTES))
    return bytes(body)


async def _pool_of(surface: Surface, tenant: str, job: str) -> tuple[str, int]:
    """Return a job's pool, and the last event that the answer must know."""
    try:
        async with asyncio.timeout(surface.settings.leader_s):
            last = await surface.reading.last(tenant, job)
    except TimeoutError as error:
        raise Temporary("the log does not answer") from error
    if last is None:
        raise Problem(404, violation(UNKNOWN, "$.path.job", tenant=tenant, job=job))
    return last.job.pool, last.seq


def _pool_in(asked: FitJob) -> str:
    """Return the pool that a specification names; whatever else it says is the scheduler's."""
    resource = asked.spec.get("resource")
    pool = resource.get("pool", "default") if isinstance(resource, dict) else "default"
    try:
        return subjects.token(pool)
    except (subjects.BadSubject, TypeError) as error:
        raise Problem(400, violation("E_POOL", "$.spec.resource.pool")) from error


async def _ask(surface: Surface, pool: str, asked: Query) -> QueryAnswer:
    subject = subjects.query_subject(pool, asked.kind)
    body = asked.model_dump_json(exclude_none=True).encode()
    try:
        reply = await surface.bus.ask(subject, body, surface.settings.plan_s)
        answer = QueryAnswer.model_validate_json(reply)
    except NobodyAnswers as error:
        raise Problem(503, violation("E_NO_SCHEDULER", "$", pool=pool), wait=1) from error
    except (Permanent, ValidationError) as error:
        raise Problem(502, violation("E_NO_ANSWER", "$", pool=pool)) from error
    if answer.violations:
        unknown = any(each.code == UNKNOWN for each in answer.violations)
        raise Problem(404 if unknown else 400, *answer.violations)
    return answer
