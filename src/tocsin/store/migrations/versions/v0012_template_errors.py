"""Errors of templates, with the attempt at the message that they should have worded.

Revision ID: 0012_template_errors
Revises: 0011_alert_incidents
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012_template_errors"
down_revision = "0011_alert_incidents"


def upgrade() -> None:
    op.add_column("attempt", sa.Column("template_error", sa.Text, nullable=False, server_default=""))
