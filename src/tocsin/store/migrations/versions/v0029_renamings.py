"""Renames with their places in the log: events before them carry the old names.

Earlier renames have no rows; the events before those were matched long ago.

Revision ID: 0029_renamings
Revises: 0028_masked_addresses
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029_renamings"
down_revision = "0028_masked_addresses"


def upgrade() -> None:
    op.create_table(
        "renaming",
        sa.Column("log_offset", sa.BigInteger, primary_key=True),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("old_fqn", sa.Text, nullable=False),
        sa.Column("new_fqn", sa.Text, nullable=False),
    )
    op.create_index("ix_renaming_entity_id", "renaming", ["entity_id"])
