"""An empty database of each kind that the product runs on, for tests of a service's store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Connection, Engine

from muster.runtime.database import migrate, open_engine

Run = Callable[[Callable[[Connection], Any]], Any]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'service.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@contextmanager
def migrated(url: str, migrations: Path, name: str) -> Iterator[Engine]:
    """An engine whose database has the tables of a service."""
    engine = open_engine(url)
    migrate(engine, migrations, name)
    yield engine
    engine.dispose()


@pytest.fixture
def run(engine: Engine) -> Run:
    """Run a function in a transaction of its own."""

    def in_transaction(work: Callable[[Connection], Any]) -> Any:
        with engine.begin() as connection:
            return work(connection)

    return in_transaction
