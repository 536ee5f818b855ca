"""`/api/v1/nodes/lemons`: every node against the fleet, as fault tolerance rates it. Only asks."""

from __future__ import annotations

from typing import Annotated

import fastapi
from fastapi import APIRouter
from pydantic import ValidationError

from muster.bus import NobodyAnswers
from muster.contracts import subjects
from muster.contracts.judgements import AskNodes, NodeRatings
from muster.domain.errors import Permanent
from muster.gateway.http.problems import Problem, violation
from muster.gateway.http.queries import LemonQuery
from muster.gateway.http.surface import Surface


def router(surface: Surface) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["capacity"])

    @routes.get("/nodes/lemons", name="lemons")
    async def lemons(query: Annotated[LemonQuery, fastapi.Query()]) -> NodeRatings:
        """Nodes, the surest to be sick first: attributed failures, rates and what is proposed."""
        asked = AskNodes(pool=query.pool)
        subject = subjects.judgement_subject(asked.kind)
        body = asked.model_dump_json(exclude_none=True).encode()
        try:
            reply = await surface.bus.ask(subject, body, surface.settings.plan_s)
            return NodeRatings.model_validate_json(reply)
        except NobodyAnswers as error:
            raise Problem(503, violation("E_NO_FAULT_TOLERANCE", "$"), wait=1) from error
        except (Permanent, ValidationError) as error:
            raise Problem(502, violation("E_NO_RATINGS", "$")) from error

    return routes
