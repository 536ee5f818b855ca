"""The one tool that makes a server look like `topology`: streams, consumers, their replays.

Idempotent: what is missing is created, what differs is updated in place, and the rest is left
alone. It never takes away what may hold something: a limit that is looser than ours, more replicas
or further subjects stay, and are reported. Called by `muster up`, by the CLI, and by tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client

from muster.bus.api import NOT_FOUND, Refused, call
from muster.bus.provision_configs import (
    Config,
    consumer_config,
    merged_consumer,
    merged_stream,
    replay_consumer,
    stream_config,
)
from muster.bus.topology import CONSUMERS, STREAMS, Consumer, StreamSpec
from muster.domain.errors import Permanent, Temporary
from muster.domain.troubles import LIMITS

NEEDED_SERVER = (2, 14, 0)
REPLICAS = (1, 3)
PATIENCE_S = 30.0
PAUSE_S = 0.25


class ServerTooOld(Permanent):
    """The server lacks atomic batches or schedules."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that was done, or was left as it is on purpose. what: created, updated or kept."""

    what: str
    name: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.what} {self.name}"
        return f"{text}: {', '.join(self.details)}" if self.details else text


async def provision(
    connection: Client,
    *,
    replicas: int = 1,
    streams: Sequence[StreamSpec] = STREAMS,
    consumers: Sequence[Consumer] = CONSUMERS,
) -> list[Change]:
    """Make streams and consumers as they should be; returns what was done, empty if nothing.

    Raises ServerTooOld, Permanent when the server refuses, Temporary when it is away.
    """
    check_server(connection)
    if replicas not in REPLICAS:
        raise Permanent(f"replicas must be one of {REPLICAS}, not {replicas}")
    changes: list[Change] = []
    for spec in streams:
        changes += await _patiently(_Stream(connection, stream_config(spec, replicas)))
    names = {spec.name for spec in streams}
    for consumer in consumers:
        if consumer.stream in names:
            wanted = consumer_config(consumer)
            changes += await _patiently(_Consumer(connection, consumer.stream, wanted))
            stream, again = replay_consumer(consumer)
            if stream in names:
                changes += await _patiently(_Consumer(connection, stream, again))
    return changes


def check_server(connection: Client) -> None:
    """Raise ServerTooOld when the server we are connected to lacks what the log needs."""
    version = connection.connected_server_version
    found = (version.major, version.minor, version.patch)
    if found < NEEDED_SERVER:
        raise ServerTooOld(
            f"nats-server {_text(NEEDED_SERVER)} or newer is needed, this one is {_text(found)}"
        )


def _text(version: tuple[int, int, int]) -> str:
    return ".".join(str(part) for part in version)


@dataclass(frozen=True, slots=True)
class _Stream:
    connection: Client
    wanted: Config

    @property
    def name(self) -> str:
        return f"stream {self.wanted['name']}"

    async def found(self) -> Config | None:
        """Return the configuration on the server."""
        return await _config(self.connection, f"STREAM.INFO.{self.wanted['name']}")

    async def put(self, config: Config, *, new: bool) -> None:
        """Create or update."""
        verb = "CREATE" if new else "UPDATE"
        await call(self.connection, f"STREAM.{verb}.{config['name']}", config)

    def merged(self, found: Config) -> tuple[Config, list[str], list[str]]:
        """Return the configuration to set, what changes by it, and what stays against our wish."""
        return merged_stream(self.wanted, found)


@dataclass(frozen=True, slots=True)
class _Consumer:
    connection: Client
    stream: str
    wanted: Config

    @property
    def name(self) -> str:
        return f"consumer {self.stream}/{self.wanted['name']}"

    async def found(self) -> Config | None:
        """Return the configuration on the server."""
        return await _config(self.connection, f"CONSUMER.INFO.{self.stream}.{self.wanted['name']}")

    async def put(self, config: Config, *, new: bool) -> None:
        """Create or update."""
        await call(
            self.connection,
            f"CONSUMER.CREATE.{self.stream}.{config['name']}",
            {
                "stream_name": self.stream,
                "config": config,
                "action": "create" if new else "update",
            },
        )

    def merged(self, found: Config) -> tuple[Config, list[str], list[str]]:
        """Return the configuration to set, what changes by it, and what stays against our wish."""
        return merged_consumer(self.wanted, found)


async def _config(connection: Client, subject: str) -> Config | None:
    try:
        answer: dict[str, Any] = await call(connection, subject)
    except Refused as refused:
        if refused.err_code in NOT_FOUND:
            return None
        raise
    config: Config = answer["config"]
    return config


async def _patiently(thing: _Stream | _Consumer) -> list[Change]:
    """A cluster that has just started has no leader yet: wait for it."""
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        try:
            return await _ensure(thing)
        except Refused as refused:
            if refused.is_final or refused.err_code in LIMITS:
                raise Permanent(f"{thing.name}: {refused}") from refused
            reason: Exception = refused
        except Temporary as error:
            reason = error
        if asyncio.get_running_loop().time() >= end:
            raise Temporary(f"{thing.name}: {reason}") from reason
        await asyncio.sleep(PAUSE_S)


async def _ensure(thing: _Stream | _Consumer) -> list[Change]:
    found = await thing.found()
    if found is None:
        await thing.put(thing.wanted, new=True)
        return [Change("created", thing.name)]
    config, changed, kept = thing.merged(found)
    changes = [Change("kept", thing.name, tuple(kept))] if kept else []
    if changed:
        await thing.put(config, new=False)
        changes.insert(0, Change("updated", thing.name, tuple(changed)))
    return changes
