"""What came of change requests.

Revision ID: 0049_outcomes_of_change_requests
Revises: 0048_merged_by_hand
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0049_outcomes_of_change_requests"
down_revision = "0048_merged_by_hand"


def upgrade() -> None:
    op.add_column("change_request", sa.Column("done_at_ms", sa.BigInteger))
    op.add_column("change_request", sa.Column("outcome", sa.String(20)))
