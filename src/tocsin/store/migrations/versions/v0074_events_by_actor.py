"""Events by who made them.

Revision ID: 0074_events_by_actor
Revises: 0073_substitutes
"""

from __future__ import annotations

from alembic import op

revision = "0074_events_by_actor"
down_revision = "0073_substitutes"


def upgrade() -> None:
    op.create_index("ix_change_event_user_name_log_offset", "change_event", ["user_name", "log_offset"])
