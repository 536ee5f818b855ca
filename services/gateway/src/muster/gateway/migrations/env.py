"""Alembic's entry to this service's steps."""

from muster.gateway.store.tables import metadata
from muster.runtime.migrations import run_steps

run_steps(metadata, "gateway")
