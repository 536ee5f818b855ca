"""`/api/v1/jobs`, `/api/v1/jobs/{tenant}/{job}` and its `/faults`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import fastapi
from fastapi import APIRouter, Request

from muster.domain.errors import Temporary
from muster.gateway.core.filters import place_of
from muster.gateway.http.fault_rows import FaultsPage, faults_page
from muster.gateway.http.problems import Problem, violation
from muster.gateway.http.queries import JobQuery, Query, Token, make_cursor
from muster.gateway.http.rows import JobDetail, JobPage, job_detail, job_row
from muster.gateway.http.surface import Surface, language_of
from muster.gateway.reading import Life


def router(surface: Surface) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["jobs"])

    @routes.get("/jobs", name="jobs")
    async def jobs(request: Request, query: Annotated[JobQuery, fastapi.Query()]) -> JobPage:
        """Jobs that match every filter, newest first, page by page."""
        surface.have_view()
        found = await surface.reading.jobs(query.wanted, query.before, query.limit + 1)
        page, more = found[: query.limit], len(found) > query.limit
        lang, told = language_of(request, query.lang), surface.reading.waiting()
        return JobPage(
            jobs=[job_row(seen, lang, told.get(seen.name)) for seen in page],
            next=make_cursor(place_of(page[-1].state)) if more else None,
            position=surface.reading.view.position,
        )

    @routes.get("/jobs/{tenant}/{job}", name="job")
    async def job(
        request: Request, tenant: Token, job: Token, query: Annotated[Query, fastapi.Query()]
    ) -> JobDetail:
        """One job as the log's leader knows it, with every event of its life."""
        return job_detail(await _known(surface, tenant, job), language_of(request, query.lang))

    @routes.get("/jobs/{tenant}/{job}/faults", name="faults")
    async def faults(
        request: Request, tenant: Token, job: Token, query: Annotated[Query, fastapi.Query()]
    ) -> FaultsPage:
        """Every failure of one job: why, what was decided, who paid for it and what followed."""
        return faults_page(await _known(surface, tenant, job), language_of(request, query.lang))

    return routes


async def _known(surface: Surface, tenant: str, job: str) -> Life:
    life = await _life(surface, tenant, job)
    if life is None:
        raise Problem(404, violation("E_JOB_UNKNOWN", "$.path.job", tenant=tenant, job=job))
    return life


async def _life(surface: Surface, tenant: str, job: str) -> Life | None:
    """Ask the leader; while the log is away, say what is remembered."""
    try:
        async with asyncio.timeout(surface.settings.leader_s):
            return await surface.reading.life(tenant, job)
    except (Temporary, TimeoutError):
        remembered = await surface.reading.remembered(tenant, job)
        if remembered is None:
            raise Temporary("the log is away, and the job is not remembered") from None
        return remembered
