"""State of the alert at which a destination's receiver was gone, in place of a timestamp.

Revision ID: 0026
Revises: 0025
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

_TABLE, _COLUMN = "destination_status", "configured_at_ms"
_KNOWN = f"""
UPDATE {_TABLE} SET {_COLUMN} = (
    SELECT e.updated_at_ms FROM entity AS e
    WHERE e.id = {_TABLE}.subscription_id AND e.updated_at_ms <= {_TABLE}.last_failed_at_ms
) WHERE last_failed_status_code = 410
"""  # noqa: S608  our own names


def upgrade() -> None:
    op.add_column(_TABLE, sa.Column(_COLUMN, sa.BigInteger))
    op.execute(_KNOWN)


def downgrade() -> None:
    op.drop_column(_TABLE, _COLUMN)
