"""Failures as they were judged, where attempts were launched, and the slots of restarts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def _attempt() -> tuple[sa.Column[str], sa.Column[str], sa.Column[int]]:
    return (
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
    )


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "fault_failures",
        *_attempt(),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("pool", sa.Text, nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("rule", sa.Text),
        sa.Column("blame", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("nodes", sa.JSON, nullable=False),
        sa.Column("hard", sa.Boolean, nullable=False),
        sa.Column("gpu_hours", sa.Double, nullable=False),
        sa.Column("excerpt", sa.Text, nullable=False),
    )
    op.create_index("fault_failures_by_time", "fault_failures", ["at"])
    op.create_index("fault_failures_by_fingerprint", "fault_failures", ["fingerprint", "at"])
    _create_counts()
    _create_demands()
    _create_slots()


def _create_counts() -> None:
    op.create_table(
        "fault_blamed",
        *_attempt(),
        sa.Column("machine", sa.Text, primary_key=True),
        sa.Column("pool", sa.Text, nullable=False),
        sa.Column("node", sa.Text, nullable=False),
        sa.Column("serial", sa.Text),
        sa.Column("at", _INSTANT, nullable=False),
    )
    op.create_index("fault_blamed_by_machine", "fault_blamed", ["machine", "at"])
    op.create_index("fault_blamed_by_time", "fault_blamed", ["at"])
    op.create_table(
        "fault_marks",
        *_attempt(),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("at", _INSTANT, nullable=False),
    )
    op.create_index("fault_marks_by_name", "fault_marks", ["kind", "name", "at"])
    op.create_index("fault_marks_by_time", "fault_marks", ["at"])
    op.create_table(
        "fault_stays",
        *_attempt(),
        sa.Column("machine", sa.Text, primary_key=True),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
    )
    op.create_index("fault_stays_by_time", "fault_stays", ["at"])
    op.create_index("fault_stays_by_day", "fault_stays", ["machine", "day"])


def _create_demands() -> None:
    op.create_table(
        "fault_demands",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("pool", sa.Text, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("demand", sa.Text, nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
    )
    op.create_index("fault_demands_by_pool", "fault_demands", ["pool", "active"])
    op.create_index("fault_demands_by_time", "fault_demands", ["at"])


def _create_slots() -> None:
    op.create_table(
        "fault_leases",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", _INSTANT, nullable=False),
    )
    op.create_table(
        "fault_lanes",
        sa.Column("lane", sa.Text, primary_key=True),
        sa.Column("next_at", sa.Double, nullable=False),
    )
    op.create_table(
        "fault_slots",
        *_attempt(),
        sa.Column("slot", sa.Double, nullable=False),
    )
    op.create_index("fault_slots_by_time", "fault_slots", ["slot"])


def downgrade() -> None:
    """Forget every failure and slot."""
    for table in ("slots", "lanes", "leases", "demands", "stays", "marks", "blamed", "failures"):
        op.drop_table(f"fault_{table}")
