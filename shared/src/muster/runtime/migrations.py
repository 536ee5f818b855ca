"""What every service's `migrations/env.py` does: run its steps for whoever asks Alembic to.

The version table carries the service's name, so that services may share one database.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context


def run_steps(metadata: sa.MetaData, name: str) -> None:
    """Run the steps of the service `name` on the caller's connection, if there is one.

    Else offline, as text, or on `sqlalchemy.url`: for Alembic's own command line.
    """
    table: str = context.config.attributes.get("version_table", f"alembic_version_{name}")
    given: sa.Connection | None = context.config.attributes.get("connection")
    url = context.config.get_main_option("sqlalchemy.url") or ""
    if given is not None:
        _on(given, metadata, table)
    elif context.is_offline_mode():
        context.configure(
            url=url, target_metadata=metadata, version_table=table, literal_binds=True
        )
        _run()
    else:
        with sa.create_engine(url).connect() as connection:
            _on(connection, metadata, table)


def _on(connection: sa.Connection, metadata: sa.MetaData, table: str) -> None:
    context.configure(connection=connection, target_metadata=metadata, version_table=table)
    _run()


def _run() -> None:
    with context.begin_transaction():
        context.run_migrations()
