"""Tests of queries on what one person may view: rows that are hidden do not exist for them, not even in errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany

from tocsin.clock import FixedClock
from tocsin.errors import Forbidden, InvalidInput
from tocsin.flow.eventlog.lake import Cut
from tocsin.jobs import query_main
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.jobs.visible_history import visibility_of
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.spark.lake import HistoryLocation
from tocsin.spark.lake_sql import LakeSql
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark

LIMITS = QueryLimits(1_000, seconds=60)


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """Ben may view everything but ``revenue``, which is downstream of ``orders``, and hard-deleted ``ledger``."""
    company = SmallCompany(store_engine)
    hiding_condition = "matchAnyTag('PII.Sensitive')"
    rule = {
        "name": "hidden",
        "effect": "deny",
        "operations": ["ViewBasic"],
        "resources": ["table"],
        "condition": hiding_condition,
    }
    company.put("policy", {"name": "hiding", "rules": [rule]})
    everything = {"name": "all", "effect": "allow", "operations": ["All"], "resources": ["All"]}
    company.put("policy", {"name": "open", "rules": [everything]})
    for role, policy in (("narrow", "hiding"), ("every", "open")):
        company.put("role", {"name": role, "policies": [{"id": company.ids[policy], "type": "policy"}]})
    roles = [{"id": company.ids[name], "type": "role"} for name in ("narrow", "every")]
    company.put("user", {"name": "ben", "email": "ben@example.com", "roles": roles})
    company.put("user", {"name": "root", "email": "root@example.com", "isAdmin": True})
    company.put("classification", {"name": "PII", "description": "x"})
    company.put("tag", {"name": "Sensitive", "classification": "PII", "description": "x"})
    tag = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    company.table("revenue", owners=[{"type": "user", "name": "dia"}], tags=[tag])
    company.table("ledger", tags=[tag])
    company.table("clean")
    ends = {"fromEntity": "revenue", "toEntity": "clean"}  # an event of clean that ben may not view
    edge = {side: {"type": "table", "id": company.ids[name]} for side, name in ends.items()}
    company.writes.put_edge(edge, actor=SYSTEM)
    company.describe("revenue", "Hidden from ben.")
    company.describe("orders", "Shown to ben.")
    company.writes.delete("table", Key.by_id(company.ids["ledger"]), hard=True, actor=SYSTEM)
    return company


@pytest.fixture
def parts(spark: SparkSession, company: SmallCompany, store_engine: Engine, tmp_path: Path) -> LakeParts:
    session = spark.newSession()
    register_source(session, LogSource)
    place = HistoryLocation(str(tmp_path / "lake"), store_engine.url.render_as_string(hide_password=False))
    parts = LakeParts(session, EventLog(store_engine), Lake(store_engine), place, FixedClock(1), events_per_segment=10)
    grow(parts)
    company.describe("orders", "In the log alone.")
    company.describe("revenue", "In the log alone, hidden.")
    return parts


def visible(parts: LakeParts, company: SmallCompany, sql: str, cut: Cut | None = None) -> list[dict[str, Any]]:
    return LakeQueries(parts).answer_from_visible(company.ids["ben"], sql, LIMITS, cut=cut or Cut()).records


def test_a_person_finds_the_events_that_the_api_shows_them_and_nothing_else(
    company: SmallCompany, parts: LakeParts, store_engine: Engine
) -> None:
    events = EventLog(store_engine).read(0, 1_000)
    visibility = visibility_of(store_engine, company.ids["ben"])
    visible_events = visibility.visible_events([one.event for one in events])
    expected_events = {
        logged_event.offset: event
        for logged_event, event in zip(events, visible_events, strict=True)
        if event is not None
    }
    records = visible(parts, company, "SELECT * FROM change_events ORDER BY offset")
    assert [record["offset"] for record in records] == sorted(expected_events)
    assert 0 < len(records) < len(events)
    for record in records:
        event = expected_events[record["offset"]].to_wire()
        assert json.loads(record["entity"] or "null") == event.get("entity")
        assert (record["id"], record["userName"]) == (event["id"], event["userName"])
    text = json.dumps(records)
    assert [
        secret for secret in (company.ids["revenue"], company.ids["ledger"], "idden from ben") if secret in text
    ] == []


def test_a_query_that_needs_no_json_finds_the_same_events(company: SmallCompany, parts: LakeParts) -> None:
    offsets = [record["offset"] for record in visible(parts, company, "SELECT * FROM change_events ORDER BY offset")]
    few = visible(parts, company, "SELECT offset, domains, userName FROM change_events ORDER BY offset")
    assert [record["offset"] for record in few] == offsets
    assert all(record["domains"] == [] for record in few)
    revenue, clean = (f"entityId = '{company.ids[name]}'" for name in ("revenue", "clean"))
    of_both = f"SELECT offset FROM change_events WHERE {revenue} OR ({clean} AND eventType = 'entityUpdated')"
    assert LakeQueries(parts).answer(of_both, LIMITS).records
    assert visible(parts, company, of_both) == []


def test_a_hidden_row_is_in_no_error_and_no_count(company: SmallCompany, parts: LakeParts) -> None:
    revenue = f"entityId = '{company.ids['revenue']}'"
    fails_on_it = f"SELECT max(1 / CASE WHEN {revenue} THEN 0 ELSE 1 END) AS n FROM change_events"
    with pytest.raises(InvalidInput, match="Division by zero"):
        LakeQueries(parts).answer(fails_on_it, LIMITS)
    assert visible(parts, company, fails_on_it) == [{"n": 1.0}]
    hidden = f"{revenue} OR entity LIKE '%ledger%'"
    assert visible(parts, company, f"SELECT count(*) AS n FROM change_events WHERE {hidden}") == [{"n": 0}]
    assert visible(parts, company, "SELECT max(offset) AS n FROM change_events", Cut(through=3)) == [{"n": 3}]
    everything = visible(parts, company, "SELECT count(*) AS n FROM change_events")
    assert visible(parts, company, "SELECT count(*) AS n FROM change_events", Cut(through=10**9)) == everything


@pytest.fixture(scope="module")
def empty_history(spark: SparkSession) -> LakeSql:
    """Queries of a view that has no rows: which columns one names needs neither a store nor a lake."""
    lake_sql = LakeSql(spark.newSession())
    schema = "id string, offset long, userName string, eventType string"
    view = lake_sql.session.createDataFrame(spark.sparkContext.emptyRDD(), schema)
    view.createOrReplaceTempView("change_events")
    return lake_sql


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT count(*) FROM change_events", set()),
        ("SELECT userName FROM change_events WHERE offset > 1", {"userName", "offset"}),
        ("SELECT a.id FROM change_events a JOIN change_events b ON a.offset = b.offset", {"id", "offset"}),
        ("SELECT id FROM change_events WHERE offset = (SELECT max(offset) FROM change_events)", {"id", "offset"}),
        ("WITH c AS (SELECT * FROM change_events) SELECT eventType, count(*) FROM c GROUP BY 1", {"eventType"}),
    ],
)
def test_a_query_reads_the_columns_that_it_names(empty_history: LakeSql, sql: str, columns: set[str]) -> None:
    frame = empty_history.frame_of(sql)
    assert frame is not None
    assert empty_history.columns_read(frame) == columns


def test_a_query_without_names_reads_all_columns(company: SmallCompany, parts: LakeParts) -> None:
    for sql in (
        "TABLE change_events",
        "FROM change_events |> WHERE offset > 0",
        "SELECT * FROM change_events UNION ALL SELECT * FROM change_events",
    ):
        records = visible(parts, company, sql)
        assert records and all(record["entity"] and record["id"] for record in records), sql


def test_nothing_is_read_for_a_statement_that_is_refused(
    company: SmallCompany, parts: LakeParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.jobs.lake_queries.visible_rows", lambda *_: pytest.fail("rows were made"))
    for sql in ("SELECT reflect('a', 'b')", "SELECT nothing FROM change_events", "SHOW TABLES"):
        with pytest.raises(InvalidInput):
            visible(parts, company, sql)
    assert visible(parts, company, "DESCRIBE change_events")[0] == {"column": "id", "type": "string"}


def test_whoever_is_deleted_asks_nothing(company: SmallCompany, parts: LakeParts, store_engine: Engine) -> None:
    assert visibility_of(store_engine, company.ids["root"]).is_whole
    company.writes.delete("user", Key.by_id(company.ids["ben"]), hard=False, actor=SYSTEM)
    with pytest.raises(Forbidden):
        visibility_of(store_engine, company.ids["ben"])
    question = {"sql": "SELECT 1", "viewer": company.ids["ben"], "through": None, "untilMs": None, "sinceMs": None}
    reply = query_main._reply(parts, store_engine, question | {"rows": 1, "seconds": 60})
    assert reply == {"reason": "The person who asked is deleted.", "code": "FORBIDDEN"}
