"""The bus on one nats-server, which is killed and started again in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract.bus_suite import BusSuite
from tests.contract.log_worlds import ServerWorld, prepared
from tests.support.nats import KillableServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillableServer]:
    server = KillableServer(tmp_path_factory.mktemp("bus"))
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


class TestBusOnOneServer(BusSuite):
    @pytest.fixture
    async def world(self, server: KillableServer) -> AsyncIterator[ServerWorld]:
        world = ServerWorld(server)
        await prepared(world)
        yield world
        await world.close()
