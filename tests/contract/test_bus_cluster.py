"""The bus on three nats-servers with three replicas, whose leader is killed in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contract.bus_suite import BusSuite
from tests.contract.log_worlds import ClusterWorld, prepared
from tests.support.nats import NatsCluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsCluster]:
    cluster = NatsCluster(tmp_path_factory.mktemp("bus"))
    asyncio.run(cluster.__aenter__())
    yield cluster
    asyncio.run(cluster.__aexit__())


@pytest.mark.cluster
class TestBusOnThreeServers(BusSuite):
    @pytest.fixture
    async def world(self, cluster: NatsCluster) -> AsyncIterator[ClusterWorld]:
        world = ClusterWorld(cluster)
        await prepared(world)
        yield world
        await world.close()
