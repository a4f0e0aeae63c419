"""Matches withheld from editors of alerts; who is an editor since when, and what owners know of their rights.

Revision ID: 0020_withheld
Revises: 0019_names
"""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0020_withheld"
down_revision = "0019_names"


def upgrade() -> None:
    op.add_column("match_result", sa.Column("withheld_for", sa.String(36)))
    op.add_column("alert_editor", sa.Column("is_editor", sa.Boolean, nullable=False, server_default=sa.true()))
    op.add_column("alert_editor", sa.Column("since_ms", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("alert_editor", sa.Column("told_view", sa.String(10)))
    # Until now alerts matched what their editors may not view: what is told of before is not for them.
    now_ms = time.time_ns() // 1_000_000
    op.get_bind().execute(sa.text("UPDATE alert_editor SET since_ms = :now_ms"), {"now_ms": now_ms})
