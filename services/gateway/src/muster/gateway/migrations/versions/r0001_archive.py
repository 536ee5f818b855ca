"""Every event of the log, the last state of each job, and the texts it may be found by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "archive_events",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("time", _INSTANT, nullable=False),
        sa.Column("recorded_at", _INSTANT, nullable=False),
        sa.Column("tenant", sa.Text),
        sa.Column("job", sa.Text),
        sa.Column("version", sa.Integer),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("archive_events_by_job", "archive_events", ["tenant", "job", "version"])
    op.create_table(
        "archive_jobs",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("pool", sa.Text, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("submitted_at", _INSTANT, nullable=False),
        sa.Column("ended_at", _INSTANT),
        sa.Column("archived", sa.Boolean, nullable=False),
        sa.Column("trimmed", sa.Boolean, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
    )
    op.create_index("archive_jobs_by_place", "archive_jobs", ["submitted_at", "tenant", "job"])
    op.create_index("archive_jobs_by_user", "archive_jobs", ["tenant", "user"])
    op.create_index("archive_jobs_by_seq", "archive_jobs", ["seq"])
    op.create_index("archive_jobs_by_end", "archive_jobs", ["archived", "trimmed", "ended_at"])
    op.create_table(
        "archive_labels",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, primary_key=True),
    )
    op.create_index("archive_labels_by_text", "archive_labels", ["text"])


def downgrade() -> None:
    """Forget the archive."""
    op.drop_table("archive_labels")
    op.drop_table("archive_jobs")
    op.drop_table("archive_events")
