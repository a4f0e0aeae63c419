"""Replays of messages, and indexes of those that were given up.

Revision ID: 0010_replays
Revises: 0009_failing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010_replays"
down_revision = "0009_failing"

_GIVEN_UP = "status IN ('failed', 'retryLimitReached')"


def upgrade() -> None:
    op.add_column("message", sa.Column("replay_id", sa.String(36)))
    op.add_column("message", sa.Column("attempts_before", sa.Integer, nullable=False, server_default="0"))
    _index("ix_message_replayed", "message", ["destination_id", "due_at_ms"], "status = 'awaitingReplay'")
    _index("ix_message_replay", "message", ["replay_id", "id"], "replay_id IS NOT NULL")
    _index("ix_message_given_up", "message", ["updated_at_ms", "id"], _GIVEN_UP)
    _index("ix_message_given_up_of_alert", "message", ["subscription_id", "updated_at_ms", "id"], _GIVEN_UP)
    op.create_table(
        "replay",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("requested_by", sa.String(36), nullable=False),
        sa.Column("requested_at_ms", sa.BigInteger, nullable=False),
        sa.Column("selection", sa.Text, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("total_count", sa.BigInteger, nullable=False),
        sa.Column("delivered_count", sa.BigInteger, nullable=False),
        sa.Column("failed_count", sa.BigInteger, nullable=False),
        sa.Column("taken_back_count", sa.BigInteger, nullable=False),
        sa.Column("after_ms", sa.BigInteger),
        sa.Column("after_id", sa.String(36)),
        sa.Column("ended_at_ms", sa.BigInteger),
    )
    op.create_index("ix_replay_requested_at_ms", "replay", ["requested_at_ms"])
    _index("ix_replay_under_way", "replay", ["requested_by"], "ended_at_ms IS NULL")


def _index(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
