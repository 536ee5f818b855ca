"""Fault tolerance's database, on every kind that the product runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Connection, Engine

from muster.fault_tolerance.service import MIGRATIONS
from muster.runtime.database import migrate, open_engine

Run = Callable[[Callable[[Connection], Any]], Any]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'fault-tolerance.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """A database with the tables."""
    engine = open_engine(database_url)
    migrate(engine, MIGRATIONS, "fault-tolerance")
    yield engine
    engine.dispose()


@pytest.fixture
def run(engine: Engine) -> Run:
    """Run a function in a transaction of its own."""

    def in_transaction(work: Callable[[Connection], Any]) -> Any:
        with engine.begin() as connection:
            return work(connection)

    return in_transaction
