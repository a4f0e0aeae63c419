"""Names of labels before and after a rename, which makes no version of what carries them.

Revision ID: 0026_label_names
Revises: 0025_sending_as_before
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026_label_names"
down_revision = "0025_sending_as_before"


def upgrade() -> None:
    op.create_table(
        "relabelling",
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("log_offset", sa.BigInteger, primary_key=True),
        sa.Column("version_tenths", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("names", sa.Text, nullable=False),
    )
    op.create_index("ix_relabelling_log_offset", "relabelling", ["log_offset"])
