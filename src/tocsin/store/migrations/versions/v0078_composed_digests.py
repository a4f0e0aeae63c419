"""Digests composed ahead of their time, and the index that finds what is due soon.

Revision ID: 0078_composed_digests
Revises: 0077_choices_of_follows
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0078_composed_digests"
down_revision = "0077_choices_of_follows"


def upgrade() -> None:
    op.create_table(
        "composed_digest",
        sa.Column("message_id", sa.String(36), primary_key=True),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
        sa.Column("basis", sa.LargeBinary, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_composed_digest_due_at_ms_message_id", "composed_digest", ["due_at_ms", "message_id"])
    is_gathered = sa.text("status = 'pending' AND grouping_key IS NOT NULL")
    op.create_index(
        "ix_message_gathered",
        "message",
        ["due_at_ms", "id"],
        sqlite_where=is_gathered,
        postgresql_where=is_gathered,
    )
