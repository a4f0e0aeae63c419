"""What ends a mute besides its time: a change of what is muted, or an incident that is resolved.

Revision ID: 0066_ends_of_mutes
Revises: 0065_broad_mutes
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0066_ends_of_mutes"
down_revision = "0065_broad_mutes"


def upgrade() -> None:
    op.add_column("mute", sa.Column("ends_by", sa.String(10)))
    op.add_column("mute", sa.Column("ends_of", sa.String(36)))
    op.add_column("mute", sa.Column("ends_after", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("mute", sa.Column("until_offset", sa.BigInteger))
