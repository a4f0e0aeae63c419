"""Change requests.

Revision ID: 0045_change_requests
Revises: 0044_incidents_of_failures
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from tocsin.store.database.tables import ID

revision = "0045_change_requests"
down_revision = "0044_incidents_of_failures"


def upgrade() -> None:
    op.create_table(
        "change_request",
        sa.Column("id", ID, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False, unique=True),
        sa.Column("entity_id", ID, nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("column_path", sa.Text),
        sa.Column("new_value", sa.Text),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("replacement", sa.Text),
        sa.Column("author_id", ID, nullable=False),
        sa.Column("author_name", sa.Text, nullable=False),
        sa.Column("announced_at_ms", sa.BigInteger, nullable=False),
        sa.Column("withdrawn_at_ms", sa.BigInteger),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "change_request_step",
        sa.Column("id", ID, primary_key=True),
        sa.Column("request_id", ID, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("comment", sa.Text),
        sa.Column("until_ms", sa.BigInteger),
        sa.Column("consumer_id", ID),
        sa.Column("consumer_type", sa.String(40)),
        sa.Column("verdict", sa.String(20)),
    )
    op.create_table(
        "change_request_consumer",
        sa.Column("request_id", ID, primary_key=True),
        sa.Column("consumer_id", ID, primary_key=True),
        sa.Column("consumer_type", sa.String(40), nullable=False),
        sa.Column("level", sa.Integer, nullable=False),
        sa.Column("basis", sa.String(10), nullable=False),
        sa.Column("step_id", ID),
    )
    for table, columns in (
        ("change_request", ("entity_id", "number")),
        ("change_request", ("author_id", "number")),
        ("change_request_step", ("request_id", "at_ms", "id")),
        ("change_request_consumer", ("consumer_id",)),
    ):
        op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
