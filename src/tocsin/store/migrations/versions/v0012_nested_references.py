"""Rows for references nested inside documents.

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_KEYS = ("customProperties", "extension", "relatedTerms", "testDefinition", "testSuite")
_AT_ONCE = 500
_LONGEST_ID = 36


def upgrade() -> None:
    """Add the rows that the documents say."""
    connection = op.get_bind()
    entity = sa.table("entity", sa.column("id"), sa.column("entity_type"), sa.column("document"))
    reference = sa.table("entity_reference", sa.column("entity_id"), sa.column("field"), sa.column("target_id"))
    types = set(connection.execute(sa.select(entity.c.entity_type).distinct()).scalars())
    holds = sa.or_(*(entity.c.document.like(f'%"{key}":%') for key in _KEYS))
    after = ""
    while True:
        page = sa.select(entity.c.id, entity.c.document).where(entity.c.id > after, holds)
        found = connection.execute(page.order_by(entity.c.id).limit(_AT_ONCE)).all()
        if not found:
            return
        after = found[-1].id
        rows = {
            (row.id, key, target)
            for row in found
            for key, value in json.loads(row.document).items()
            if key in _KEYS
            for target in _targets(value, types)
        }
        if rows:
            made = [dict(zip(("entity_id", "field", "target_id"), one, strict=True)) for one in sorted(rows)]
            connection.execute(sa.insert(reference), made)


def downgrade() -> None:
    """Remove the rows."""
    reference = sa.table("entity_reference", sa.column("field"))
    op.get_bind().execute(sa.delete(reference).where(reference.c.field.in_(_KEYS)))


def _targets(value: Any, types: set[str]) -> list[str]:  # Any: a JSON value
    if isinstance(value, list):
        return [one for member in value for one in _targets(member, types)]
    if not isinstance(value, dict):
        return []
    named = isinstance(value.get("id"), str) and len(value["id"]) <= _LONGEST_ID and value.get("type") in types
    own = [value["id"]] if named else []
    return own + [one for inner in value.values() for one in _targets(inner, types)]
