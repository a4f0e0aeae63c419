"""Table of entity references in documents; before, only owners and memberships had rows.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_AT_ONCE = 1_000
_FIELDS = ("charts", "dashboards", "domains", "testSuites", "tests")
"""The lists that documents of the first revision could hold."""


def upgrade() -> None:
    table = op.create_table(
        "entity_reference",
        sa.Column("entity_id", sa.String(36), nullable=False),
        sa.Column("field", sa.String(40), nullable=False),
        sa.Column("target_id", sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "field", "target_id", name="pk_entity_reference"),
    )
    op.create_index("ix_entity_reference_target_id", "entity_reference", ["target_id"])
    _fill(table)


def _fill(table: sa.Table) -> None:
    entity = sa.table("entity", sa.column("id"), sa.column("document"))
    connection, after = op.get_bind(), ""
    while True:
        query = sa.select(entity.c.id, entity.c.document).where(entity.c.id > after)
        rows = connection.execute(query.order_by(entity.c.id).limit(_AT_ONCE)).all()
        if not rows:
            return
        after = rows[-1].id
        found = [row for entity_id, text in rows for row in _rows(entity_id, text)]
        if found:
            connection.execute(sa.insert(table), found)


def _rows(entity_id: str, text: str) -> Iterator[dict[str, str]]:
    document = orjson.loads(text)
    for field in _FIELDS:
        members = document.get(field) or ()
        for target in {member["id"] for member in members if isinstance(member, dict) and "id" in member}:
            yield {"entity_id": entity_id, "field": field, "target_id": target}
