"""What was asked for, so that a request told twice is carried out once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "notifier_requests",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("request", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Forget what was asked for; what came of it stays."""
    op.drop_table("notifier_requests")
