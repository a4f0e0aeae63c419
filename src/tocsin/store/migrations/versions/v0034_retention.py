"""Tables of retention.

Nothing is filled in: nothing is removed until settings say so.

Revision ID: 0034_retention
Revises: 0033_ingested_events
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034_retention"
down_revision = "0033_ingested_events"

_ID = sa.String(36)


def upgrade() -> None:
    _create_hold()
    op.create_table(
        "retention_state",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("trusted_ms", sa.BigInteger),
        sa.Column("removed_through", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("removed_until_ms", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("runner", _ID),
        sa.Column("seen_at_ms", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("last_run", sa.Text),
    )
    op.create_table(
        "removed_events",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("event_type", sa.String(40), primary_key=True),
        sa.Column("entity_type", sa.String(40), primary_key=True),
        sa.Column("log_count", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("lake_count", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_table(
        "deleted_entity",
        sa.Column("entity_id", _ID, primary_key=True),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("deleted_at_ms", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_table(
        "passed_reader",
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("told_at_ms", sa.BigInteger, nullable=False),
        sa.Column("passed_count", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("passed_through", sa.BigInteger, nullable=False, server_default="0"),
    )


def _create_hold() -> None:
    op.create_table(
        "legal_hold",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("set_by", sa.Text, nullable=False),
        sa.Column("set_at_ms", sa.BigInteger, nullable=False),
        sa.Column("entity_id", _ID),
        sa.Column("user_name", sa.Text),
        sa.Column("since_ms", sa.BigInteger),
        sa.Column("until_ms", sa.BigInteger),
        sa.Column("lifted_by", sa.Text),
        sa.Column("lifted_at_ms", sa.BigInteger),
    )
    op.create_index("ix_legal_hold_set_at_ms", "legal_hold", ["set_at_ms"])
