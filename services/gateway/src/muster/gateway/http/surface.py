"""What the routes stand on: one value, put together by the composition root."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property

from fastapi import Request

from muster.bus import Bus
from muster.gateway.http.metrics import Metrics
from muster.gateway.http.problems import Problem, violation
from muster.gateway.http.queries import Language
from muster.gateway.hub import Hub
from muster.gateway.readiness import Readiness
from muster.gateway.reading import Reading
from muster.gateway.settings import GatewaySettings


@dataclass(frozen=True)
class Surface:
    """The gateway as its HTTP part sees it."""

    reading: Reading
    hub: Hub
    readiness: Readiness
    bus: Bus
    settings: GatewaySettings

    @cached_property
    def metrics(self) -> Metrics:
        """Counters of this server."""
        return Metrics(self.reading, self.hub)

    def authorise(self, request: Request) -> None:
        """Refuse a reader without the token, where one is set."""
        token = self.settings.token
        if token is None:
            return
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        expected = token.get_secret_value().encode()
        if scheme.lower() != "bearer" or not secrets.compare_digest(sent.encode(), expected):
            raise Problem(401, violation("E_TOKEN", "$.headers.authorization"))

    def have_view(self) -> None:
        """Refuse while the view has not reached the log's end once: it would show too little."""
        if not self.readiness.caught_up:
            raise Problem(503, violation("E_STARTING", "$"), wait=1)


def language_of(request: Request, asked: Language | None) -> Language:
    """Return the language that was asked for, by parameter or by header; English otherwise."""
    if asked is not None:
        return asked
    ranges = request.headers.get("accept-language", "").split(",")
    best = max((_weighed(each) for each in ranges), key=lambda pair: pair[0], default=(0.0, ""))
    return "zh" if best[0] > 0 and best[1].startswith("zh") else "en"


def _weighed(text: str) -> tuple[float, str]:
    """Read one range of Accept-Language, such as `zh-CN;q=0.8`."""
    tag, _, parameter = text.strip().lower().partition(";")
    try:
        weight = float(parameter.strip().removeprefix("q=") or 1)
    except ValueError:
        weight = 0.0
    return weight if tag[:2] in {"zh", "en"} else 0.0, tag
