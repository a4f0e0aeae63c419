"""Events of other systems that were applied, so that each is applied once.

Revision ID: 0033_ingested_events
Revises: 0032_mutes_of_erased
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033_ingested_events"
down_revision = "0032_mutes_of_erased"


def upgrade() -> None:
    op.create_table(
        "ingested_event",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("entity_key", sa.String(64), nullable=False),
        sa.Column("bot_id", sa.String(36), nullable=False),
        sa.Column("source", sa.String(500), nullable=False),
        sa.Column("source_event_id", sa.String(500), nullable=False),
        sa.Column("author", sa.String(256)),
        sa.Column("event_id", sa.String(36)),
        sa.Column("newest_ms", sa.BigInteger),
        sa.Column("received_at_ms", sa.BigInteger, nullable=False),
        sa.Column("superseded_at_ms", sa.BigInteger),
    )
    op.create_index(
        "ix_ingested_event_entity_key_superseded_at_ms", "ingested_event", ["entity_key", "superseded_at_ms"]
    )
    op.create_index("ix_ingested_event_superseded_at_ms", "ingested_event", ["superseded_at_ms"])
    op.create_index("ix_ingested_event_event_id", "ingested_event", ["event_id"])
