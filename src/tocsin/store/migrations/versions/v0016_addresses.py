"""Index of people by email address.

Revision ID: 0016
Revises: 0015
"""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_index("ix_person_email", "person", ["email"])


def downgrade() -> None:
    op.drop_index("ix_person_email", "person")
