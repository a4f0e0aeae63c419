"""Incidents that people merge, and split again.

Revision ID: 0048_merged_by_hand
Revises: 0047_incident_severity
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.tables import ID

revision = "0048_merged_by_hand"
down_revision = "0047_incident_severity"


def upgrade() -> None:
    for table, column in (("alert_incident", "part_of"), ("alert_incident_step", "other_id")):
        op.add_column(table, sa.Column(column, ID))
        op.create_index(f"ix_{table}_{column}", table, [column])
