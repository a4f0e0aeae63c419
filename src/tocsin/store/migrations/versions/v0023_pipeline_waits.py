"""Table of the pipeline's waits, for the health check.

Revision ID: 0023
Revises: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "pipeline_wait",
        sa.Column("query_name", sa.String(80), primary_key=True),
        sa.Column("fault", sa.String(40), nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("pipeline_wait")
