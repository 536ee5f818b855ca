"""Fault tolerance's database, on every kind that the product runs on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.engine import Engine

from muster.fault_tolerance.service import MIGRATIONS
from tests.support.databases import database_url, migrated, run

__all__ = ["database_url", "run"]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """A database with the service's tables."""
    with migrated(database_url, MIGRATIONS, "fault-tolerance") as engine:
        yield engine
