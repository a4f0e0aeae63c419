"""Tests of slow alerts: the slow one is disabled, its owner notified, and the others continue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, select, update
from tests.company import SmallCompany
from tests.spark.test_match_stream import FOLLOWERS_BELL, caught_up, parts_of, stored
from tests.waiting import until

from tocsin.conditions.patterns import steps_of, translated
from tocsin.jobs.match_stream import streaming, warm_up
from tocsin.jobs.slow_alerts import TimeLimitExceeded, in_time, within
from tocsin.model.change import EventType
from tocsin.spark.match import Index, matches
from tocsin.spark.session import register_source
from tocsin.spark.sources import LOG_FORMAT, LogSource
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog
from tocsin.store.tables import change_event, entity

pytestmark = pytest.mark.spark

LIMIT_S, _SHORT_S = 3.0, 2.0
_CHANGES = 30
_TEXT = "_" * 999 + "!"
_PATTERN = "_*_{0,70}y"
OWNERS_BELL = {"category": "Owners", "type": "ActivityFeed"}


def _wide_table(company: SmallCompany) -> None:
    """Make the table so wide that the slow alert needs a second and more for each of its events."""
    columns = [{"name": f"c{number}", "dataType": "INT", "description": _TEXT} for number in range(800)]
    patch = [{"op": "add", "path": "/columns", "value": columns}]
    company.writes.patch("table", company.key("orders"), patch, actor=company.actor("dia"))


def _findings(engine: Engine) -> list[dict[str, object]]:
    query = select(change_event.c.id).where(change_event.c.event_type == EventType.AUDIT_FINDING.value)
    with engine.connect() as connection:
        ids = list(connection.execute(query.order_by(change_event.c.log_offset)).scalars())
    found = [logged.event for one in ids if (logged := EventLog(engine).find(one))]
    return [
        {"alert": event.entity_id, **dict(change.new_value)}
        for event in found
        if event.change_description
        for change in event.change_description.fields_added
    ]


def test_an_alert_that_is_too_slow_is_set_aside_and_the_others_go_on(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 16."""
    company = SmallCompany(sqlite_engine)
    quick = company.alert("quick", [FOLLOWERS_BELL], "entityFullyQualifiedName matches '.*orders'")
    company.alert("bell", [OWNERS_BELL], resources=("eventsubscription",))
    slow = company.alert("slow", [FOLLOWERS_BELL], f"entity.columns.description matches '{_PATTERN}'")
    patch = [{"op": "add", "path": "/owners", "value": [{"type": "user", "id": company.ids["cem"]}]}]
    company.writes.patch("eventsubscription", company.key("slow"), patch, actor=company.actor("dia"))
    _wide_table(company)
    for number in range(_CHANGES):
        company.describe("orders", f"text {number}")
    parts = replace(parts_of(spark, sqlite_engine, tmp_path / "checkpoint"), match_limit_s=LIMIT_S)
    warm_up(parts)
    with streaming(parts):
        until(lambda: caught_up(sqlite_engine), within_s=200)
        company.describe("orders", "afterwards")
        until(lambda: caught_up(sqlite_engine), within_s=60)
    (finding,) = _findings(sqlite_engine)
    assert (finding["alert"], finding["kind"], finding["expected"]) == (slow, "tooSlow", LIMIT_S * 1000)
    assert {one.id for one in Subscriptions(sqlite_engine).list_enabled()} >= {quick}
    assert slow not in {one.id for one in Subscriptions(sqlite_engine).list_enabled()}
    notified = [row for row in stored(sqlite_engine).values() if "quick" in str(row[4])]
    assert len(notified) == _CHANGES + 2
    about_slow = {row[0] for row in stored(sqlite_engine).values() if row[3] == company.ids["cem"]} - {
        row[0] for row in notified
    }
    with sqlite_engine.connect() as connection:
        query = select(change_event.c.event_type).where(change_event.c.id.in_(about_slow))
        types = set(connection.execute(query.where(change_event.c.entity_id == slow)).scalars())
    assert types >= {EventType.AUDIT_FINDING.value, EventType.ENTITY_UPDATED.value}


def test_an_alert_that_an_earlier_version_stored_and_this_one_refuses_is_a_finding_once(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    company.alert("bell", [FOLLOWERS_BELL], "fieldChanged == 'description'")
    stale = company.alert("stale", [FOLLOWERS_BELL], "userName matches 'aaa'")
    with store_engine.begin() as connection:
        row = connection.execute(select(entity.c.document).where(entity.c.id == stale)).scalar_one()
        hostile = row.replace("'aaa'", "'" + ".{0,8}" * 12 + "'")
        connection.execute(update(entity).where(entity.c.id == stale).values(document=hostile))
    with streaming(parts_of(spark, store_engine, tmp_path / "checkpoint")):
        for number in range(3):
            company.describe("orders", f"text {number}")
            until(lambda: caught_up(store_engine), within_s=60)
    (finding,) = _findings(store_engine)
    assert (finding["alert"], finding["kind"]) == (stale, "unreadable")
    assert "regular expression rejected" in str(finding["about"])
    assert len(stored(store_engine)) == 3


def test_work_that_is_late_is_cancelled_and_other_work_is_not(spark: SparkSession) -> None:
    slow = spark.range(1 << 40).selectExpr("sum(id % 7)")
    with pytest.raises(TimeLimitExceeded):
        within(spark, 0.2, slow.collect)
    assert within(spark, 60.0, spark.range(10).count) == 10


def test_work_that_is_late_goes_on_if_it_may(spark: SparkSession) -> None:
    asked: list[bool] = []

    def may_go_on() -> bool:
        asked.append(True)
        return True

    def wait_until_asked() -> int:
        until(lambda: bool(asked), within_s=30)
        return spark.range(10).count()

    assert within(spark, 0.1, wait_until_asked, unless=may_go_on) == 10


def test_many_recipients_are_no_slow_alert(spark: SparkSession, sqlite_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(sqlite_engine)
    company.alert("asking", [FOLLOWERS_BELL], "entityFullyQualifiedName matches '.*orders'")
    company.describe("orders", "All orders.")
    parts = parts_of(spark, sqlite_engine, tmp_path / "checkpoint")
    register_source(spark, LogSource)
    log = {"url": str(sqlite_engine.url), "after": "0", "through": str(EventLog(sqlite_engine).readable_end())}
    events = spark.read.format(LOG_FORMAT).options(**log).load()
    index, tries = parts.alerts.read().index, 0

    slow = f"reflect('java.lang.Thread', 'sleep', {2_000 * _SHORT_S:.0f}L)"
    found = matches(events, index).count()  # and what Spark does for the first time is done

    def work(given: Index) -> int:
        nonlocal tries
        tries += 1
        spark.range(1).selectExpr(slow).collect()
        return matches(events, given).count()

    assert in_time(events, index, limit_s=_SHORT_S, work=work) == (found, [])
    assert tries == 1, "it is not stopped and begun again"


def test_the_slow_pattern_is_one_that_is_taken() -> None:
    assert steps_of(translated(_PATTERN)) < 250_000
