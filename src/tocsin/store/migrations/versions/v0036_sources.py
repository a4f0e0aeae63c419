"""Sources of metadata: how far each is, and which entities stand for its own.

Revision ID: 0036_sources
Revises: 0035_lake_queries
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.tables import ID

revision = "0036_sources"
down_revision = "0035_lake_queries"


def upgrade() -> None:
    op.create_table(
        "source_state",
        sa.Column("source", sa.String(80), primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_table(
        "source_entity",
        sa.Column("source", sa.String(80), primary_key=True),
        sa.Column("source_id", ID, primary_key=True),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("entity_id", ID, nullable=False),
        sa.Column("is_brought", sa.Boolean, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.String(64)),
    )
    op.create_index("ix_source_entity_entity_id", "source_entity", ["entity_id"])
