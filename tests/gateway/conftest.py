"""A gateway over a log in memory and an archive in memory, for each test anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muster.gateway.settings import GatewaySettings
from muster.runtime.database import Database
from tests.gateway.worlds import Gateway, World, opened


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def settings() -> GatewaySettings:
    return GatewaySettings(port=0, stream_queue=8, stream_replay=8, heartbeat_s=0.05)


@pytest.fixture
def database() -> Iterator[Database]:
    with opened("sqlite://") as database:
        yield database


@pytest.fixture
def gateway(world: World, database: Database, settings: GatewaySettings) -> Gateway:
    return Gateway(world, database, settings)
