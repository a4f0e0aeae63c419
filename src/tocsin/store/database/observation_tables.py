"""Tables of data stored per entity outside its document: reports, attachments, incidents, suite members, usage.

Same conventions as ``store/database/tables.py``; none of it is part of a version, and a hard delete removes it.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text

from tocsin.store.database.tables import CODE_POINT_TEXT, ID, METADATA

series = Table(
    "series",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("part", CODE_POINT_TEXT, primary_key=True),
    Column("timestamp_ms", BigInteger, primary_key=True),
    Column("status", String(40)),
    Column("document", Text, nullable=False),
    Index(None, "entity_id", "kind", "timestamp_ms"),
)
"""One row per moment at which something was reported of an entity, or of one ``part`` of it (else empty).

``kind`` is ``testCaseResult``, ``pipelineStatus``, ``tableProfile``, …; a part is a column's path, a run's id.
"""

attachment = Table(
    "attachment",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("document", Text, nullable=False),
)
"""One row per attachment of an entity: ``sampleData``, ``joins``, ``tableProfilerConfig``, …"""

incident_status = Table(
    "incident_status",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("state_id", ID, nullable=False),
    Column("test_case_id", ID, nullable=False),
    Column("tested_id", ID, nullable=False),
    Column("timestamp_ms", BigInteger, nullable=False),
    Column("status", String(20), nullable=False),
    Column("assignee_id", ID),
    Column("latest", Boolean, nullable=False),
    Column("document", Text, nullable=False),
    Index(None, "state_id"),
    Index(None, "test_case_id", "timestamp_ms"),
    Index(None, "timestamp_ms"),
)
"""One row per step of an incident, the newest of a test case ``latest``; an incident has one ``state_id``."""

suite_member = Table(
    "suite_member",
    METADATA,
    Column("suite_id", ID, primary_key=True),
    Column("test_case_id", ID, primary_key=True),
    Column("own", Boolean, nullable=False),
    Index(None, "test_case_id"),
)
"""One row per (test suite, test case in it); ``own`` says that the test case names the suite as its own."""

suite_run = Table(
    "suite_run",
    METADATA,
    Column("suite_id", ID, primary_key=True),
    Column("ended_at_ms", BigInteger, nullable=False),
    Column("status", String(40)),
)
"""One row per test suite of which a result was reported: its last completed run, with its status if it was told of."""

entity_usage = Table(
    "entity_usage",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("entity_type", String(40), nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("daily_rank", Float, nullable=False, default=0),
    Column("weekly_rank", Float, nullable=False, default=0),
    Column("monthly_rank", Float, nullable=False, default=0),
    Index(None, "entity_type", "day"),
)
"""One row per entity and day (counted from 1970-01-01): how often it was used, and how that ranks among its type."""
