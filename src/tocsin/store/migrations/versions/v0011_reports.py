"""Table of events that report a status, so that reading them skips all others.

Revision ID: 0011
Revises: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_SQLITE = "coalesce(json_extract(derived, '$.testStatus'), json_extract(derived, '$.pipelineStatus'))"
_POSTGRESQL = "coalesce(derived::json ->> 'testStatus', derived::json ->> 'pipelineStatus')"


def upgrade() -> None:
    """Make the table and fill it from the log."""
    op.create_table(
        "status_report",
        sa.Column("log_offset", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint("log_offset", name="pk_status_report"),
    )
    op.create_index("ix_status_report_entity_id_log_offset", "status_report", ["entity_id", "log_offset"])
    op.execute(filling(op.get_bind().dialect.name))


def filling(dialect: str) -> str:
    """Return the statement that fills the table from the log."""
    status = _SQLITE if dialect == "sqlite" else _POSTGRESQL
    known = f"SELECT log_offset, entity_id FROM change_event WHERE {status} IS NOT NULL"  # noqa: S608  our own texts
    return f"INSERT INTO status_report (log_offset, entity_id) {known}"


def downgrade() -> None:
    """Drop the table; the log has it all."""
    op.drop_table("status_report")
