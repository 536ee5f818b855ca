"""The `up` of the state folder: whether it runs, and whether each of its services is ready."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator

from muster.cli.checkup.finding import Finding, fine, note, problem, refused, warning
from muster.cli.stack import workers
from muster.cli.stack.folder import StateFolder, Up

ANSWER_S = 8.0


async def services(folder: StateFolder) -> AsyncIterator[Finding]:
    """Yield what is known of the services of this folder."""
    up = folder.read()
    left = len(await workers.living(folder))
    if up is None or not up.runs:
        yield warning("up.left_workers", count=left) if left else note("up.none")
        return
    yield fine("up", pid=up.pid, workers=left)
    for finding in _readiness(up):
        yield finding


def _readiness(up: Up) -> list[Finding]:
    if not up.health:
        return []
    try:
        states = _ask(f"{up.health}/readyz")
    except (OSError, ValueError) as error:
        return [problem("services.silent", why=error)]
    waiting = {name: why for name, why in states.items() if why != "ready"}
    if waiting:
        return [refused("services.waiting", why, name=name) for name, why in waiting.items()]
    return [fine("services", count=len(states))]


def _ask(url: str) -> dict[str, str]:
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_S) as answer:
            body = answer.read()
    except urllib.error.HTTPError as refused:  # 503 carries who is not ready, and why
        body = refused.read()
    states: dict[str, str] = json.loads(body)
    return states
