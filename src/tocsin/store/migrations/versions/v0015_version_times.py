"""Index of versions by time.

Revision ID: 0015
Revises: 0014
"""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"

_INDEX = "ix_entity_version_updated_at_ms_entity_id_version_tenths"


def upgrade() -> None:
    op.create_index(_INDEX, "entity_version", ["updated_at_ms", "entity_id", "version_tenths"])


def downgrade() -> None:
    op.drop_index(_INDEX, "entity_version")
