"""Since which event things carry their labels.

Revision ID: 0059_times_of_labels
Revises: 0058_members_of_domains
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0059_times_of_labels"
down_revision = "0058_members_of_domains"


def upgrade() -> None:
    op.add_column("entity_tag", sa.Column("since_offset", sa.BigInteger, nullable=False, server_default="0"))
