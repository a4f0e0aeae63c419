"""Tests of scheduled checks: what is still so at a time of a schedule, in one digest with what happened since."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, func, select
from tests.company import STARTED_MS, SmallCompany
from tests.spark.test_match_stream import parts_of, stored_notifications
from tests.spark.test_streak_stream import keeping, streak_parts
from tests.stores import ON_BOTH_STORES, store_url
from tests.waiting import until

from tocsin.flow.eventlog.readers import READERS, STREAK_STREAM
from tocsin.flow.schedule.decide import CHECK_WAIT_MS
from tocsin.jobs.match_stream import streaming
from tocsin.jobs.resolving import StoreAddress
from tocsin.jobs.scheduled_checks import CheckParts, look
from tocsin.model.change import ASSET_STATES, EventType
from tocsin.model.entity import Document
from tocsin.spark.asset_states import living_assets, without_owner
from tocsin.spark.catalogue import STORED
from tocsin.spark.session import interpreting_session
from tocsin.store.database.tables import message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.scheduled_checks import LastCheck, ScheduledChecks

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

EIGHT = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}
DAY_MS = 86_400_000
CHECK = EventType.SCHEDULED_CHECK.value
FIRST_EIGHT_MS = STARTED_MS - STARTED_MS % DAY_MS + DAY_MS + 8 * 3_600_000
CEMS_MAIL = {"category": "Users", "type": "Email", "config": {"receivers": ["cem"]}}


@contextmanager
def pipeline(spark: SparkSession, company: SmallCompany, folder: Path) -> Iterator[None]:
    """Run both queries that notify, by the clock of the company."""
    engine = company.engine
    with ExitStack() as queries:
        parts = replace(parts_of(spark, engine, folder / "match"), clock=company.clock)
        queries.enter_context(streaming(parts))
        of_streaks = replace(streak_parts(spark, engine, folder / STREAK_STREAM), clock=company.clock)
        queries.enter_context(keeping(of_streaks, spark, engine, folder / STREAK_STREAM))
        yield


def check_parts(spark: SparkSession, company: SmallCompany, folder: Path) -> CheckParts:
    """Return the parts of the checks, which have seen the alerts before."""
    url = company.engine.url.render_as_string(hide_password=False)
    store, checkpoint = StoreAddress(url, "NORMAL"), str(folder / STREAK_STREAM)
    parts = CheckParts(interpreting_session(spark), company.engine, store, checkpoint, company.clock)
    assert look(parts) == 0
    return parts


def wait_for_readers(engine: Engine) -> None:
    log = EventLog(engine)
    until(lambda: all(log.progress(reader) >= log.readable_end() for reader in READERS), within_s=120)


def states_found(engine: Engine) -> list[tuple[str, str]]:
    """Return what the checks found, by name of the asset."""
    events = (one.event for one in EventLog(engine).read(0, 10_000))
    return sorted(
        (str((event.entity or {})["name"]), path)
        for event in events
        if event.event_type is EventType.SCHEDULED_CHECK and event.change_description
        for path in event.change_description.paths()
    )


def messages(engine: Engine) -> list[tuple[str, int, int]]:
    """Return the messages of an engine: recipient, due time, number of notifications."""
    columns = (message.c.recipient, message.c.due_at_ms)
    query = select(*columns, func.count()).join(notification, notification.c.message_id == message.c.id)
    with engine.connect() as connection:
        return sorted(tuple(row) for row in connection.execute(query.group_by(message.c.id, *columns)))


def failing_company(engine: Engine) -> SmallCompany:
    """Return a company where one test fails, one passes again, and one table has no owner."""
    company = SmallCompany(engine)
    for name in ("fails", "recovers"):
        company.test_case("orders", name)
    company.table("orphan")
    company.clock.at_ms = FIRST_EIGHT_MS - DAY_MS // 2
    rule = "stillFailing() || stillWithoutOwner() || changeCategory == 'description'"
    company.alert("red", [CEMS_MAIL], rule, resources=("table",), trigger=EIGHT)
    return company


@ON_BOTH_STORES
def test_one_digest_says_what_happened_and_what_is_still_so(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 75."""
    company = failing_company(store_engine)
    parts = check_parts(spark, company, tmp_path)
    checks = ScheduledChecks(store_engine)
    before = checks.last_checks()
    with pipeline(spark, company, tmp_path):
        for name, status in (("fails", "Failed"), ("recovers", "Failed"), ("fails", "Failed"), ("recovers", "Success")):
            company.result("orders", status, name)
        company.describe("orders", "what happened")
        wait_for_readers(store_engine)
        assert messages(store_engine) == [("cem@example.com", FIRST_EIGHT_MS + CHECK_WAIT_MS, 1)]
        company.clock.at_ms = FIRST_EIGHT_MS + 5_000
        assert look(parts) == 2
        checks.keep(before)  # as if the pipeline had been killed before it was noted
        company.clock.advance(60_000)
        assert look(parts) == 0, "what is in the log is not written again"
        assert look(parts) == 0, "the time is checked"
        wait_for_readers(store_engine)
        assert look(parts) == 0
    assert states_found(store_engine) == [("fails", "stillFailing"), ("orphan", "stillWithoutOwner")]
    assert messages(store_engine) == [("cem@example.com", FIRST_EIGHT_MS + 65_000, 3)]
    assert len(stored_notifications(store_engine)) == 3


