"""Whether the thread of a notice has begun, so that a crash between the two loses neither.

Revision ID: 0079_begun_notices
Revises: 0078_composed_digests
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0079_begun_notices"
down_revision = "0078_composed_digests"


def upgrade() -> None:
    op.add_column("personal_notice", sa.Column("is_begun", sa.Boolean, nullable=False, server_default=sa.true()))
