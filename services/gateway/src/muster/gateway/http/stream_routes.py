"""`/api/v1/stream`: what becomes of jobs, as it happens."""

from __future__ import annotations

from typing import Annotated

import fastapi
from fastapi import APIRouter, Request
from fastapi.responses import Response

from muster.gateway.http.changes import Wanted, changes
from muster.gateway.http.event_stream import EventStream
from muster.gateway.http.problems import Problem, violation
from muster.gateway.http.queries import RULES, StreamQuery
from muster.gateway.http.surface import Surface, language_of

HEADER = "Last-Event-ID"


def router(surface: Surface) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["stream"])
    slots = Slots(surface.settings.stream_clients)

    @routes.get(
        "/stream",
        name="stream",
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def stream(
        request: Request, query: Annotated[StreamQuery, fastapi.Query()]
    ) -> EventStream:
        """Events `status` (a job's new state), `gap`, `dropped` and `closing`; resumable by id."""
        surface.have_view()
        wanted = Wanted(
            tenant=query.tenant,
            job=query.job,
            after=_last_id(request, query),
            snapshot=query.snapshot,
            lang=language_of(request, query.lang),
        )
        slots.take()
        return EventStream(changes(surface, wanted), surface.settings.stream_send_s, slots.give)

    return routes


class Slots:
    """How many streams may be open."""

    def __init__(self, limit: int) -> None:
        self._limit, self._taken = limit, 0

    def take(self) -> None:
        """Take one. Raises Problem when there is none."""
        if self._taken >= self._limit:
            raise Problem(503, violation("E_STREAMS", "$", limit=self._limit), wait=10)
        self._taken += 1

    def give(self) -> None:
        """Give one back."""
        self._taken -= 1


def _last_id(request: Request, query: StreamQuery) -> int | None:
    text = request.headers.get(HEADER)
    if not text:
        return query.after
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        english, chinese = RULES[HEADER]
        raise Problem(
            400,
            violation(
                "E_PARAMETER_VALUE",
                "$.headers.last-event-id",
                field=HEADER,
                rule=english,
                rule_zh=chinese,
            ),
        )
    return int(text)
