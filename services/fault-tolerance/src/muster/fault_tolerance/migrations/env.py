"""Alembic's entry: runs the steps on the connection of the caller, or on `sqlalchemy.url`.

The version table carries the service's name, so that services may share one database.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context

from muster.fault_tolerance.store import metadata

VERSION_TABLE: str = context.config.attributes.get(
    "version_table", "alembic_version_fault-tolerance"
)


def _run(connection: sa.Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, version_table=VERSION_TABLE)
    with context.begin_transaction():
        context.run_migrations()


def _run_offline() -> None:
    context.configure(
        url=context.config.get_main_option("sqlalchemy.url"),
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        literal_binds=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def main() -> None:
    """Use the caller's connection if there is one."""
    given: sa.Connection | None = context.config.attributes.get("connection")
    if given is not None:
        _run(given)
    elif context.is_offline_mode():
        _run_offline()
    else:
        engine = sa.create_engine(context.config.get_main_option("sqlalchemy.url") or "")
        with engine.connect() as connection:
            _run(connection)


main()
