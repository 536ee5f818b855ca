"""Replicas that start together migrate one database once, on both engines."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import inspect

import muster.gateway.service
from muster.runtime.database import migrate, open_engine

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
