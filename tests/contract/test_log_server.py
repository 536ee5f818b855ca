"""The log on one nats-server, which is killed and started again in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract.log_faults_suite import LogFaultsSuite
from tests.contract.log_suite import LogSuite
from tests.contract.log_worlds import ServerWorld, prepared
from tests.support.nats import KillableServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillableServer]:
    server = KillableServer(tmp_path_factory.mktemp("log"))
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


class TestLogOnOneServer(LogSuite, LogFaultsSuite):
    @pytest.fixture
    async def world(self, server: KillableServer) -> AsyncIterator[ServerWorld]:
        world = ServerWorld(server)
        await prepared(world)
        yield world
        await world.close()


class TestLogWithGroupCommit(LogSuite, LogFaultsSuite):
    """The same when appends that wait go together."""

    @pytest.fixture
    async def world(self, server: KillableServer) -> AsyncIterator[ServerWorld]:
        world = ServerWorld(server, group_commit=True)
        await prepared(world)
        yield world
        await world.close()
