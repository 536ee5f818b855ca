"""The servers that tests ask for by name. All listen on loopback and end with the tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import structlog

from tests.support import leaks
from tests.support.leaks import (
    nothing_leaks,
    nothing_leaks_at_the_end,
    pytest_configure,
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_sessionstart,
    pytest_terminal_summary,
)
from tests.support.nats import KillableServer, NatsCluster, delete_streams
from tests.support.postgres import MISSING, find_server, fresh_database

__all__ = [
    "nothing_leaks",
    "nothing_leaks_at_the_end",
    "pytest_configure",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "pytest_sessionstart",
    "pytest_terminal_summary",
]


@pytest.fixture(autouse=True)
def plain_logs() -> Iterator[None]:
    """Every test starts with structlog as it comes, whatever a command of another one set up."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One NATS for the whole session. Use names of your own for streams, or `clean_nats_url`."""
    with ExitStack() as stack:
        url = _container_url(stack)
        if url is None:
            server = KillableServer(tmp_path_factory.mktemp("nats"))
            stack.callback(lambda: asyncio.run(server.stop()))
            url = asyncio.run(server.start())
        yield url


def _container_url(stack: ExitStack) -> str | None:
    if "MUSTER_TEST_NATS_IMAGE" not in os.environ:
        return None
    from tests.support.containers import nats_container

    return nats_container(stack)


@pytest.fixture
async def clean_nats_url(nats_url: str) -> AsyncIterator[str]:
    """The session's NATS, without a stream before and after the test."""
    await delete_streams(nats_url)
    yield nats_url
    await delete_streams(nats_url)


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[KillableServer]:
    """A NATS of the test's own, to kill, freeze and restart."""
    server = KillableServer(tmp_path / "nats")
    await server.start()
    yield server
    server.thaw()
    await server.stop()


@pytest.fixture
async def nats_cluster(tmp_path: Path) -> AsyncIterator[NatsCluster]:
    """Three NATS servers of the test's own; mark the test with `cluster`."""
    async with NatsCluster(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str | None]:
    """One PostgreSQL for the whole session, or None where there is none."""
    with ExitStack() as stack:
        yield find_server(stack)


@pytest.fixture
def postgres_url(postgres_server: str | None) -> Iterator[str]:
    """An empty database of the test's own; mark the test with `postgres`."""
    if postgres_server is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with fresh_database(postgres_server) as url:
        yield url
        assert leaks.in_postgres(url) == [], "a secret was stored"
