"""Tests of Spark's log source against the store's own reader, column by column, on both stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadMaxRows
from sqlalchemy import Engine, func, select
from tests.company import SmallCompany
from tests.losing import lose
from tests.store.large import words
from tests.waiting import until

from tocsin.conditions.fields import STORED
from tocsin.errors import LogDiverged
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import register_source
from tocsin.spark.sources import LOG_FORMAT, LogReader, LogSource, OffsetRange, patience_s
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.log import EventLog


def reader(engine: Engine, **options: str) -> LogReader:
    return LogSource({"url": engine.url.render_as_string(hide_password=False), **options}).streamReader(EVENTS)


def test_every_event_arrives_with_its_derived_fields(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.describe("orders", "All orders.")
    logged_events = EventLog(store_engine).read(0, 1_000)
    (batch,) = reader(store_engine).read(OffsetRange(0, logged_events[-1].offset))
    assert batch.schema.names == EVENTS.names
    records = batch.to_pylist()
    assert [(row["log_offset"], row["event_id"]) for row in records] == [
        (logged_event.offset, logged_event.event.id) for logged_event in logged_events
    ]
    for row, logged_event in zip(records, logged_events, strict=True):
        assert row["event"] == logged_event.event.to_json()
        assert {name: row[field.column] for name, field in STORED.items()} == {
            name: getattr(logged_event.event, field.attribute) if field.attribute else logged_event.derived.get(name)
            for name, field in STORED.items()
        }


def test_events_that_are_stored_as_differences_arrive_whole(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    for number in range(3):
        company.describe("orders", words(Random(1), 5_000) + str(number))
        company.describe("revenue", f"small {number}")
    logged = EventLog(store_engine).read(0, 1_000)
    with store_engine.connect() as connection:
        assert connection.execute(select(func.count(change_event.c.difference))).scalar_one() == 3
    (batch,) = reader(store_engine).read(OffsetRange(0, logged[-1].offset))
    assert [row["event"] for row in batch.to_pylist()] == [one.event.to_json() for one in logged]


def test_planning_waits_for_what_comes_and_no_longer_than_it_may(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    patient, limit = reader(store_engine, waitMs="60000"), ReadMaxRows(1_000)
    with ThreadPoolExecutor(1) as pool:  # a connection to SQLite belongs to its thread
        end = pool.submit(patient.latestOffset, {"offset": 0}, limit).result(30)
        following = pool.submit(patient.latestOffset, end, limit)
        assert wait([following], 0.1).not_done, "there is nothing new"
        company.describe("orders", "All orders.")
        assert following.result(30)["offset"] == end["offset"] + 1
        pool.submit(patient.stop).result(30)
    hasty = reader(store_engine, waitMs="50")
    end = hasty.latestOffset(end, limit)
    assert hasty.latestOffset(end, limit) == end
    hasty.stop()


class CountingReader(LogReader):
    """Counts how often the end of the log is looked up."""

    look_count = 0

    def _readable_end(self) -> int:
        self.look_count += 1
        return super()._readable_end()


def test_an_idle_log_is_looked_at_seldom(sqlite_engine: Engine) -> None:
    SmallCompany(sqlite_engine)
    end = reader(sqlite_engine).latestOffset({"offset": 0}, ReadMaxRows(1_000))
    idle = CountingReader({"url": sqlite_engine.url.render_as_string(hide_password=False), "waitMs": "400"})
    assert idle.latestOffset(end, ReadMaxRows(1_000)) == end
    idle.stop()
    assert idle.look_count <= 13, "one every 40 ms, and what checks the position"


def test_a_micro_batch_is_bounded_and_cut_into_ranges(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    source = reader(store_engine, maxEventsPerBatch="10", eventsPerPartition="4")
    try:
        end = source.latestOffset({"offset": 0}, source.getDefaultReadLimit())
        assert end == EventLog(store_engine).position_at(10).to_json()
        assert source.partitions({"offset": 0}, end) == [OffsetRange(0, 4), OffsetRange(4, 8), OffsetRange(8, 10)]
        assert source.partitions(end, end) == []
    finally:
        source.stop()


def test_a_micro_batch_is_bounded_by_bytes_as_well(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    before = EventLog(store_engine).readable_end()
    for number in range(4):
        company.describe("orders", f"{number}" * 40_000)
    source = reader(store_engine, maxBytesPerBatch="150000")
    sizes, at = [], EventLog(store_engine).position_at(before).to_json()
    try:
        while (end := source.latestOffset(at, source.getDefaultReadLimit())) != at:
            sizes.append(end["offset"] - at["offset"])
            at = end
        assert sizes[0] < 4, "the first micro-batch is less than what there is"
        assert sum(sizes) == EventLog(store_engine).readable_end() - before
        one_by_one = reader(store_engine, maxBytesPerBatch="1")
        assert one_by_one.latestOffset({"offset": 0}, ReadMaxRows(10))["offset"] == 1, "one event is always read"
        one_by_one.stop()
    finally:
        source.stop()


def test_a_task_holds_few_large_events_at_a_time(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    for number in range(6):
        company.describe("orders", f"{number}" * 900_000)
    logged = EventLog(store_engine).read(0, 1_000)
    batches = list(reader(store_engine).read(OffsetRange(0, logged[-1].offset)))
    assert len(batches) > 1
    assert max(sum(len(text.encode()) for text in batch["event"].to_pylist()) for batch in batches) <= 4 * 2**20
    assert [one for batch in batches for one in batch["log_offset"].to_pylist()] == [one.offset for one in logged]


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
        assert third == {"offset": events[2].offset, "event": events[2].event.id}
        company.describe("orders", "the last word")
        fourth = {"offset": events[3].offset, "event": events[3].event.id}
        assert source.latestOffset(third, limit) == fourth == source.latestOffset(fourth, limit)
        assert source.reportLatestOffset() == {"offset": events[3].offset}
        (partition,) = source.partitions({"offset": 0}, {"offset": events[3].offset})
        records = [row for batch in source.read(partition) for row in batch.to_pylist()]
        assert [(row["log_offset"], row["pipeline_status"]) for row in records] == [
            (logged_event.offset, logged_event.derived["pipelineStatus"]) for logged_event in events
        ]
    finally:
        source.stop()


@pytest.mark.parametrize("only", ["", "reports"])
def test_a_log_that_is_shorter_than_what_was_read_of_it_is_not_read_on(store_engine: Engine, only: str) -> None:
    company = SmallCompany(store_engine)
    company.pipeline("etl")
    company.run("etl", "Failed")
    source = reader(store_engine, only=only)
    limit = source.getDefaultReadLimit()
    try:
        read = source.latestOffset({"offset": 0}, limit)
        assert read["offset"] == EventLog(store_engine).readable_end()
        lose(store_engine, read["offset"] - 3)
        with pytest.raises(LogDiverged, match=read["event"]):
            source.latestOffset(read, limit)
        with pytest.raises(LogDiverged):
            source.latestOffset({"offset": read["offset"]}, limit)  # as a checkpoint of an earlier Tocsin has it
        with pytest.raises(LogDiverged):
            source.partitions({"offset": 0}, read)
    finally:
        source.stop()


@pytest.mark.parametrize("only", ["", "reports"])
def test_a_log_with_other_events_at_the_same_offsets_is_not_read_on(store_engine: Engine, only: str) -> None:
    company = SmallCompany(store_engine)
    company.pipeline("etl")
    company.run("etl", "Failed")
    source = reader(store_engine, only=only)
    limit = source.getDefaultReadLimit()
    try:
        read = source.latestOffset({"offset": 0}, limit)
        lose(store_engine, read["offset"] - 1)
        for number in range(3):
            company.describe("orders", f"text {number}")
        assert EventLog(store_engine).readable_end() > read["offset"]
        with pytest.raises(LogDiverged):
            source.latestOffset(read, limit)
        with pytest.raises(LogDiverged):
            source.partitions({"offset": 0}, read)
    finally:
        source.stop()


def test_an_offset_that_was_rolled_back_is_a_position_like_any_other(postgres_engine: Engine) -> None:
    company = SmallCompany(postgres_engine)
    with postgres_engine.connect() as connection:
        connection.exec_driver_sql("SELECT nextval('change_event_log_offset_seq')")
    source = reader(postgres_engine)
    limit = source.getDefaultReadLimit()
    try:
        read = source.latestOffset({"offset": 0}, limit)
        assert EventLog(postgres_engine).read(read["offset"] - 1, 1) == []
        assert source.latestOffset(read, limit) == read
        company.describe("orders", "after the gap")
        assert source.latestOffset(read, limit)["offset"] == read["offset"] + 1
    finally:
        source.stop()


def test_one_spark_reads_the_log_in_as_many_sessions_as_there_are_queries(spark: SparkSession) -> None:
    for session in (spark, spark.newSession(), spark, spark.newSession()):
        register_source(session, LogSource)
        assert session.readStream.format(LOG_FORMAT).options(url="sqlite:////nowhere.db").load().schema == EVENTS


def test_what_looked_for_data_sources_has_ended(spark: SparkSession) -> None:
    """It would print a traceback when Spark closes its connection, a minute later or at the end of a command."""
    register_source(spark.newSession(), LogSource)
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current()  # type: ignore[union-attr]

    def commands() -> list[str]:
        return [process.info().commandLine().orElse("") for process in java.children().toList()]

    until(lambda: not any("lookup_data_sources" in command for command in commands()))


def test_planning_becomes_patient_when_nothing_comes_for_ten_seconds() -> None:
    assert [patience_s(0.25, waits) for waits in (0, 39, 40, 1_000)] == [0.25, 0.25, 1.0, 1.0]
