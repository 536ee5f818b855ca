"""How full the streams are, asked of the server. Called by the bus; a full stream refuses work."""

from __future__ import annotations

import asyncio
from typing import Any

from nats.aio.client import Client

from muster.bus import ACCOUNT, Room
from muster.bus.api import NOT_FOUND, Refused, call
from muster.bus.topology import STREAMS
from muster.domain.errors import Temporary

ANSWER_S = 2.0


async def rooms(connection: Client) -> tuple[Room, ...]:
    """Return each stream that there is, and the account. Raises Temporary."""
    names = [str(spec.name) for spec in STREAMS]
    infos = await asyncio.gather(*(_info(connection, f"STREAM.INFO.{name}") for name in names))
    found = [_stream(name, info) for name, info in zip(names, infos, strict=True) if info]
    account = await _info(connection, "INFO")
    return (*found, _account(account, found)) if account else tuple(found)


async def _info(connection: Client, subject: str) -> dict[str, Any] | None:
    try:
        return await call(connection, subject, timeout=ANSWER_S)
    except Refused as refused:
        if refused.err_code in NOT_FOUND:
            return None
        raise Temporary(f"{subject}: {refused}") from refused


def _stream(name: str, info: dict[str, Any]) -> Room:
    state, limit = info["state"], int(info["config"].get("max_bytes", 0))
    return Room(name, int(state["messages"]), int(state["bytes"]), max(0, limit))


def _account(info: dict[str, Any], streams: list[Room]) -> Room:
    limit = int(info.get("limits", {}).get("max_storage", 0))
    used, messages = int(info.get("storage", 0)), sum(each.messages for each in streams)
    return Room(ACCOUNT, messages, used, max(0, limit))
