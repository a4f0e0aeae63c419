"""Covering indexes for list filters and hierarchies, so that documents are read only when shown.

Revision ID: 0017
Revises: 0016
"""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"

_LIST, _TREE = ["entity_type", "deleted", "fqn"], ["parent_id"]


def upgrade() -> None:
    for columns in (_LIST, _TREE):
        op.create_index(_name([*columns, "id"]), "entity", [*columns, "id"])
        op.drop_index(_name(columns), "entity")


def downgrade() -> None:
    for columns in (_LIST, _TREE):
        op.create_index(_name(columns), "entity", columns)
        op.drop_index(_name([*columns, "id"]), "entity")


def _name(columns: list[str]) -> str:
    return f"ix_entity_{'_'.join(columns)}"
