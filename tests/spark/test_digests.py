"""Tests of the job that composes digests on Spark: all people at once, nothing twice, resumed after a crash."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, delete, func, select, update
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.stores import ON_BOTH_STORES, store_url

from tocsin.jobs.digests import (
    SHARE_SIZE,
    THROUGH,
    ComposeDigests,
    DigestParts,
    compose_shares,
    lead_ms,
    look,
)
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.spark.session import interpreting_session
from tocsin.store.database.alert_tables import composed_digest
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import message
from tocsin.store.outbox.composed_digests import ComposedDigests

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

HOUR_MS = 3_600_000
WHO = ("ana", "ben", "dia")


def company_of(engine: Engine) -> SmallCompany:
    """Return a company whose people each have three changes in a digest of the next full hour."""
    company = SmallCompany(engine)
    mail = {"category": "Users", "type": "Email", "config": {"receivers": list(WHO)}}
    alert = company.alert("hourly", [mail], "fieldChanged == 'description'")
    trigger = {"triggerType": "Scheduled", "cronExpression": "0 0 * * * ?"}
    operation = [{"op": "add", "path": "/trigger", "value": trigger}]
    company.writes.patch("eventsubscription", Key.by_id(alert), operation, actor=SYSTEM)
    notify_all(engine, now_ms=company.clock.now_ms())
    change(company, "revenue", "orders", "orders")
    return company


def change(company: SmallCompany, *names: str) -> None:
    for place, name in enumerate(names):
        company.describe(name, f"text {place} at {company.clock.now_ms()}", by="cem")
    notify_all(company.engine, now_ms=company.clock.now_ms())


def parts_of(spark: SparkSession, company: SmallCompany) -> DigestParts:
    store = StoreAddress(company.engine.url.render_as_string(hide_password=False), "NORMAL")
    work = ComposeDigests(store, "http://127.0.0.1:8585")
    return DigestParts(interpreting_session(spark), company.engine, work, company.clock)


def go_to_due_time(company: SmallCompany, *, before_ms: int = 60_000) -> None:
    with reading(company.engine) as connection:
        due_ms = connection.scalar(select(func.max(message.c.due_at_ms))) or 0
    company.clock.advance(due_ms - before_ms - company.clock.now_ms())


def composed_ids(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return sorted(connection.scalars(select(composed_digest.c.message_id)))


def message_ids(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return sorted(connection.scalars(select(message.c.id)))


@ON_BOTH_STORES
def test_the_digests_of_all_people_are_composed_shortly_before_they_are_due(
    spark: SparkSession, store_engine: Engine
) -> None:
    company = company_of(store_engine)
    parts = parts_of(spark, company)
    assert look(parts) == 0, "it is not time yet"
    go_to_due_time(company)
    assert look(parts) == len(WHO)
    assert composed_ids(store_engine) == message_ids(store_engine)
    assert look(parts) == 0, "each has its words"
    with writing(store_engine) as connection:
        connection.execute(update(message).values(status="delivered"))
    company.clock.advance(120_000)
    look(parts)
    assert composed_ids(store_engine) == [], "what is sent is not kept"


def test_a_run_that_was_killed_is_resumed_and_one_that_runs_twice_changes_nothing(
    spark: SparkSession, sqlite_engine: Engine
) -> None:
    """Fault scenario 87."""
    company = company_of(sqlite_engine)
    parts = parts_of(spark, company)
    go_to_due_time(company)
    now_ms = company.clock.now_ms()
    shares = ComposedDigests(sqlite_engine).shares(0, now_ms + HOUR_MS, 1)
    assert len(shares) == len(WHO)
    assert compose_shares(parts, shares[:1], now_ms) == 1, "and then it is killed"
    first_rows = rows_of(sqlite_engine)
    assert look(parts) == len(WHO) - 1
    assert first_rows[0] in rows_of(sqlite_engine)
    every_row = rows_of(sqlite_engine)
    assert compose_shares(parts, [*shares, *shares], now_ms) == 0
    with writing(sqlite_engine) as connection:
        connection.execute(delete(composed_digest))
    assert compose_shares(parts, [*shares, *shares], now_ms) >= len(WHO), "two tasks at once may both store a digest"
    assert rows_of(sqlite_engine) == every_row, "the same words"


def rows_of(engine: Engine) -> Sequence[tuple[object, ...]]:
    with reading(engine) as connection:
        query = select(composed_digest).order_by(composed_digest.c.message_id)
        return [tuple(row) for row in connection.execute(query)]


def test_a_clock_that_was_set_back_keeps_nothing_from_being_composed(
    spark: SparkSession, sqlite_engine: Engine
) -> None:
    company = company_of(sqlite_engine)
    parts = parts_of(spark, company)
    parts.jobs.ran(THROUGH, now_ms=company.clock.now_ms() + 365 * 24 * HOUR_MS)
    go_to_due_time(company)
    assert look(parts) == len(WHO)


def test_the_more_are_due_the_sooner_they_are_composed_but_no_sooner_than_an_hour() -> None:
    leads = [lead_ms(count, 1_000.0) for count in (0, SHARE_SIZE, 1_000_000, 10**9)]
    assert leads == [120_000, 121_500, 1_620_000, HOUR_MS]
