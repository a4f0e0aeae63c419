"""Tables of tombstones of hard deletes, by event offset, kept until every reader of the log has passed it.

Revision ID: 0018
Revises: 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_CARRY = """
INSERT INTO tombstone_relation (log_offset, relation, other_id, entity_id, other_type, since_ms)
SELECT max(e.log_offset), p.relation, p.other_id, p.entity_id, p.other_type, p.since_ms
FROM parting AS p
JOIN change_event AS e ON e.entity_id = p.entity_id AND e.event_type = 'entityDeleted'
GROUP BY p.relation, p.other_id, p.entity_id, p.other_type, p.since_ms
"""
_COUNT = """
INSERT INTO tombstone (log_offset, entity_id, relation_count)
SELECT log_offset, entity_id, count(*) FROM tombstone_relation GROUP BY log_offset, entity_id
"""
_CARRY_BACK = """
INSERT INTO parting (entity_id, relation, other_id, other_type, since_ms)
SELECT entity_id, relation, other_id, max(other_type), max(since_ms)
FROM tombstone_relation GROUP BY entity_id, relation, other_id
"""


def upgrade() -> None:
    """Create the tables, and carry over the relations that are still to be notified."""
    op.create_table(
        "tombstone",
        sa.Column("log_offset", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("relation_count", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("log_offset", name="pk_tombstone"),
    )
    op.create_index("ix_tombstone_entity_id", "tombstone", ["entity_id"])
    op.create_table(
        "tombstone_relation",
        sa.Column("log_offset", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("relation", sa.String(10), nullable=False),
        sa.Column("other_id", sa.String(36), nullable=False),
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("other_type", sa.String(40), nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("log_offset", "relation", "other_id", name="pk_tombstone_relation"),
    )
    op.create_index("ix_tombstone_relation_entity_id_relation", "tombstone_relation", ["entity_id", "relation"])
    op.execute(_CARRY)
    op.execute(_COUNT)
    op.drop_table("parting")
    op.add_column("telling", sa.Column("missing_count", sa.Integer, nullable=False, server_default="0"))


def downgrade() -> None:
    """Bring back the one table."""
    op.create_table(
        "parting",
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("relation", sa.String(10), nullable=False),
        sa.Column("other_id", sa.String(36), nullable=False),
        sa.Column("other_type", sa.String(40), nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "relation", "other_id", name="pk_parting"),
    )
    op.execute(_CARRY_BACK)
    for table in ("tombstone_relation", "tombstone"):
        op.drop_table(table)
    op.drop_column("telling", "missing_count")
