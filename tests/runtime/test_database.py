"""Replicas that start together migrate one database once, on both engines."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

import muster.gateway.service
from muster.domain.errors import Permanent, Temporary
from muster.runtime.database import Database, migrate, open_engine

MIGRATIONS = Path(muster.gateway.service.__file__).parent / "migrations"


async def _migrate_at_once(url: str) -> None:
    engines = [open_engine(url) for _ in range(4)]
    migrations = [asyncio.to_thread(migrate, engine, MIGRATIONS, "gateway") for engine in engines]
    await asyncio.gather(*migrations)
    assert "alembic_version_gateway" in inspect(engines[0]).get_table_names()
    for engine in engines:
        engine.dispose()


async def test_four_replicas_on_sqlite(tmp_path: Path) -> None:
    await _migrate_at_once(f"sqlite:///{tmp_path / 'shared.db'}")


@pytest.mark.postgres
async def test_four_replicas_on_postgresql(postgres_url: str) -> None:
    await _migrate_at_once(postgres_url)


async def test_a_wrong_table_is_no_passing_trouble(tmp_path: Path) -> None:
    database = Database(open_engine(f"sqlite:///{tmp_path / 'own.db'}"))
    with pytest.raises(Permanent, match="no such table"):
        await database.run(lambda connection: connection.exec_driver_sql("SELECT * FROM jobs"))


async def test_a_busy_database_is_passing_trouble(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    holder, other = open_engine(url), Database(open_engine(url))
    with holder.connect() as held:
        held.exec_driver_sql("BEGIN EXCLUSIVE")

        def write(connection: Connection) -> None:
            connection.exec_driver_sql("PRAGMA busy_timeout=1")
            connection.exec_driver_sql("CREATE TABLE t (x)")

        with pytest.raises(Temporary, match="busy"):
            await other.run(write)
