"""The rules in force, the ledger of what was told to whom, and who may send to an address."""

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
        sa.Column("language", sa.Text, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("facts", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("in_doubt", sa.Boolean, nullable=False),
        sa.Column("set_aside", sa.Boolean, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("happened_at", _INSTANT, nullable=False),
        sa.Column("expires_at", _INSTANT, nullable=False),
        sa.Column("next_attempt_at", _INSTANT),
        sa.Column("claimed_at", _INSTANT),
        sa.Column("settled_at", _INSTANT),
    )
    op.create_index("notifier_deliveries_by_job", "notifier_deliveries", ["tenant", "job"])
    op.create_index("notifier_deliveries_by_end", "notifier_deliveries", ["settled_at"])
    op.create_index(
        "notifier_deliveries_pending",
        "notifier_deliveries",
        ["channel", "address", "set_aside", "happened_at", "version"],
        postgresql_where=sa.text("settled_at IS NULL"),
        sqlite_where=sa.text("settled_at IS NULL"),
    )
    op.create_table(
        "notifier_lanes",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("address", sa.Text, primary_key=True),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("leased_until", _INSTANT),
    )


def downgrade() -> None:
    """Forget every rule and delivery."""
    op.drop_table("notifier_lanes")
    op.drop_table("notifier_deliveries")
    op.drop_table("notifier_rules")
