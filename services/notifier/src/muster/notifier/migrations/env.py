"""Alembic's entry to this service's steps."""

from muster.notifier.store import metadata
from muster.runtime.migrations import run_steps

run_steps(metadata, "notifier")
