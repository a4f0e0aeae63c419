"""Where the last run of each test suite ended.

Nothing is filled in: the first result of a suite after the migration starts its first run.

Revision ID: 0031_suite_runs
Revises: 0030_earlier_holders
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031_suite_runs"
down_revision = "0030_earlier_holders"


def upgrade() -> None:
    op.create_table(
        "suite_run",
        sa.Column("suite_id", sa.String(36), primary_key=True),
        sa.Column("ended_at_ms", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(40)),
    )
