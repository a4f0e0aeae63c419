"""The log as Spark reads it holds what the store's own reader gives, column by column, on both stores."""

from __future__ import annotations

from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany

from tocsin.conditions.fields import STREAK_FIELDS, derive
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import register_source
from tocsin.spark.sources import _DERIVED, LOG_FORMAT, LogReader, LogSource, OffsetRange
from tocsin.store.eventlog.log import EventLog


def reader(engine: Engine, **options: str) -> LogReader:
    return LogSource({"url": engine.url.render_as_string(hide_password=False), **options}).streamReader(EVENTS)


def test_every_event_arrives_with_its_derived_fields(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.describe("orders", "All orders.")
    logged = EventLog(store_engine).read(0, 1_000)
    (batch,) = reader(store_engine).read(OffsetRange(0, logged[-1].offset))
    assert batch.schema.names == EVENTS.names
    rows = batch.to_pylist()
    assert [(row["log_offset"], row["event_id"]) for row in rows] == [(one.offset, one.event.id) for one in logged]
    for row, one in zip(rows, logged, strict=True):
        assert (row["current_version"], row["user_id"]) == (one.event.current_version, one.event.user_id)
        assert {column: row[column] for column in _DERIVED} == {
            column: one.derived.get(key) for column, key in _DERIVED.items()
        }


def test_the_columns_are_pinned_to_what_capture_derives(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    (first, *_) = EventLog(store_engine).read(0, 1)
    assert set(_DERIVED.values()) == set(derive(first.event, actor_is_bot=False)) | STREAK_FIELDS
    assert set(_DERIVED) <= set(EVENTS.names)


def test_a_micro_batch_is_bounded_and_cut_into_ranges(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    source = reader(store_engine, maxEventsPerBatch="10", eventsPerPartition="4")
    try:
        end = source.latestOffset({"offset": 0}, source.getDefaultReadLimit())
        assert end == {"offset": 10}
        assert source.partitions({"offset": 0}, end) == [OffsetRange(0, 4), OffsetRange(4, 8), OffsetRange(8, 10)]
        assert source.partitions(end, end) == []
    finally:
        source.stop()


def test_who_asks_for_reports_alone_passes_over_everything_else(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    source = reader(store_engine, only="reports", maxEventsPerBatch="3")
    limit = source.getDefaultReadLimit()
    try:
        assert source.latestOffset({"offset": 0}, limit) == {"offset": 0}, "nothing was reported, so nothing is new"
        company.pipeline("etl")
        for number, status in enumerate(["Failed", "Pending", "Successful", "Failed"]):
            company.describe("orders", f"text {number}")
            company.run("etl", status)
        events = [one for one in EventLog(store_engine).read(0, 1_000) if one.derived["pipelineStatus"] is not None]
        third = source.latestOffset({"offset": 0}, limit)
        assert third == {"offset": events[2].offset}
        company.describe("orders", "the last word")
        assert source.latestOffset(third, limit) == {"offset": events[3].offset} == source.reportLatestOffset()
        (whole,) = source.partitions({"offset": 0}, {"offset": events[3].offset})
        rows = [row for batch in source.read(whole) for row in batch.to_pylist()]
        assert [(row["log_offset"], row["pipeline_status"]) for row in rows] == [
            (one.offset, one.derived["pipelineStatus"]) for one in events
        ]
    finally:
        source.stop()


def test_one_spark_reads_the_log_in_as_many_sessions_as_there_are_queries(spark: SparkSession) -> None:
    for session in (spark, spark.newSession(), spark, spark.newSession()):
        register_source(session, LogSource)
        assert session.readStream.format(LOG_FORMAT).options(url="sqlite:////nowhere.db").load().schema == EVENTS
