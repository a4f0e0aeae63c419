"""Table of notification and read counts per alert and event, filled from past notifications.

Revision ID: 0013
Revises: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_COUNTS = ("told_count", "person_count", "app_count", "opened_count")
_REASONS = {
    "sqlite": ("json_each(n.reasons) AS r", "json_extract(r.value, '$.subscriptionId')"),
    "postgresql": ("jsonb_array_elements(CAST(n.reasons AS jsonb)) AS r(value)", "r.value ->> 'subscriptionId'"),
}
_FILL = """
INSERT INTO firing (log_offset, subscription_id, told_count, person_count, app_count, opened_count)
SELECT log_offset, alert, count(*), count(recipient_id), sum(in_app), sum(opened) FROM (
    SELECT DISTINCT n.id, n.log_offset, n.recipient_id, {alert} AS alert,
        CASE WHEN n.channel = 'ActivityFeed' THEN 1 ELSE 0 END AS in_app,
        CASE WHEN n.read_at_ms IS NULL THEN 0 ELSE 1 END AS opened
    FROM notification AS n CROSS JOIN {reasons}
) AS told
GROUP BY log_offset, alert
"""


def upgrade() -> None:
    """Create the table and count past notifications."""
    op.create_table(
        "firing",
        sa.Column("log_offset", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("subscription_id", sa.String(36), nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in _COUNTS),
        sa.PrimaryKeyConstraint("log_offset", "subscription_id", name="pk_firing"),
    )
    op.create_index("ix_firing", "firing", ["subscription_id", "log_offset", *_COUNTS])
    reasons, alert = _REASONS[op.get_bind().dialect.name]
    op.execute(_FILL.format(reasons=reasons, alert=alert))


def downgrade() -> None:
    """Drop the table; notifications hold all it said."""
    op.drop_table("firing")
