"""Match results and firings by the words of today: notified, not told.

Revision ID: 0003_notified
Revises: 0002_past_relations
"""

from __future__ import annotations

from alembic import op

revision = "0003_notified"
down_revision = "0002_past_relations"


_RENAMED = (
    ("match_result", "told_count", "notified_count"),
    ("match_result", "told_at_ms", "resolved_at_ms"),
    ("firing", "told_count", "notified_count"),
)


def upgrade() -> None:
    op.rename_table("telling", "match_result")
    for table, old, new in _RENAMED:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    op.execute("UPDATE pipeline_progress SET query_name = 'match_results' WHERE query_name = 'tellings'")
