"""Counts of matches that notified nobody, filled from the stored match results.

Revision ID: 0014
Revises: 0013
"""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"

_FILL = """
INSERT INTO firing (log_offset, subscription_id, told_count, person_count, app_count, opened_count)
SELECT t.log_offset, t.subscription_id, 0, 0, 0, 0 FROM telling AS t
WHERE NOT EXISTS (
    SELECT 1 FROM firing AS f WHERE f.log_offset = t.log_offset AND f.subscription_id = t.subscription_id
)
"""


def upgrade() -> None:
    """Count matches that notified nobody."""
    op.execute(_FILL)


def downgrade() -> None:
    """Keep only matches that notified somebody."""
    op.execute("DELETE FROM firing WHERE told_count = 0")
