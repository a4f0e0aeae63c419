"""Table of relations that have ended, and the start of current ones.

Revision ID: 0002_past_relations
Revises: 0001_initial
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002_past_relations"
down_revision = "0001_initial"

_ID = sa.String(36)
_SINCE = ("ownership", "membership", "lineage_edge")


def upgrade() -> None:
    for table in _SINCE:
        op.add_column(table, sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "past_relation",
        sa.Column("until_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("relation", sa.String(10), primary_key=True),
        sa.Column("entity_id", _ID, primary_key=True),
        sa.Column("other_id", _ID, primary_key=True),
        sa.Column("other_type", sa.String(40), nullable=False),
        sa.Column("other_fqn", sa.Text),
        sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0"),
        sa.Index(None, "entity_id", "relation"),
    )
    op.execute(
        "INSERT INTO past_relation (until_offset, relation, entity_id, other_id, other_type, since_offset)"
        " SELECT log_offset, relation, entity_id, other_id, other_type, since_offset FROM tombstone_relation"
    )
    op.drop_table("tombstone_relation")
