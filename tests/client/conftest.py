"""A provisioned server, a client of it, and somebody who writes the log."""

from __future__ import annotations

from collections.abc import AsyncIterator

import nats
import pytest

from muster.bus.provision import provision
from muster.client import MusterClient, connect
from muster.log.jetstream import JetStreamLog
from tests.support.log_lives import Lives


@pytest.fixture
async def url(clean_nats_url: str) -> str:
    async with await nats.connect(clean_nats_url) as connection:
        await provision(connection)
    return clean_nats_url


@pytest.fixture
async def muster(url: str) -> AsyncIterator[MusterClient]:
    async with connect(url) as client:
        yield client


@pytest.fixture
async def lives(url: str) -> AsyncIterator[Lives]:
    async with await nats.connect(url) as connection:
        log = JetStreamLog(connection)
        yield Lives(log)
        await log.close()
