"""Indexes that answer pages of a collection and their totals alone.

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_index("ix_entity_entity_type_deleted_fqn", "entity", ["entity_type", "deleted", "fqn"])


def downgrade() -> None:
    op.drop_index("ix_entity_entity_type_deleted_fqn", "entity")
