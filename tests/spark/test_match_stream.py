"""The streaming query from the log to stored notifications, on both stores, against ``flow/once``."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, func, select
from tests.company import STARTED_MS, SmallCompany
from tests.waiting import until

from tocsin.clock import FixedClock
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.once import World, told_of
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.match_stream import QUERY_NAME, Parts, streaming
from tocsin.store.directory import SqlDirectory
from tocsin.store.log import EventLog
from tocsin.store.notifications import Notifications
from tocsin.store.subscriptions import Subscriptions
from tocsin.store.tables import delivery, notification

pytestmark = pytest.mark.spark

OWNERS_MAIL = {"category": "Owners", "type": "Email"}
FOLLOWERS_BELL = {"category": "Followers", "type": "ActivityFeed"}
DOWNSTREAM_BELL = {"category": "Owners", "type": "ActivityFeed", "notifyDownstream": True}
HOOK = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}


def parts_of(spark: SparkSession, engine: Engine, checkpoint: Path, *, batch: int = 10_000) -> Parts:
    notes = Notifications(engine)
    return Parts(
        session=spark,
        alerts=CurrentAlerts(Subscriptions(engine)),
        directory=SqlDirectory(engine),
        notifications=notes,
        progress=notes,
        clock=FixedClock(STARTED_MS),
        source_options={
            "url": engine.url.render_as_string(hide_password=False),
            "maxEventsPerBatch": str(batch),
            "eventsPerPartition": "7",
        },
        checkpoint=str(checkpoint),
    )


def running(
    spark: SparkSession, engine: Engine, checkpoint: Path, *, batch: int = 10_000
) -> AbstractContextManager[object]:
    return streaming(parts_of(spark, engine, checkpoint, batch=batch))


def caught_up(engine: Engine) -> bool:
    log = EventLog(engine)
    return log.progress(QUERY_NAME) == log.readable_end()


def stored(engine: Engine) -> dict[str, tuple[object, ...]]:
    one = notification.c
    columns = (one.id, one.event_id, one.channel, one.recipient, one.recipient_id, one.reasons)
    with engine.connect() as connection:
        rows = connection.execute(select(*columns)).all()
    return {row.id: (*row[1:5], json.loads(row.reasons)) for row in rows}


def expected(company: SmallCompany) -> dict[str, tuple[object, ...]]:
    """What ``flow/once`` says of every event in the log."""
    engine = company.engine
    alerts = Subscriptions(engine).list_enabled()
    world = World(EventLog(engine).find, alerts, SqlDirectory(engine), {}, FixedClock(STARTED_MS))
    told = {}
    for logged in EventLog(engine).read(0, 10_000):
        matched = [one for one in alerts if matches(plan_of(one), logged)]
        for due in told_of(logged, matched, world):
            one = due.notification
            reasons = [reason.to_wire() for reason in one.reasons]
            told[one.id] = (one.event_id, str(one.channel), one.recipient, one.recipient_id, reasons)
    return told


def test_people_are_told_once_with_every_reason(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(store_engine)
    company.clock.advance(1_000)
    company.alert("schema", [OWNERS_MAIL, HOOK], "fieldChanged == 'description'", resources=("table",))
    company.alert("bell", [FOLLOWERS_BELL, DOWNSTREAM_BELL])
    company.alert("also", [FOLLOWERS_BELL, OWNERS_MAIL], "eventType == 'entityUpdated'")
    with running(spark, store_engine, tmp_path / "checkpoint", batch=12):
        for number in range(9):
            company.describe("orders", f"text {number}", by="dia" if number % 2 else "ana")
        until(lambda: caught_up(store_engine), within_s=60)
    told = stored(store_engine)
    assert told == expected(company)
    last = [row for row in told.values() if row[2] == "ben@example.com"]
    assert len(last) == 9
    assert {reason["subscriptionName"] for row in last for reason in row[4]} == {"schema", "also"}
    assert not [row for row in told.values() if row[3] == company.ids["dia"] and row[1] == "Email"]


def test_an_alert_made_while_the_query_runs_takes_effect(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    with running(spark, sqlite_engine, tmp_path / "checkpoint"):
        company.describe("orders", "before")
        until(lambda: caught_up(sqlite_engine), within_s=60)
        assert stored(sqlite_engine) == {}
        company.clock.advance(1)
        company.alert("new", [FOLLOWERS_BELL])
        company.describe("orders", "after")
        until(lambda: bool(stored(sqlite_engine)))
        (told,) = stored(sqlite_engine).values()
        assert told[2] == company.ids["cem"]


def test_what_happened_before_an_alert_was_made_notifies_nobody(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(sqlite_engine)
    company.describe("orders", "long ago")
    company.clock.advance(1_000)
    company.alert("late", [FOLLOWERS_BELL, OWNERS_MAIL])
    with running(spark, sqlite_engine, tmp_path / "checkpoint"):
        until(lambda: caught_up(sqlite_engine), within_s=60)
    assert stored(sqlite_engine) == {}


def test_a_lost_checkpoint_repeats_nothing(spark: SparkSession, sqlite_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(sqlite_engine)
    company.alert("mail", [OWNERS_MAIL])
    company.describe("orders", "once")
    with running(spark, sqlite_engine, tmp_path / "first"):
        until(lambda: caught_up(sqlite_engine), within_s=60)
    before = stored(sqlite_engine)
    company.describe("orders", "again")
    with running(spark, sqlite_engine, tmp_path / "second"):
        until(lambda: len(stored(sqlite_engine)) > len(before), within_s=60)
        until(lambda: caught_up(sqlite_engine), within_s=60)
    assert stored(sqlite_engine) == expected(company)
    with sqlite_engine.connect() as connection:
        deliveries = connection.execute(select(func.count()).select_from(delivery)).scalar_one()
    assert deliveries == len([row for row in stored(sqlite_engine).values() if row[1] == "Email"])
