"""Tests of an import and of a deleted schema on Spark: their parts fill several micro-batches, judged alike by all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import STARTED_MS, SmallCompany
from tests.spark.test_backtest import counts_by_recipient, ran, stored_alert
from tests.spark.test_match_stream import (
    FOLLOWERS_BELL,
    HOOK,
    OWNERS_MAIL,
    expected_notifications,
    has_caught_up,
    pass_over_the_log,
    running,
    stored_notifications,
)
from tests.store.test_imports_told import put_many, table_request
from tests.stores import ON_BOTH_STORES, store_url
from tests.waiting import until

from tocsin.clock import FixedClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.jobs.audit import AuditParts, audit
from tocsin.jobs.backtest import BacktestParts
from tocsin.jobs.lake import LakeParts
from tocsin.spark.lake import HistoryLocation
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

TABLE_COUNT = 10
HOUR_MS = 3_600_000


def company_with_tables(engine: Engine) -> SmallCompany:
    """Return a company with 12 tables in a schema that ana follows; cem follows one of them, dia owns another."""
    company = SmallCompany(engine)
    company.put("user", {"name": "admin", "email": "admin@example.com", "isAdmin": True})
    for number in range(TABLE_COUNT):
        company.table(f"t{number}")
    company.writes.follow("databaseSchema", company.ids["public"], company.ids["ana"], actor=company.actor("ana"))
    company.clock.advance(1_000)
    company.alert("tables", [FOLLOWERS_BELL, HOOK], resources=("table",))
    company.alert("all", [HOOK, FOLLOWERS_BELL, OWNERS_MAIL])
    return company


@ON_BOTH_STORES
def test_wholes_over_micro_batches_are_told_once_and_audits_and_backtests_agree(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = company_with_tables(store_engine)
    begin = EventLog(store_engine).readable_end()
    pass_over_the_log(store_engine, MATCH_STREAM)
    company.clock.advance(1_000)
    names = ["orders", "revenue", *(f"t{number}" for number in range(TABLE_COUNT))]
    put_many(company, [table_request(name, description="Imported.") for name in names], who="ben")
    company.writes.delete("databaseSchema", company.key("public"), actor=company.actor("ben"), recursive=True)
    with running(spark, store_engine, tmp_path / "first", batch=6):  # killed amid the parts, with its checkpoint lost
        until(lambda: EventLog(store_engine).progress(MATCH_STREAM) > begin + 6, within_s=120)
    with running(spark, store_engine, tmp_path / "second", batch=5):
        until(lambda: has_caught_up(store_engine), within_s=120)
    notifications = stored_notifications(store_engine)
    assert notifications == expected_notifications(company)
    by_alert = Counter(
        reason["subscriptionName"] for row in notifications.values() for reason in row[4] if row[1] == "Webhook"
    )
    assert by_alert == {"all": 2, "tables": 2 * (TABLE_COUNT + 2)}

    session = spark.newSession()
    register_source(session, LogSource)
    place = HistoryLocation(str(tmp_path / "lake"), store_engine.url.render_as_string(hide_password=False))
    history = LakeParts(session, EventLog(store_engine), Lake(store_engine), place, FixedClock(STARTED_MS + 2_000))
    audit_result = audit(AuditParts(history, store_engine, window_ms=24 * HOUR_MS, allowance_ms=HOUR_MS))
    assert audit_result.findings == ()
    assert audit_result.judged >= 2 * (2 * (TABLE_COUNT + 2) + 1)
    for name in ("all", "tables"):
        result = ran(
            company, BacktestParts(history, store_engine), stored_alert(company, name), since_ms=STARTED_MS + 2_000
        )
        stored_counts = Counter(
            (row[1], row[3] or row[2].partition(":")[2]) for row in notifications.values() if name in _alerts(row)
        )
        assert counts_by_recipient(result) == stored_counts


def _alerts(row: tuple[object, ...]) -> set[str]:
    reasons = row[4]
    assert isinstance(reasons, list)
    return {str(reason["subscriptionName"]) for reason in reasons}
