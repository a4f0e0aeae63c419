"""Browsers that take web push messages, each of one session.

Revision ID: 0080_push_browsers
Revises: 0079_begun_notices
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0080_push_browsers"
down_revision = "0079_begun_notices"

_ID = sa.String(36)


def upgrade() -> None:
    op.create_table(
        "push_browser",
        sa.Column("session_id", _ID, primary_key=True),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_push_browser_user_id", "push_browser", ["user_id"])
