"""The tables. A change here needs a step in `migrations`; a test compares the two."""

from __future__ import annotations

import sqlalchemy as sa

from muster.runtime.database import InstantColumn

metadata = sa.MetaData()

failures = sa.Table(
    "fault_failures",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("user", sa.Text, nullable=False),
    sa.Column("pool", sa.Text, nullable=False),
    sa.Column("at", InstantColumn, nullable=False),
    sa.Column("rule", sa.Text),
    sa.Column("blame", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("nodes", sa.JSON, nullable=False),
    sa.Column("hard", sa.Boolean, nullable=False),
    sa.Column("gpu_hours", sa.Double, nullable=False),
    sa.Column("excerpt", sa.Text, nullable=False),
    sa.Index("fault_failures_by_time", "at"),
    sa.Index("fault_failures_by_fingerprint", "fingerprint", "at"),
)
"""One row for each attempt that was judged. nodes: where it ran, some dozens at most."""

blamed = sa.Table(
    "fault_blamed",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("machine", sa.Text, primary_key=True),
    sa.Column("pool", sa.Text, nullable=False),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("serial", sa.Text),
    sa.Column("at", InstantColumn, nullable=False),
    sa.Index("fault_blamed_by_machine", "machine", "at"),
    sa.Index("fault_blamed_by_time", "at"),
)
"""Which machines a failure was attributed to. machine: `Machine.identity`."""

marks = sa.Table(
    "fault_marks",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("at", InstantColumn, nullable=False),
    sa.Index("fault_marks_by_name", "kind", "name", "at"),
    sa.Index("fault_marks_by_time", "at"),
)
"""What a failed attempt stood on: its storage, registry, image, switches and zones."""

stays = sa.Table(
    "fault_stays",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("machine", sa.Text, primary_key=True),
    sa.Column("at", InstantColumn, nullable=False),
    sa.Column("day", sa.Integer, nullable=False),
    sa.Index("fault_stays_by_time", "at"),
    sa.Index("fault_stays_by_day", "machine", "day"),
)
"""Which attempts were launched where: what failures are counted against. day: since 1970."""

demands = sa.Table(
    "fault_demands",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("pool", sa.Text, nullable=False),
    sa.Column("user", sa.Text, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("demand", sa.Text, nullable=False),
    sa.Column("at", InstantColumn, nullable=False),
    sa.Index("fault_demands_by_pool", "pool", "active"),
    sa.Index("fault_demands_by_time", "at"),
)
"""What each job asks for, as it was last heard of. version: the job's; it never goes back."""

leases = sa.Table(
    "fault_leases",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("until", InstantColumn, nullable=False),
)
"""Work that one replica does at a time, since what it does next depends on what it did."""

lanes = sa.Table(
    "fault_lanes",
    metadata,
    sa.Column("lane", sa.Text, primary_key=True),
    sa.Column("next_at", sa.Double, nullable=False),
)
"""Restarts, one after the other. next_at: Unix seconds of the slot that nobody has taken yet."""

slots = sa.Table(
    "fault_slots",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("slot", sa.Double, nullable=False),
    sa.Index("fault_slots_by_time", "slot"),
)
"""The slot that a restart was given, so that asking twice takes one."""
