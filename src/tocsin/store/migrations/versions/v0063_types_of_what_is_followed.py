"""Index on the type of what is followed.

Revision ID: 0063_types_of_what_is_followed
Revises: 0062_states_of_notifications
"""

from __future__ import annotations

from alembic import op

revision = "0063_types_of_what_is_followed"
down_revision = "0062_states_of_notifications"


def upgrade() -> None:
    op.create_index("ix_follow_entity_type", "follow", ["entity_type"])
