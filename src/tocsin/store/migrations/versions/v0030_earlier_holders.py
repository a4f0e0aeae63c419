"""Who had a name before the last one to have it: names are taken again and again.

Who had a name before that was not kept until now.

Revision ID: 0030_earlier_holders
Revises: 0029_renamings
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030_earlier_holders"
down_revision = "0029_renamings"


def upgrade() -> None:
    op.create_table(
        "earlier_holder",
        sa.Column("entity_type", sa.String(40), primary_key=True),
        sa.Column("fqn", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), primary_key=True),
        sa.Column("entity_id", sa.String(36), primary_key=True),
    )
