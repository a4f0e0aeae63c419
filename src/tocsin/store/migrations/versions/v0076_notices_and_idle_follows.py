"""Notices to one person, which are worded when they are sent, and follows that are about to end as they are not used.

Revision ID: 0076_notices_and_idle_follows
Revises: 0075_left_inboxes
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0076_notices_and_idle_follows"
down_revision = "0075_left_inboxes"


def upgrade() -> None:
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "personal_notice",
        sa.Column("thread_id", sa.String(36), primary_key=True),
        sa.Column("user_id", sa.String(36), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_personal_notice_user_id_kind_until_ms", "personal_notice", ["user_id", "kind", "until_ms"])
    op.create_table(
        "idle_follow",
        sa.Column("user_id", sa.String(36), primary_key=True),
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("column_path", text, primary_key=True),
        sa.Column("notice_id", sa.String(36)),
        sa.Column("warned_ms", sa.BigInteger),
        sa.Column("days", sa.Integer, nullable=False, server_default="0"),
        sa.Column("counted_ms", sa.BigInteger),
        sa.Column("kept_ms", sa.BigInteger),
    )
    op.create_index("ix_idle_follow_entity_id", "idle_follow", ["entity_id"])
    op.create_index("ix_idle_follow_notice_id", "idle_follow", ["notice_id"])
