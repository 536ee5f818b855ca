"""A service's own database: SQLite on a laptop, PostgreSQL in production, the same statements.

Store functions are plain and synchronous, `def claim(connection, ...)`; production runs each in a
worker thread and one transaction, the simulation calls it directly. No two services share one.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    Connection,
    DateTime,
    Dialect,
    Engine,
    QueuePool,
    Table,
    TypeDecorator,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError

from muster.domain.errors import MusterError, Permanent, Temporary

T = TypeVar("T")

_LOOK_AGAIN_S = 0.01
_UPGRADING = threading.Lock()  # what a migration refers to belongs to the whole process


class InstantColumn(TypeDecorator[datetime]):
    """An aware UTC instant on every database; SQLite keeps no time zone of its own."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Store UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give UTC back, aware."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def insert_into(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return an insert that knows `on_conflict_do_...` of the connection's database."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)


class Database:
    """Runs functions in transactions. threaded=False: in the caller's thread (simulation).

    SQLite has one writer at a time and makes the others poll for its lock, the more of them the
    slower; so threads of one process take turns here instead.
    """

    def __init__(self, engine: Engine, *, threaded: bool = True) -> None:
        self.engine, self._threaded = engine, threaded
        takes_turns = threaded and engine.dialect.name == "sqlite"
        self._turn = threading.Lock() if takes_turns else nullcontext()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction. Raises Temporary when the database is away or busy."""
        if self._threaded:
            return await asyncio.to_thread(self._run, work)
        return self._run(work)

    def _run(self, work: Callable[[Connection], T]) -> T:
        try:
            with self._turn, self.engine.begin() as connection:
                return work(connection)
        except (OperationalError, InternalError) as error:  # internal: a standby that only reads
            raise _translated(error) from error
        except DBAPIError as error:
            if error.connection_invalidated:
                raise Temporary("the database connection was lost", delay=2.0) from error
            raise

    def close(self) -> None:
        """Give every connection back."""
        self.engine.dispose()

    async def end(self) -> None:
        """Close once the last transaction is over: a loop that was cut short left its own to a
        thread; it ends by itself, and its connection must not be left to nobody."""
        pool = self.engine.pool
        while isinstance(pool, QueuePool) and pool.checkedout():
            await asyncio.sleep(_LOOK_AGAIN_S)
        self.close()


def _translated(error: DBAPIError) -> MusterError:
    """A wrong table or column passes for an operational error in SQLite, and never heals."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None and code & 0xFF == sqlite3.SQLITE_ERROR:
        return Permanent(f"the database does not fit this version of Muster: {error.orig}")
    return Temporary(f"the database is away or busy: {type(error.orig).__name__}", delay=2.0)


def open_engine(url: str) -> Engine:
    """Return an engine for a SQLAlchemy URL; SQLite gets WAL and waits for locks."""
    if url.startswith("postgresql://"):
        url = "postgresql+psycopg://" + url.removeprefix("postgresql://")
    engine = create_engine(url, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: object, record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def migrate(engine: Engine, migrations: Path, name: str) -> None:
    """Bring the schema to the newest revision found in `migrations`.

    name: the service's; its version table is `alembic_version_<name>`.
    """
    with engine.begin() as connection:
        upgrade(connection, migrations, name)


def upgrade(connection: Connection, migrations: Path, name: str) -> None:
    """The same inside a transaction, for `Database.run`."""
    config = Config()
    config.set_main_option("script_location", str(migrations))
    config.attributes["version_table"] = f"alembic_version_{name}"
    config.attributes["connection"] = connection
    with _UPGRADING:
        # replicas start together; the second waits and finds the work done
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(name))))
        else:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        command.upgrade(config, "head")
