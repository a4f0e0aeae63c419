"""Incidents of alerts, and the verdicts of status reports that open and resolve them.

Revision ID: 0011_alert_incidents
Revises: 0010_replays
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011_alert_incidents"
down_revision = "0010_replays"

_ID = sa.String(36)
_UNDER_WAY = "('queued', 'pending', 'running')"


def upgrade() -> None:
    op.add_column("status_report", sa.Column("verdict", sa.String(40)))
    op.add_column("status_report", sa.Column("reported_at_ms", sa.BigInteger))
    op.create_index("ix_status_report_entity_id_reported_at_ms", "status_report", ["entity_id", "reported_at_ms"])
    _tell_verdicts()
    op.create_table(
        "alert_incident",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False, unique=True),
        sa.Column("subscription_id", _ID, nullable=False),
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("opened_offset", sa.BigInteger, nullable=False),
        sa.Column("opened_at_ms", sa.BigInteger, nullable=False),
        sa.Column("opened_event_id", _ID, nullable=False),
        sa.Column("assignee_id", _ID),
        sa.Column("assignee_type", sa.String(10)),
        sa.Column("recovered_offset", sa.BigInteger),
        sa.Column("recovered_event_id", _ID),
        sa.Column("resolved_at_ms", sa.BigInteger),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_alert_incident_entity_id_status", "alert_incident", ["entity_id", "status"])
    op.create_index("ix_alert_incident_subscription_id_number", "alert_incident", ["subscription_id", "number"])
    op.create_index("ix_alert_incident_status_number", "alert_incident", ["status", "number"])
    op.create_table(
        "alert_incident_step",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("incident_id", _ID, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("event_id", _ID),
        sa.Column("comment", sa.Text),
        sa.Column("assignee_id", _ID),
        sa.Column("assignee_type", sa.String(10)),
    )
    op.create_index("ix_alert_incident_step_incident_id", "alert_incident_step", ["incident_id"])


def _tell_verdicts() -> None:
    """Fill in what the reports in the log say, as ``model/status.py`` reads it."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    value = "json_extract(e.derived, '$.{}')" if is_sqlite else "(e.derived::jsonb ->> '{}')"
    said = f"lower(coalesce({value.format('testStatus')}, {value.format('pipelineStatus')}))"
    verdict = f"CASE WHEN {said} IN {_UNDER_WAY} THEN NULL WHEN {said} = 'successful' THEN 'success' ELSE {said} END"
    reported = f"CAST({value.format('reportedAt')} AS BIGINT)"
    at_ms = f"CASE WHEN {reported} < e.timestamp_ms THEN {reported} ELSE e.timestamp_ms END"
    op.execute(
        f"UPDATE status_report SET verdict = substr({verdict}, 1, 40), reported_at_ms = {at_ms}"  # noqa: S608
        " FROM change_event AS e WHERE e.log_offset = status_report.log_offset AND e.event_type <> 'entityDeleted'"
    )
