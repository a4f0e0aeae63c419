"""What the names of users, teams and bots look like; what entities were called before they were renamed.

Revision ID: 0019_names
Revises: 0018_alert_editors
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.model.look_alikes import look_of

revision = "0019_names"
down_revision = "0018_alert_editors"

_PORTION = 1_000
_PRINCIPALS = sa.text(
    "SELECT id, name FROM entity WHERE entity_type IN ('user', 'team', 'bot') AND id > :after"
    " ORDER BY id LIMIT :portion"
)
_LOOK = sa.table("name_look", sa.column("entity_id"), sa.column("look"))


def upgrade() -> None:
    op.create_table(
        "name_look",
        sa.Column("entity_id", sa.String(36), primary_key=True),
        sa.Column("look", sa.Text, nullable=False),
    )
    op.create_index("ix_name_look_look", "name_look", ["look"])
    op.create_table(
        "former_name",
        sa.Column("entity_type", sa.String(40), primary_key=True),
        sa.Column("fqn", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), primary_key=True),
        sa.Column("entity_id", sa.String(36), nullable=False),
    )
    op.create_index("ix_former_name_entity_id", "former_name", ["entity_id"])
    connection, after = op.get_bind(), ""
    while rows := connection.execute(_PRINCIPALS, {"after": after, "portion": _PORTION}).all():
        after = rows[-1].id
        connection.execute(_LOOK.insert(), [{"entity_id": row.id, "look": look_of(row.name)} for row in rows])
