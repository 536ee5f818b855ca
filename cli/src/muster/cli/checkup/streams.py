"""Streams and consumers: there, as `muster provision` makes them, and not far behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from muster.bus.api import NOT_FOUND, Refused, call
from muster.bus.provision_configs import (
    consumer_config,
    merged_consumer,
    merged_stream,
    replay_consumer,
    stream_config,
)
from muster.bus.topology import CONSUMERS, STREAMS, Consumer, Stream
from muster.cli.checkup.finding import Finding, fine, note, problem, refused, warning
from muster.domain.errors import Temporary

if TYPE_CHECKING:
    from muster.runtime.connection import Connection

FULL = 0.7
"""The part of a stream's room from which on it is worth a look: once it is full, it refuses."""

BACKLOG = 1000
"""Messages that wait for one consumer; more is worth a look."""


async def streams(connection: Connection) -> AsyncIterator[Finding]:
    """Yield what is missing or different, how far each consumer is behind, and what is parked."""
    findings: list[Finding] = []
    try:
        for spec in STREAMS:
            findings += await _stream(connection, spec.name)
        for consumer in CONSUMERS:
            findings += await _consumer(connection, consumer)
        parked = await _parked(connection)
    except Temporary as error:
        yield refused("server.silent", error)
        return
    for finding in findings:
        yield finding
    if not any(finding.key.startswith("topology") for finding in findings):
        yield fine("topology", streams=len(STREAMS), consumers=len(CONSUMERS))
    if not any(finding.key.startswith("backlog") for finding in findings):
        yield fine("backlog", limit=BACKLOG)
    yield warning("parked", count=parked) if parked else fine("parked.none")


async def _info(connection: Connection, subject: str) -> dict[str, Any] | None:
    try:
        return await call(connection, subject)
    except Refused as refused:
        if refused.err_code in NOT_FOUND:
            return None
        raise Temporary(str(refused)) from refused


async def _stream(connection: Connection, name: Stream) -> list[Finding]:
    info = await _info(connection, f"STREAM.INFO.{name}")
    if info is None:
        return [problem("topology.missing", what=f"stream {name}")]
    spec = next(spec for spec in STREAMS if spec.name is name)
    found = info["config"]
    wanted = stream_config(spec, int(found.get("num_replicas", 1)))
    _, changes, kept = merged_stream(wanted, found)
    pair = (_difference(f"stream {name}", changes, kept), filling(f"stream {name}", info))
    return [finding for finding in pair if finding is not None]


def filling(name: str, info: dict[str, Any]) -> Finding | None:
    """Tell of a stream that is nearly full. info: as the server tells it."""
    room, used = int(info["config"].get("max_bytes", -1)), int(info["state"]["bytes"])
    if room <= 0 or used < FULL * room:
        return None
    return warning("filling", what=name, percent=100 * used // room)


async def _consumer(connection: Connection, consumer: Consumer) -> list[Finding]:
    pairs = [(str(consumer.stream), consumer_config(consumer)), replay_consumer(consumer)]
    findings: list[Finding] = []
    for stream, wanted in pairs:
        name = f"consumer {stream}/{consumer.durable}"
        info = await _info(connection, f"CONSUMER.INFO.{stream}.{consumer.durable}")
        if info is None:
            findings.append(problem("topology.missing", what=name))
            continue
        _, changes, kept = merged_consumer(wanted, info["config"])
        found = (_difference(name, changes, kept), _behind(name, info))
        findings += [finding for finding in found if finding is not None]
    return findings


def _difference(name: str, changes: list[str], kept: list[str]) -> Finding | None:
    if changes:
        return problem("topology.differs", what=name, how="; ".join(changes))
    return note("topology.kept", what=name, how="; ".join(kept)) if kept else None


def _behind(name: str, info: dict[str, Any]) -> Finding | None:
    pending, open_ = int(info.get("num_pending", 0)), int(info.get("num_ack_pending", 0))
    again = int(info.get("num_redelivered", 0))
    if pending + open_ > BACKLOG:
        return warning("backlog.behind", what=name, count=pending + open_, again=again)
    return None


async def _parked(connection: Connection) -> int:
    info = await _info(connection, f"STREAM.INFO.{Stream.PARKED}")
    return int(info["state"]["messages"]) if info else 0
