"""What jobs used: asked of the gateway, which has it all, else made from what the log still has.

Where the gateway is: MUSTER_GATEWAY_URL, else the one that the state folder's `up` runs. Called by
`muster usage`.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from pydantic import ValidationError

from muster.cli.errors import CliError, Refusal
from muster.cli.exits import Exit
from muster.cli.reach import Reach
from muster.cli.session import Session
from muster.cli.stack.folder import StateFolder
from muster.contracts.usage import UsageAnswer, usage_rows, usage_sum
from muster.domain.metering import Moment, Used, intervals, summed
from muster.domain.violations import Violation
from muster.gateway.core.filters import JobFilter

ANSWER_S = 30.0
_REFUSED = frozenset({400, 401, 404})
_UNKNOWN = 404


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose use, from when to when (None = from the beginning, up to now), summed up by what."""

    by: tuple[str, ...]
    since: datetime | None = None
    until: datetime | None = None
    wanted: JobFilter = field(default_factory=JobFilter)
    top: int = 1000

    @property
    def query(self) -> str:
        """The same as parameters of the gateway."""
        times = {"since": self.since, "until": self.until}
        equal = {"tenant": self.wanted.tenant, "user": self.wanted.user, "pool": self.wanted.pool}
        pairs = [(name, at.isoformat()) for name, at in times.items() if at is not None]
        pairs += [(name, value) for name, value in equal.items() if value is not None]
        pairs += [("by", name) for name in self.by]
        pairs += [("label", text) for text in self.wanted.labels]
        return urlencode([*pairs, ("top", str(self.top))])


def gateway_url(session: Session) -> str | None:
    """Return where the gateway of this Muster is; None when nobody says so."""
    if session.state is None:
        named = os.environ.get("MUSTER_GATEWAY_URL")
        if named or os.environ.get("MUSTER_NATS_URL"):  # another Muster than that of this folder
            return named
    up = StateFolder(session.state_dir).read()
    return up.gateway if up is not None and up.runs and up.gateway else None


async def from_gateway(url: str, asked: Asked) -> UsageAnswer | None:
    """Ask the gateway. None when it cannot be reached, or is not ready. Raises CliError."""
    try:
        body = await asyncio.to_thread(_get, f"{url.rstrip('/')}/api/v1/usage?{asked.query}")
        return UsageAnswer.model_validate_json(body)
    except urllib.error.HTTPError as refused:
        if refused.code not in _REFUSED:
            return None
        raise _refusal(refused, url) from refused
    except (OSError, ValueError):  # not there, or not a gateway that knows of use
        return None


def _get(url: str) -> bytes:
    if not url.startswith(("http://", "https://")):
        raise ValueError("no address of a gateway")
    headers = {"Accept": "application/json"}
    if token := os.environ.get("MUSTER_GATEWAY_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
        body: bytes = answer.read()
    return body


def _refusal(refused: urllib.error.HTTPError, url: str) -> CliError:
    try:
        told = json.loads(refused.read())["violations"]
        violations = [Violation.model_validate(each) for each in told]
    except (KeyError, TypeError, ValueError, ValidationError):
        violations = []
    if refused.code == _UNKNOWN or not violations:
        return CliError("gateway", Exit.FAILED, url=url, status=refused.code)
    return Refusal("question", violations, what="usage")


async def from_log(muster: Reach, asked: Asked) -> UsageAnswer:
    """Meter the events that the log still has, job by job, by the same pure code."""
    lives: dict[tuple[str, str], dict[int, Moment]] = defaultdict(dict)
    position = 0
    async for item in muster.events((f"jobs.{asked.wanted.tenant or '*'}.*.*",)):
        state, position = item.job, item.seq
        lives[state.tenant, state.job].setdefault(state.version, (state, item.event.time))
    shapes = {(node.pool, node.node): node.shape.gpu_model for node in await muster.nodes()}
    now = await muster.now()
    until = min(asked.until or now, now)
    own, gaps = [], 0
    for told in lives.values():
        last, _ = told[max(told)]
        if not asked.wanted.matches(last):
            continue
        found = intervals(
            told.values(),
            until,
            since=asked.since,
            models=lambda pool, node: shapes.get((pool, node)),
        )
        own.append((last, found))
        gaps += len(told) != max(told)
    sums = sorted(summed(own, asked.by).items(), key=lambda pair: (-pair[1].charge, pair[0]))
    return UsageAnswer(
        source="log",
        by=asked.by,
        since=asked.since,
        until=until,
        rows=usage_rows(asked.by, sums[: asked.top]),
        total=usage_sum(summed(own).get((), Used())),
        groups=len(sums),
        gaps=gaps,
        whole=True,
        position=position,
    )
