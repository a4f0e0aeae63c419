"""Why a version was written and a change was made, as their author says.

Revision ID: 0046_reasons
Revises: 0045_change_requests
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0046_reasons"
down_revision = "0045_change_requests"


def upgrade() -> None:
    for table in ("entity_version", "change_event"):
        op.add_column(table, sa.Column("reason", sa.Text))
    condition = sa.text("reason IS NOT NULL")
    op.create_index(
        "ix_change_event_reasoned",
        "change_event",
        ["log_offset"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
