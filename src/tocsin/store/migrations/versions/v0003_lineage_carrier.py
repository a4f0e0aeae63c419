"""Table of the pipelines that carry lineage edges, for finding edges by pipeline.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ID = sa.String(36)


def upgrade() -> None:
    """Make the table and fill it from the details of the edges there are."""
    carrier = op.create_table(
        "lineage_carrier",
        sa.Column("from_id", _ID, nullable=False),
        sa.Column("to_id", _ID, nullable=False),
        sa.Column("carrier_id", _ID, nullable=False),
        sa.PrimaryKeyConstraint("from_id", "to_id", name="pk_lineage_carrier"),
    )
    op.create_index("ix_lineage_carrier_carrier_id", "lineage_carrier", ["carrier_id"])
    rows = op.get_bind().execute(sa.text("SELECT from_id, to_id, details FROM lineage_edge")).all()
    named = [(from_id, to_id, json.loads(details).get("pipeline")) for from_id, to_id, details in rows]
    known = [
        {"from_id": from_id, "to_id": to_id, "carrier_id": pipeline["id"]}
        for from_id, to_id, pipeline in named
        if isinstance(pipeline, dict) and isinstance(pipeline.get("id"), str)
    ]
    if known:
        op.bulk_insert(carrier, known)


def downgrade() -> None:
    """Drop the table; the details hold the pipeline no longer for edges written since."""
    op.drop_table("lineage_carrier")
