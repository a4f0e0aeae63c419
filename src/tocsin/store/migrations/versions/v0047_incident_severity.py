"""How bad incidents are. Those that are stored have no severity until another alert watches them.

Revision ID: 0047_incident_severity
Revises: 0046_reasons
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0047_incident_severity"
down_revision = "0046_reasons"


def upgrade() -> None:
    op.add_column("alert_incident", sa.Column("severity", sa.String(10)))
