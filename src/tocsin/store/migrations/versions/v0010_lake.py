"""Tables of the lake's segments, scheduled jobs, backtests, and match results.

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_ID = sa.String(36)
_TOLD_FROM = (
    "INSERT INTO pipeline_progress (query_name, log_offset, updated_at_ms)"
    " SELECT 'tellings', log_offset, updated_at_ms FROM pipeline_progress WHERE query_name = 'match_stream'"
)


def upgrade() -> None:
    _create_lake()
    _create_backtest()
    op.create_table(
        "telling",
        sa.Column("log_offset", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("subscription_id", _ID, nullable=False),
        sa.Column("told_count", sa.Integer(), nullable=False),
        sa.Column("told_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("log_offset", "subscription_id", name="pk_telling"),
    )
    op.execute(_TOLD_FROM)


def _create_lake() -> None:
    op.create_table(
        "lake_segment",
        sa.Column("id", _ID, nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("after_offset", "through_offset")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("event_count", "first_ms", "last_ms")),
        sa.Column("changed_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_lake_segment"),
    )
    op.create_index("ix_lake_segment_state_after_offset", "lake_segment", ["state", "after_offset"])
    op.create_table(
        "scheduled_job",
        sa.Column("name", sa.String(80), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("seen_at_ms", "ran_at_ms")),
        sa.PrimaryKeyConstraint("name", name="pk_scheduled_job"),
    )


def _create_backtest() -> None:
    op.create_table(
        "backtest",
        sa.Column("id", _ID, nullable=False),
        sa.Column("requested_by", _ID, nullable=False),
        sa.Column("requested_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("runner", sa.String(80)),
        sa.Column("seen_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("done_count", "total_count")),
        sa.Column("result", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("ended_at_ms", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_backtest"),
    )
    op.create_index("ix_backtest_state_requested_at_ms", "backtest", ["state", "requested_at_ms"])
    op.create_index("ix_backtest_requested_by_state", "backtest", ["requested_by", "state"])


def downgrade() -> None:
    for table in ("telling", "backtest", "scheduled_job", "lake_segment"):
        op.drop_table(table)
    op.execute("DELETE FROM pipeline_progress WHERE query_name = 'tellings'")
