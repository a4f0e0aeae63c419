"""Tables of data outside documents: series in place of test results and runs, attachments, incidents, suites, usage.

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ID = sa.String(36)
_PART = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_AT_ONCE = 1_000
_INTO_SERIES = sa.text(
    "INSERT INTO series (entity_id, kind, part, timestamp_ms, status, document) "
    "VALUES (:entity_id, :kind, '', :at, :status, :document)"
)
_INTO_SUITES = sa.text("INSERT INTO suite_member (suite_id, test_case_id, own) VALUES (:suite, :case, :own)")
_OLD = (
    ("test_case_result", "test_case_id", "testCaseResult", "testCaseStatus"),
    ("pipeline_run", "pipeline_id", "pipelineStatus", "executionStatus"),
)


def upgrade() -> None:
    _create_series()
    _create_incidents()
    _create_usage()
    connection = op.get_bind()
    for old, key, kind, status in _OLD:
        _move(connection, (old, key), kind, status)
        op.drop_table(old)
    _enlist(connection)


def _create_series() -> None:
    op.create_table(
        "series",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("part", _PART, nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(40)),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "kind", "part", "timestamp_ms", name="pk_series"),
    )
    op.create_index("ix_series_entity_id_kind_timestamp_ms", "series", ["entity_id", "kind", "timestamp_ms"])
    op.create_table(
        "attachment",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "kind", name="pk_attachment"),
    )


def _create_incidents() -> None:
    op.create_table(
        "incident_status",
        sa.Column("id", _ID, nullable=False),
        sa.Column("state_id", _ID, nullable=False),
        sa.Column("test_case_id", _ID, nullable=False),
        sa.Column("tested_id", _ID, nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("assignee_id", _ID),
        sa.Column("latest", sa.Boolean(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_incident_status"),
    )
    for columns in (["state_id"], ["test_case_id", "timestamp_ms"], ["timestamp_ms"]):
        op.create_index(f"ix_incident_status_{'_'.join(columns)}", "incident_status", columns)


def _create_usage() -> None:
    op.create_table(
        "suite_member",
        sa.Column("suite_id", _ID, nullable=False),
        sa.Column("test_case_id", _ID, nullable=False),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("suite_id", "test_case_id", name="pk_suite_member"),
    )
    op.create_index("ix_suite_member_test_case_id", "suite_member", ["test_case_id"])
    op.create_table(
        "entity_usage",
        sa.Column("entity_id", _ID, nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("entity_type", sa.String(40), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("daily_rank", sa.Float(), nullable=False),
        sa.Column("weekly_rank", sa.Float(), nullable=False),
        sa.Column("monthly_rank", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "day", name="pk_entity_usage"),
    )
    op.create_index("ix_entity_usage_entity_type_day", "entity_usage", ["entity_type", "day"])


def _move(connection: sa.Connection, old: tuple[str, str], kind: str, status: str) -> None:
    """Copy the rows of an old table into the series, a thousand at a time."""
    table, key = sa.table(old[0], sa.column(old[1]), sa.column("timestamp_ms"), sa.column("document")), old[1]
    columns = (table.c[key], table.c.timestamp_ms)
    query = sa.select(*columns, table.c.document).order_by(*columns).limit(_AT_ONCE)
    rows = connection.execute(query).all()
    while rows:
        moved = [
            {"entity_id": one, "kind": kind, "at": at, "status": orjson.loads(text).get(status), "document": text}
            for one, at, text in rows
        ]
        connection.execute(_INTO_SERIES, moved)
        rows = connection.execute(query.where(sa.tuple_(*columns) > (rows[-1][0], rows[-1][1]))).all()


def _enlist(connection: sa.Connection) -> None:
    """Write down which suite each test case is in."""
    entity = sa.table("entity", sa.column("id"), sa.column("entity_type"), sa.column("document"))
    query = sa.select(entity.c.id, entity.c.document).where(entity.c.entity_type == "testCase")
    query = query.order_by(entity.c.id).limit(_AT_ONCE)
    rows = connection.execute(query).all()
    while rows:
        members = [member for case_id, text in rows for member in _suites(case_id, orjson.loads(text))]
        if members:
            connection.execute(_INTO_SUITES, members)
        rows = connection.execute(query.where(entity.c.id > rows[-1][0])).all()


def _suites(case_id: str, case: dict[str, Any]) -> Iterator[dict[str, object]]:
    own = (case.get("testSuite") or {}).get("id")
    logical = {suite["id"] for suite in case.get("testSuites") or () if isinstance(suite, dict) and "id" in suite}
    if own:
        yield {"suite": own, "case": case_id, "own": True}
    for suite in sorted(logical - {own}):
        yield {"suite": suite, "case": case_id, "own": False}
