"""The rules in force and the ledger of what was told to whom."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "notifier_rules",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("trigger_name", sa.Text, nullable=False),
        sa.Column("language", sa.Text, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("since", _INSTANT, nullable=False),
    )
    op.create_table(
        "notifier_deliveries",
        sa.Column("rule", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("transition", sa.Text, primary_key=True),
        sa.Column("notice", sa.Text, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("trigger_name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("happened_at", _INSTANT, nullable=False),
        sa.Column("claimed_at", _INSTANT, nullable=False),
        sa.Column("free_at", _INSTANT, nullable=False),
        sa.Column("settled_at", _INSTANT),
    )
    op.create_index("notifier_deliveries_by_job", "notifier_deliveries", ["tenant", "job"])


def downgrade() -> None:
    """Forget every rule and delivery."""
    op.drop_table("notifier_deliveries")
    op.drop_table("notifier_rules")
