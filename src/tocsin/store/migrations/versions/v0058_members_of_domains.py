"""Since which event assets are in their domains and data products.

Revision ID: 0058_members_of_domains
Revises: 0057_records_of_incidents
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0058_members_of_domains"
down_revision = "0057_records_of_incidents"


def upgrade() -> None:
    since = sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0")
    op.add_column("entity_reference", since)
