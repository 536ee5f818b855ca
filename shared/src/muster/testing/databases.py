"""Databases of a world: empty, in memory, gone with it."""

from __future__ import annotations

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import StaticPool


def in_memory() -> Engine:
    """Return an empty database that a service's replicas share, in the one thread of a world."""
    return create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
