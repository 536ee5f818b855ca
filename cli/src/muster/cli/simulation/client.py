"""An outside system in a world: it publishes requests, as many times as it likes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from muster.contracts import subjects
from muster.contracts.requests import Answer, job_id, request_type
from muster.testing.world import World


class Client:
    """Requests of one tenant's people and systems."""

    def __init__(self, world: World, tenant: str = "acme", user: str = "ada") -> None:
        self._world, self.tenant, self.user = world, tenant, user

    def of(self, tenant: str) -> Client:
        """Return a person of the same name in another tenant."""
        return Client(self._world, tenant, self.user)

    def ask(self, verb: str, request: str, **data: Any) -> str:
        """Publish a request; return its id. The same id again is the same request."""
        body = {
            "specversion": "1.0",
            "id": request,
            "source": "simulation",
            "type": request_type(verb),
            "data": {"user": self.user, **data},
        }
        subject = subjects.request_subject(self.tenant, verb)
        self._world.bus.publish(subject, json.dumps(body).encode())
        return request

    def submit(self, request: str, spec: Mapping[str, Any]) -> str:
        """Ask for a job; return the id that it will have."""
        self.ask("submit", request, spec=dict(spec))
        return job_id(self.tenant, request)

    def answers(self, request: str) -> list[Answer]:
        """Return every answer that a request has got."""
        return self._world.bus.answers[subjects.answer_subject(self.tenant, request)]
