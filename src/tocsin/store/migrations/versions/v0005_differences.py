"""Large versions and events as differences to snapshots; what is stored already stays as it is.

Revision ID: 0005_differences
Revises: 0004_messages
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005_differences"
down_revision = "0004_messages"

_COLUMNS = (("document_bytes", sa.BigInteger), ("snapshot_id", sa.BigInteger), ("difference", sa.LargeBinary))


def upgrade() -> None:
    serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "document_snapshot",
        sa.Column("id", serial, primary_key=True, autoincrement=True),
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Index(None, "entity_id", "id"),
    )
    for table in ("entity_version", "change_event"):
        for name, of_type in _COLUMNS:
            op.add_column(table, sa.Column(name, of_type))
