"""Tests of the lake as a Delta table: the rows of the log for every reader, each version whole, despite crashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.stores import ON_BOTH_STORES, store_url

from tocsin.clock import FixedClock
from tocsin.errors import Unavailable
from tocsin.flow.eventlog.lake import SMALL_SEGMENTS, Segment
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.lake_delta import _SCHEMA, THROUGH, DeltaLog
from tocsin.spark.lake import HistoryLocation, log_events
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

Rows = list[dict[str, Any]]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


@pytest.fixture
def parts(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> LakeParts:
    session = spark.newSession()
    register_source(session, LogSource)
    root = str(tmp_path / "lake")
    place = HistoryLocation(root, store_engine.url.render_as_string(hide_password=False))
    lake = Lake(store_engine)
    delta = DeltaLog(root, days=7)
    return LakeParts(session, EventLog(store_engine), lake, place, FixedClock(1), events_per_segment=10, delta=delta)


def rows_of_log(parts: LakeParts, through: int) -> Rows:
    return in_order([row.asDict() for row in log_events(parts.session, parts.place, 0, through).collect()])


def in_order(events: Rows) -> Rows:
    return [{name: row[name] for name in EVENTS.names} for row in sorted(events, key=lambda row: row["log_offset"])]


def at_version(parts: LakeParts, version: int | None = None) -> Rows:
    return in_order(DeltaTable(parts.place.root, version=version).to_pyarrow_table().to_pylist())


def by_polars(parts: LakeParts, version: int) -> Rows:
    return polars.scan_delta(parts.place.root, version=version).collect().to_dicts()


def by_duckdb(parts: LakeParts, version: int) -> Rows:
    dataset = DeltaTable(parts.place.root, version=version).to_pyarrow_dataset()
    connection = duckdb.connect()
    connection.register("lake", dataset)
    lake_rows: Rows = connection.sql("SELECT * FROM lake").to_arrow_table().to_pylist()
    return lake_rows


def by_spark(parts: LakeParts, version: int) -> Rows:
    files = DeltaTable(parts.place.root, version=version).file_uris()
    events = parts.session.read.schema(EVENTS).option("basePath", parts.place.root).parquet(*files)
    return [row.asDict() for row in events.collect()]


@ON_BOTH_STORES
def test_every_reader_finds_the_rows_of_the_log_at_each_version(company: SmallCompany, parts: LakeParts) -> None:
    grow(parts)
    first_end = parts.log.readable_end()
    company.describe("orders", "In the second version.")
    grow(parts)
    ends = {1: first_end, 2: parts.log.readable_end()}
    for version, end in ends.items():
        expected_rows = rows_of_log(parts, end)
        assert len(expected_rows) == end
        assert at_version(parts, version) == expected_rows
        for read in (by_polars, by_duckdb, by_spark):
            assert in_order(read(parts, version)) == expected_rows, read.__name__
    newest, oldest, _ = DeltaTable(parts.place.root).history()
    assert (newest[THROUGH], oldest[THROUGH]) == (ends[2], ends[1])
    protocol = DeltaTable(parts.place.root).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2), "what every reader knows"


def test_without_a_setting_there_is_no_delta_table(company: SmallCompany, parts: LakeParts) -> None:
    grow(replace(parts, delta=None))
    assert not DeltaTable.is_deltatable(parts.place.root)


def test_a_run_that_ended_before_the_commit_is_made_up_for_once(company: SmallCompany, parts: LakeParts) -> None:
    grow(replace(parts, delta=None))  # as if killed after the segments were recorded
    assert grow(parts).added == 0
    assert at_version(parts) == rows_of_log(parts, parts.log.readable_end())
    for _ in range(2):
        grow(parts)
    assert DeltaTable(parts.place.root).version() == 1


def test_merged_segments_are_swapped_in_one_version_and_the_earlier_ones_stay_readable(
    company: SmallCompany, parts: LakeParts
) -> None:
    one_by_one = replace(parts, events_per_segment=1_000)
    for number in range(SMALL_SEGMENTS + 1):
        company.describe("orders", f"text {number}")
        grow(one_by_one)
    commits = [one for one in DeltaTable(parts.place.root).history() if THROUGH in one]
    assert len(parts.lake.segments()) < SMALL_SEGMENTS < len(commits)
    for commit in commits:
        assert at_version(parts, commit["version"]) == rows_of_log(parts, commit[THROUGH])
    for days, has_files in ((6, True), (8, False)):
        grow(replace(parts, clock=FixedClock(days * 86_400_000)))
        table = DeltaTable(parts.place.root, version=SMALL_SEGMENTS)
        assert all(Path(file).exists() for file in table.file_uris()) == has_files
    assert at_version(parts) == rows_of_log(parts, parts.log.readable_end())


class RivalledLog(DeltaLog):
    """A log to which another process commits between reading and committing."""

    def publish(self, list_segments: Callable[[], Sequence[Segment]], *, now_ms: int) -> bool:
        turns = iter([True])

        def list_after_the_rival() -> Sequence[Segment]:
            if next(turns, False):
                DeltaLog(self.root, self.days).publish(list_segments, now_ms=now_ms)
            return list_segments()

        return super().publish(list_after_the_rival, now_ms=now_ms)


def test_of_two_commits_at_once_one_counts(company: SmallCompany, parts: LakeParts) -> None:
    grow(replace(parts, delta=RivalledLog(parts.place.root, 7)))
    assert DeltaTable(parts.place.root).version() == 1
    assert at_version(parts) == rows_of_log(parts, parts.log.readable_end())


def test_columns_of_a_later_version_are_added(
    company: SmallCompany, parts: LakeParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = Schema.from_arrow(_SCHEMA.remove(_SCHEMA.get_field_index("tags")))
    DeltaTable.create(parts.place.root, earlier, partition_by=["segment", "date"])
    grow(parts)
    assert at_version(parts) == rows_of_log(parts, parts.log.readable_end())


def test_a_damaged_log_says_the_way_out(company: SmallCompany, parts: LakeParts) -> None:
    grow(parts)
    log = Path(parts.place.root) / "_delta_log"
    (log / f"{1:020}.json").write_text("{broken")
    with pytest.raises(Unavailable, match="remove that folder"):
        grow(parts)
    for file in log.iterdir():
        file.unlink()
    log.rmdir()
    grow(parts)
    assert at_version(parts) == rows_of_log(parts, parts.log.readable_end())
