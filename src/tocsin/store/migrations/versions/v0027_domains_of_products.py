"""What data products inherit owners from: the first domain that each names.

Revision ID: 0027_domains_of_products
Revises: 0026_label_names
"""

from __future__ import annotations

from alembic import op

revision = "0027_domains_of_products"
down_revision = "0026_label_names"

_FIRST = {
    "sqlite": "json_extract(document, '$.domains[0].id')",
    "postgresql": "document::jsonb -> 'domains' -> 0 ->> 'id'",
}


def fill(dialect: str) -> str:
    """Return the statement that gives every data product its place."""
    return f"UPDATE entity SET parent_id = {_FIRST[dialect]} WHERE entity_type = 'dataProduct'"  # noqa: S608  # our own


def upgrade() -> None:
    op.execute(fill(op.get_bind().dialect.name))
