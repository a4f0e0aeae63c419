"""Results of alerts that another alert triggered.

Revision ID: 0013_triggers
Revises: 0012_template_errors
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013_triggers"
down_revision = "0012_template_errors"


def upgrade() -> None:
    op.add_column("match_result", sa.Column("triggered_by", sa.String(36)))