def test_a_clock_that_was_set_back_silences_a_schedule_until_its_next_time(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = failing_company(sqlite_engine)
    parts = check_parts(spark, company, tmp_path)
    now_ms, checks = company.clock.now_ms(), parts.checks
    (schedule_id,) = checks.last_checks()
    checks.keep({schedule_id: LastCheck(FIRST_EIGHT_MS, 7)})
    assert look(parts) == 0
    assert checks.last_checks() == {schedule_id: LastCheck(FIRST_EIGHT_MS, 7)}, "it was just checked, and is not again"
    checks.keep({schedule_id: LastCheck(FIRST_EIGHT_MS + 30 * DAY_MS, 7)})
    assert look(parts) == 0
    assert checks.last_checks() == {schedule_id: LastCheck(now_ms, 7)}
    company.clock.at_ms = FIRST_EIGHT_MS
    assert look(parts) == 1


def test_nothing_is_sent_where_nothing_is_so_and_a_missed_time_is_made_up(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 75."""
    company = SmallCompany(sqlite_engine)
    company.pipeline("etl")
    company.clock.at_ms = FIRST_EIGHT_MS - DAY_MS // 2
    company.alert("stale", [CEMS_MAIL], "stillStale('24h')", resources=("pipeline",), trigger=EIGHT)
    parts = check_parts(spark, company, tmp_path)
    with pipeline(spark, company, tmp_path):
        company.run("etl", "Successful")
        wait_for_readers(sqlite_engine)
        company.clock.at_ms = FIRST_EIGHT_MS
        assert look(parts) == 0
        company.clock.at_ms = FIRST_EIGHT_MS + 3 * DAY_MS + 7_200_000  # the pipeline was down for days
        assert look(parts) == 1, "of what was missed, the last time"
        wait_for_readers(sqlite_engine)
        look(parts)
    assert messages(sqlite_engine) == [("cem@example.com", company.clock.now_ms(), 1)]
    assert set(dict(states_found(sqlite_engine)).values()) <= set(ASSET_STATES)


@ON_BOTH_STORES
def test_a_check_names_a_limited_number_of_assets_and_says_that_there_are_more(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 77: what fails comes first."""
    company = failing_company(store_engine)
    for number in range(5):
        company.table(f"orphan_{number}")
    parts = check_parts(spark, company, tmp_path)
    parts.asset_limit = 3
    with pipeline(spark, company, tmp_path):
        company.result("orders", "Failed", "fails")
        wait_for_readers(store_engine)
        company.clock.at_ms = FIRST_EIGHT_MS + 5_000
        assert look(parts) == 3
        wait_for_readers(store_engine)
    states = states_found(store_engine)
    assert [path for _, path in states].count("stillFailing") == 1
    assert len(states) == 3
    checks = (one.event for one in EventLog(store_engine).read(0, 10_000) if one.event.event_type.value == CHECK)
    descriptions = [event.change_description for event in checks]
    assert [one.fields_added[0].new_value["isCut"] for one in descriptions if one] == [True] * 3


def test_an_alert_of_before_that_asks_every_minute_is_checked_once_an_hour(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 77."""
    company = SmallCompany(sqlite_engine)
    company.table("orphan")
    company.clock.at_ms = FIRST_EIGHT_MS - 30_000
    every_minute = EIGHT | {"cronExpression": "0 * * * * ?"}
    company.alert("red", [CEMS_MAIL], "stillWithoutOwner()", resources=("table",), trigger=every_minute)
    parts = check_parts(spark, company, tmp_path)
    written_counts = []
    for _ in range(150):
        company.clock.advance(60_000)
        written_counts.append(look(parts))
    assert sum(written_counts) == 3, "at 8, 9 and 10"


def test_owners_are_inherited_from_what_contains_an_asset_and_not_from_what_is_called_alike(
    spark: SparkSession,
) -> None:
    """Names that contain a dot are quoted; a deleted container gives nothing."""
    owned_document: Document = {"owners": [{"id": "dia"}]}
    bare: Document = {"owners": []}
    entities: list[tuple[str, str, Document]] = [
        ("databaseService", "pg", bare),
        ("dashboardService", "pg", owned_document),
        ("database", "pg.store", bare),
        ("databaseSchema", 'pg.store."a.b"', owned_document),
        ("databaseSchema", "pg.store.a", owned_document | {"deleted": True}),
        ("table", 'pg.store."a.b".inherits', bare),
        ("table", "pg.store.a.bare", bare),
        ("table", "pg.store.a.owned", owned_document),
        ("table", "pg.store.a.deleted", bare | {"deleted": True}),
        ("classification", "PII", {}),
    ]
    stored_rows = [
        (0, fqn, entity_type, json.dumps({"fullyQualifiedName": fqn, **document}))
        for entity_type, fqn, document in entities
    ]
    everything = living_assets(spark.createDataFrame(stored_rows, STORED), None)
    tables = living_assets(spark.createDataFrame(stored_rows, STORED), {"table"})
    assert [row.entity_id for row in without_owner(tables, everything).collect()] == ["pg.store.a.bare"]
    lacking = sorted(row.entity_id for row in without_owner(everything, everything).collect())
    assert {"pg.store", "pg.store.a.bare"} <= set(lacking) <= {"pg", "pg.store", "pg.store.a.bare", "PII"}
