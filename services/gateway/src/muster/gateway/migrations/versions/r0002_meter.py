"""What jobs used. What the archive has already is metered by the service, page by page."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, and note how far the events go that are not in them."""
    op.create_table(
        "archive_meter",
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
    )
    op.create_index("archive_meter_by_at", "archive_meter", ["at"])
    op.create_table(
        "archive_placements",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("placement", sa.Text, primary_key=True),
        sa.Column("node", sa.Text, primary_key=True),
        sa.Column("milli", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "archive_node_models",
        sa.Column("pool", sa.Text, primary_key=True),
        sa.Column("node", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("model", sa.Text, nullable=False),
    )
    left = op.create_table(
        "archive_backfill",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("after", sa.BigInteger, nullable=False),
        sa.Column("upto", sa.BigInteger, nullable=False),
    )
    upto = op.get_bind().scalar(sa.text("SELECT max(seq) FROM archive_events"))
    if upto is not None:
        op.bulk_insert(left, [{"name": "meter", "after": 0, "upto": upto}])


def downgrade() -> None:
    """Forget what was made from the events."""
    for table in (
        "archive_backfill",
        "archive_node_models",
        "archive_placements",
        "archive_meter",
    ):
        op.drop_table(table)
