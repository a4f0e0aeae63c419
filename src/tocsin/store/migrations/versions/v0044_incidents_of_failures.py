"""One incident for each failure, and the alerts that watch it, in place of one for each alert.

Of the unresolved incidents of an asset the oldest number stays, with the earliest beginning, the acknowledgement and
the assignee that any of them has; the others are merged into it.

Revision ID: 0044_incidents_of_failures
Revises: 0043_notification_ids
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0044_incidents_of_failures"
down_revision = "0043_notification_ids"

_ID = sa.String(36)

_UNRESOLVED = (
    "FROM alert_incident AS other WHERE other.entity_id = alert_incident.entity_id AND other.status <> 'resolved'"
)
_MERGE = f"""
UPDATE alert_incident SET merged_into = (SELECT other.id {_UNRESOLVED} ORDER BY other.number LIMIT 1)
WHERE status <> 'resolved' AND EXISTS (SELECT 1 {_UNRESOLVED} AND other.number < alert_incident.number)
"""  # noqa: S608  our own names

_PARTS = "FROM alert_incident AS part WHERE (part.id = alert_incident.id OR part.merged_into = alert_incident.id)"
_FIRST = f"{_PARTS} ORDER BY part.opened_offset LIMIT 1"
_ASSIGNED = f"{_PARTS} AND part.assignee_id IS NOT NULL ORDER BY part.number LIMIT 1"
_GATHER = f"""
UPDATE alert_incident SET
    opened_offset = (SELECT part.opened_offset {_FIRST}),
    opened_at_ms = (SELECT part.opened_at_ms {_FIRST}),
    opened_event_id = (SELECT part.opened_event_id {_FIRST}),
    assignee_id = (SELECT part.assignee_id {_ASSIGNED}),
    assignee_type = (SELECT part.assignee_type {_ASSIGNED}),
    status = (SELECT min(part.status) {_PARTS})
WHERE id IN (SELECT merged_into FROM alert_incident)
"""  # noqa: S608  our own names
"""``acknowledged`` is the first of the two states in the alphabet."""

_WATCH = """
INSERT INTO incident_watcher (incident_id, subscription_id, opened_offset)
SELECT coalesce(merged_into, id), subscription_id, min(opened_offset) FROM alert_incident
GROUP BY coalesce(merged_into, id), subscription_id
"""

_HOLD_BACK = """
INSERT INTO alert_held_back (incident_id, subscription_id, log_offset)
SELECT part.merged_into, held.subscription_id, min(held.log_offset)
FROM alert_held_back AS held JOIN alert_incident AS part ON part.id = held.incident_id
WHERE part.merged_into IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM alert_held_back AS there
    WHERE there.incident_id = part.merged_into AND there.subscription_id = held.subscription_id
)
GROUP BY part.merged_into, held.subscription_id
"""
_FORGET_PARTS = (
    "DELETE FROM alert_held_back WHERE incident_id IN (SELECT id FROM alert_incident WHERE merged_into IS NOT NULL)"
)


def upgrade() -> None:
    op.create_table(
        "incident_watcher",
        sa.Column("incident_id", _ID, primary_key=True),
        sa.Column("subscription_id", _ID, primary_key=True),
        sa.Column("opened_offset", sa.BigInteger, nullable=False),
    )
    op.add_column("alert_incident", sa.Column("merged_into", _ID))
    op.add_column("alert_incident_step", sa.Column("reason", sa.String(20)))
    op.create_index("ix_alert_incident_merged_into", "alert_incident", ["merged_into"])
    for statement in (_MERGE, _WATCH, _GATHER, _HOLD_BACK, _FORGET_PARTS):
        op.execute(statement)
    columns = ["subscription_id", "incident_id"]
    op.create_index("ix_incident_watcher_subscription_id_incident_id", "incident_watcher", columns)
    op.drop_index("ix_alert_incident_subscription_id_number", "alert_incident")
    op.execute("ALTER TABLE alert_incident DROP COLUMN subscription_id")
