"""The gateway's tables. A change here needs a step in `migrations`; a test compares the two."""

from __future__ import annotations

import sqlalchemy as sa

from muster.runtime.database import InstantColumn

metadata = sa.MetaData()

events = sa.Table(
    "archive_events",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("time", InstantColumn, nullable=False),
    sa.Column("recorded_at", InstantColumn, nullable=False),
    sa.Column("tenant", sa.Text),
    sa.Column("job", sa.Text),
    sa.Column("version", sa.Integer),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("archive_events_by_job", "tenant", "job", "version"),
)
"""As they stood in the log, byte for byte. tenant, job, version: of events about jobs only."""

jobs = sa.Table(
    "archive_jobs",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("user", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("pool", sa.Text, nullable=False),
    sa.Column("phase", sa.Text, nullable=False),
    sa.Column("submitted_at", InstantColumn, nullable=False),
    sa.Column("ended_at", InstantColumn),
    sa.Column("archived", sa.Boolean, nullable=False),
    sa.Column("trimmed", sa.Boolean, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Index("archive_jobs_by_place", "submitted_at", "tenant", "job"),
    sa.Index("archive_jobs_by_user", "tenant", "user"),
    sa.Index("archive_jobs_by_seq", "seq"),
    sa.Index("archive_jobs_by_end", "archived", "trimmed", "ended_at"),
)
"""The last state of each job. trimmed: only its last event is left in the log."""

labels = sa.Table(
    "archive_labels",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("text", sa.Text, primary_key=True),
    sa.Index("archive_labels_by_text", "text"),
)
"""Every text that a label filter may name a job by: `key` and `key=value`."""

meter = sa.Table(
    "archive_meter",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("phase", sa.Text, nullable=False),
    sa.Column("class", sa.Text, nullable=False),
    sa.Column("over", sa.Boolean, nullable=False),
    sa.Column("milli", sa.BigInteger, nullable=False),
    sa.Column("placement", sa.Text),
    sa.Index("archive_meter_by_at", "at"),
)
"""What each event says of use; what lies between two of them is asked for, not stored.

at: the event's instant in microseconds. over: nothing is metered any more. milli: thousandths of
GPUs that are held on the nodes of `placement` (None = none are).
"""

placements = sa.Table(
    "archive_placements",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("placement", sa.Text, primary_key=True),
    sa.Column("node", sa.Text, primary_key=True),
    sa.Column("milli", sa.BigInteger, nullable=False),
)
"""Thousandths of GPUs by node, once for all events of a job that hold the same."""

models = sa.Table(
    "archive_node_models",
    metadata,
    sa.Column("pool", sa.Text, primary_key=True),
    sa.Column("node", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("model", sa.Text, nullable=False),
)
"""The GPU model of a node from a sequence of the log on."""

backfill = sa.Table(
    "archive_backfill",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("after", sa.BigInteger, nullable=False),
    sa.Column("upto", sa.BigInteger, nullable=False),
)
"""Events of the archive, after one sequence and up to another, that a projection still lacks."""
