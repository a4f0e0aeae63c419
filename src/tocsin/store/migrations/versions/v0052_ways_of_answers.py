"""How answers to change requests came.

Revision ID: 0052_ways_of_answers
Revises: 0051_scheduled_checks
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0052_ways_of_answers"
down_revision = "0051_scheduled_checks"


def upgrade() -> None:
    op.add_column("change_request_step", sa.Column("way", sa.String(10)))
