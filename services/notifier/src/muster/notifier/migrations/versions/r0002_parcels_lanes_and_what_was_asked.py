"""Parcels, lanes by webhook with limits and a circuit, and rules that were asked for.

What was pending keeps waiting; which lane it goes by is found at the next start, from its rule.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_ROWS = "notifier_deliveries"
_PENDING = "notifier_deliveries_pending"


def upgrade() -> None:
    """Widen what is there, and add what is new."""
    with op.batch_alter_table("notifier_rules") as rules:
        rules.add_column(sa.Column("lane", sa.Text, nullable=False, server_default=""))
        rules.add_column(sa.Column("owner", sa.Text, nullable=False, server_default=""))
        rules.add_column(sa.Column("origin", sa.Text, nullable=False, server_default="file"))
        rules.add_column(
            sa.Column("removed", sa.Boolean, nullable=False, server_default=sa.false())
        )
    _widen_deliveries()
    op.drop_table("notifier_lanes")
    _create_lanes()
    _create_what_is_asked()


def _widen_deliveries() -> None:
    op.drop_index(_PENDING, _ROWS)
    op.drop_index("notifier_deliveries_by_job", _ROWS)
    with op.batch_alter_table(_ROWS) as rows:
        rows.alter_column("job", new_column_name="subject")
        rows.add_column(sa.Column("kind", sa.Text, nullable=False, server_default="news"))
        rows.add_column(sa.Column("lane", sa.Text, nullable=False, server_default=""))
        rows.add_column(sa.Column("owner", sa.Text, nullable=False, server_default=""))
        rows.add_column(sa.Column("labels", sa.Text, nullable=False, server_default="{}"))
        rows.add_column(sa.Column("parcel", sa.Text))
        rows.add_column(sa.Column("form", sa.Text, nullable=False, server_default="card"))
        rows.add_column(sa.Column("stored_at", _INSTANT))
        rows.add_column(sa.Column("due_at", _INSTANT))
    known = sa.table(
        _ROWS, *(sa.column(name) for name in ("state", "code", "stored_at", "happened_at"))
    )
    op.execute(sa.update(known).values(stored_at=known.c.happened_at))
    ended = sa.case(
        (known.c.code.in_(("stale", "withdrawn")), known.c.code), else_=sa.literal("dead")
    )
    op.execute(sa.update(known).where(known.c.state == "failed").values(state=ended))
    with op.batch_alter_table(_ROWS) as table:
        table.alter_column("stored_at", existing_type=_INSTANT, nullable=False)
    op.create_index("notifier_deliveries_by_subject", _ROWS, ["tenant", "subject"])
    op.create_index(
        _PENDING,
        _ROWS,
        ["channel", "lane", "set_aside", "happened_at", "version"],
        postgresql_where=sa.text("settled_at IS NULL"),
        sqlite_where=sa.text("settled_at IS NULL"),
    )


def _create_lanes() -> None:
    op.create_table(
        "notifier_lanes",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("lane", sa.Text, primary_key=True),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("leased_until", _INSTANT),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("paused_until", _INSTANT),
        sa.Column("circuit_code", sa.Text, nullable=False),
        sa.Column("circuit_since", _INSTANT),
        sa.Column("probe_at", _INSTANT),
        sa.Column("second_tokens", sa.Float, nullable=False),
        sa.Column("second_at", _INSTANT),
        sa.Column("minute_tokens", sa.Float, nullable=False),
        sa.Column("minute_at", _INSTANT),
        sa.Column("ahead_s", sa.Float, nullable=False),
        sa.Column("digested", sa.Text, nullable=False),
        sa.Column("delivered_at", _INSTANT),
        sa.Column("tried_at", _INSTANT),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
    )


def _create_what_is_asked() -> None:
    op.create_table(
        "notifier_addresses",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("shown", sa.Text, nullable=False),
        sa.Column("sealed_url", sa.Text, nullable=False),
        sa.Column("sealed_secret", sa.Text),
        sa.Column("keywords", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
    )
    op.create_table(
        "notifier_silences",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("matchers", sa.Text, nullable=False),
        sa.Column("starts_at", _INSTANT, nullable=False),
        sa.Column("ends_at", _INSTANT, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
    )
    op.create_table(
        "notifier_versions",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    """Not possible: what was delivered as a digest fits no older row. Restore a backup."""
    raise RuntimeError("revision 0002 of the notifier cannot be undone; restore a backup")
