"""Events of change requests.

Revision ID: 0050_events_of_change_requests
Revises: 0049_outcomes_of_change_requests
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.tables import ID

revision = "0050_events_of_change_requests"
down_revision = "0049_outcomes_of_change_requests"


def upgrade() -> None:
    op.add_column("change_request_step", sa.Column("event_id", ID))
    op.add_column("change_request_consumer", sa.Column("added_at_ms", sa.BigInteger))
