"""The test case's own incident to which each incident belongs, so that it is known after either is resolved.

Revision ID: 0057_records_of_incidents
Revises: 0056_excerpts_of_failed_rows
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.tables import ID

revision = "0057_records_of_incidents"
down_revision = "0056_excerpts_of_failed_rows"

_OF_OPEN = """
UPDATE alert_incident SET state_id = (
    SELECT state_id FROM incident_status
    WHERE test_case_id = alert_incident.entity_id AND latest AND incident_status.status <> 'Resolved'
    LIMIT 1
) WHERE entity_type = 'testCase' AND alert_incident.status <> 'resolved'
"""
_OF_OTHERS = """
UPDATE alert_incident SET state_id = (
    SELECT state_id FROM incident_status
    WHERE test_case_id = alert_incident.entity_id AND timestamp_ms <= alert_incident.opened_at_ms
    ORDER BY timestamp_ms DESC LIMIT 1
) WHERE entity_type = 'testCase' AND state_id IS NULL
"""
"""The last one that had begun when the incident did."""


def upgrade() -> None:
    op.add_column("alert_incident", sa.Column("state_id", ID))
    for statement in (_OF_OPEN, _OF_OTHERS):
        op.execute(sa.text(statement))
