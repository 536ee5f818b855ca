"""The log on three nats-servers with three replicas, whose leader is killed in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract.log_faults_suite import LogFaultsSuite
from tests.contract.log_suite import LogSuite
from tests.contract.log_worlds import ClusterWorld, prepared
from tests.support.nats import NatsCluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsCluster]:
    cluster = NatsCluster(tmp_path_factory.mktemp("log"))
    asyncio.run(cluster.__aenter__())
    yield cluster
    asyncio.run(cluster.__aexit__())


@pytest.mark.cluster
class TestLogOnThreeServers(LogSuite, LogFaultsSuite):
    @pytest.fixture
    async def world(self, cluster: NatsCluster) -> AsyncIterator[ClusterWorld]:
        world = ClusterWorld(cluster)
        await prepared(world)
        yield world
        await world.close()


@pytest.mark.cluster
class TestLogOnThreeServersWithGroupCommit(LogFaultsSuite):
    """What breaks, when appends that wait go together."""

    @pytest.fixture
    async def world(self, cluster: NatsCluster) -> AsyncIterator[ClusterWorld]:
        world = ClusterWorld(cluster, group_commit=True)
        await prepared(world)
        yield world
        await world.close()
