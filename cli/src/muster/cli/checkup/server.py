"""The NATS server: version, clock, and whether what it acknowledges is on disk."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from muster.bus.api import Refused, call
from muster.bus.provision import NEEDED_SERVER
from muster.bus.topology import STREAMS
from muster.cli.checkup.finding import Finding, fine, note, problem, refused, warning
from muster.cli.stack.folder import StateFolder
from muster.contracts.subjects import CLOCK
from muster.domain.errors import Temporary
from muster.runtime.ports import LOOPBACK

if TYPE_CHECKING:
    from muster.domain.clock import ClockSet
    from muster.log import EventLog
    from muster.runtime.connection import Connection

OFF_S, FAR_OFF_S = 2.0, 60.0
SEEN_S = 1.0
NEARLY_FULL, FULL = 0.7, 0.85
ANSWER_S = 3.0


async def server(
    connection: Connection, log: EventLog, local: StateFolder | None
) -> AsyncIterator[Finding]:
    """Yield what can be said of the server that we are connected to."""
    yield _version(connection)
    try:
        yield await _clock(log)
        if (moved := await _moved(log)) is not None:
            yield moved
        for finding in await _storage(connection):
            yield finding
    except Temporary as error:
        yield refused("server.silent", error)
    yield _sync(local)


def _version(connection: Connection) -> Finding:
    version = connection.connected_server_version
    found = (version.major, version.minor, version.patch)
    words = {"version": _text(found), "needed": _text(NEEDED_SERVER)}
    return fine("server", **words) if found >= NEEDED_SERVER else problem("server.old", **words)


def _text(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


async def _clock(log: EventLog) -> Finding:
    before = time.monotonic()
    told = await log.now()
    middle = datetime.now(UTC).timestamp() - (time.monotonic() - before) / 2
    off = middle - told.timestamp()
    judged = fine if abs(off) < OFF_S else warning if abs(off) < FAR_OFF_S else problem
    return judged("clock", seconds=f"{off:+.2f}")


async def _moved(log: EventLog) -> Finding | None:
    """Say by how much Muster's time still differs from a server's clock that was moved."""
    found = await log.last(CLOCK, leader=True)
    if found is None:
        return None
    fact: ClockSet = found.event.data.detail
    ahead = fact.offset_at(await log.now())
    at = fact.at.isoformat(timespec="seconds")
    return note("clock.moved", seconds=f"{ahead:+.1f}", at=at) if abs(ahead) >= SEEN_S else None


async def _storage(connection: Connection) -> list[Finding]:
    try:
        info = await call(connection, "INFO")
    except Refused as error:
        return [problem("storage.refused", why=error)]
    return [storage(info), *counts(info)]


def storage(info: dict[str, Any]) -> Finding:
    """Judge how much the account holds. info: as the server tells of an account."""
    used, limit = int(info.get("storage", 0)), int(info.get("limits", {}).get("max_storage", -1))
    shown = f"{used / (1 << 20):.1f} MiB"
    if limit <= 0 or used < NEARLY_FULL * limit:
        return fine("storage", used=shown)
    judged = problem if used > FULL * limit else warning
    return judged("storage.full", used=shown, limit=f"{limit / (1 << 20):.1f} MiB")


def counts(info: dict[str, Any]) -> list[Finding]:
    """Tell of an account that may not have as many streams as Muster needs.

    A limit of consumers counts those of each stream, where more than ours may come and go.
    """
    limit, used = int(info.get("limits", {}).get("max_streams", -1)), int(info.get("streams", 0))
    if not 0 < limit < len(STREAMS):
        return []
    needed = len(STREAMS)
    return [problem("storage.count", what="streams", used=used, limit=limit, needed=needed)]


def _sync(local: StateFolder | None) -> Finding:
    """One server alone must sync each write; only its monitoring says whether it does."""
    record = local.server() if local is not None else None
    if record is None:
        return note("sync.unknown")
    try:
        with urllib.request.urlopen(
            f"http://{LOOPBACK}:{record.monitor_port}/jsz", timeout=ANSWER_S
        ) as answer:
            config = json.load(answer).get("config", {})
    except (OSError, ValueError) as error:
        return warning("sync.silent", why=error)
    return fine("sync") if config.get("sync_always") else problem("sync.lazy")
