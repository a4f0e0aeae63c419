"""The lake in a bucket of a local S3 server: written, read, merged and rewritten by tasks that share no folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.lakerows import all_log_rows, read_rows, rows
from tests.s3server import BUCKET, S3Server
from tests.waiting import until

from tocsin.clock import FixedClock
from tocsin.errors import Unavailable
from tocsin.flow.eventlog.lake import ALWAYS, SMALL_SEGMENTS, Window
from tocsin.jobs.lake import LakeParts, grow, rewrite_segment, show_history, sweep
from tocsin.jobs.lake_delta import DeltaLog, storage_options
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.lake_files.bucket import BucketFiles
from tocsin.lake_files.port import S3Access
from tocsin.spark.lake import HistoryLocation, history, lake_events, register_history
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog


@pytest.fixture
def parts(spark: SparkSession, store_engine: Engine, s3: S3Server, tmp_path: Path) -> LakeParts:
    session = spark.newSession()
    register_history(session)
    url = store_engine.url.render_as_string(hide_password=False)
    place = HistoryLocation(f"s3://{BUCKET}/{tmp_path.name}", url, s3.access)
    return LakeParts(session, EventLog(store_engine), Lake(store_engine), place, FixedClock(1), events_per_segment=10)


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def test_lake_and_log_together_hold_every_event_once(company: SmallCompany, parts: LakeParts, s3: S3Server) -> None:
    growth = grow(replace(parts, events_per_segment=1))
    assert growth.added == growth.merged == parts.log.readable_end() >= SMALL_SEGMENTS
    company.describe("orders", "one more")
    assert read_rows(parts) == all_log_rows(parts)
    since_ms = company.clock.now_ms() - 2_500
    recent = [row for row in all_log_rows(parts) if row.timestamp_ms >= since_ms]
    assert rows(history(parts.session, parts.place, parts.extent(), Window(since_ms))) == recent
    show_history(parts)
    answer = LakeQueries(parts).answer("SELECT count(*) AS n FROM change_events", QueryLimits(10, 60))
    assert answer.records == [{"n": parts.log.readable_end()}]
    assert str(access_of(parts).secret_key) not in str(show_history(parts)._jdf.queryExecution())
    kept_ids = {segment.id for segment in parts.lake.segments()}
    sweep(parts, before_ms=2)
    assert set(parts.place.files().segment_ids()) == kept_ids


def test_a_query_of_a_file_that_is_gone_says_so(company: SmallCompany, parts: LakeParts) -> None:
    grow(parts)
    queries, files = LakeQueries(parts), bucket_of(parts)
    (first, *_) = files.files_of(parts.lake.segments()[0].id)
    files.remove_file(first.path)
    with pytest.raises(Unavailable, match=r"lacks .*parquet\. Ask again"):
        queries.answer("SELECT count(*) FROM change_events", QueryLimits(10, 60))


def access_of(parts: LakeParts) -> S3Access:
    assert parts.place.access is not None
    return parts.place.access


def bucket_of(parts: LakeParts) -> BucketFiles:
    files = parts.place.files()
    assert isinstance(files, BucketFiles)
    return files


class CrashingLake(Lake):
    """A lake that a crash keeps from recording a segment."""

    def keep(self, *_: Any, **__: Any) -> bool:
        raise KeyboardInterrupt


def test_what_a_killed_writer_left_is_read_by_nobody_and_removed(
    company: SmallCompany, parts: LakeParts, store_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault scenario 65."""
    before = all_log_rows(parts)
    with monkeypatch.context() as patches, pytest.raises(KeyboardInterrupt):
        patches.setattr(BucketFiles, "list_files", CrashingLake.keep)  # the files are written, their list is not
        grow(parts)
    (half,) = parts.place.files().segment_ids()
    assert not parts.place.files().is_complete(half)
    with pytest.raises(KeyboardInterrupt):
        grow(replace(parts, lake=CrashingLake(store_engine)))
    assert read_rows(parts) == before
    assert grow(parts).added == len(before)
    first = parts.lake.segments()[0]
    (path, *_) = [file.path for file in bucket_of(parts).listed_files(first.id)]
    with parts.place.files().open(path) as content:
        parts.place.files().write(path.replace("part-", "part-again-"), content)  # of an attempt that was given up
    assert read_rows(parts) == before
    assert sweep(parts, before_ms=2) == 2
    assert set(parts.place.files().segment_ids()) == {segment.id for segment in parts.lake.segments()}


@pytest.mark.soak
def test_of_two_who_write_the_same_part_one_wins(company: SmallCompany, parts: LakeParts, store_engine: Engine) -> None:
    """The store decides who; ``test_lake.py`` asks it in each run."""

    class Slow(Lake):
        def keep(self, *arguments: Any, **options: Any) -> bool:
            if not parts.lake.segments():
                grow(parts)
            return super().keep(*arguments, **options)

    assert grow(replace(parts, lake=Slow(store_engine))).added == 0
    assert read_rows(parts) == all_log_rows(parts)


def test_a_rewritten_segment_takes_the_place_of_the_old_one(company: SmallCompany, parts: LakeParts) -> None:
    grow(parts)
    first = parts.lake.segments()[0]
    events = lake_events(parts.session, parts.place, [first], ALWAYS).where("log_offset > 3")
    rewritten = rewrite_segment(parts, events, first, is_valid=lambda _connection: True)
    assert rewritten is not None
    assert rewritten.event_count == first.event_count - 3
    assert read_rows(parts) == all_log_rows(parts)[3:]


def test_outside_readers_open_the_bucket_as_a_delta_table(company: SmallCompany, parts: LakeParts) -> None:
    delta = DeltaLog(parts.place.root, 7, parts.place.access)
    grow(replace(parts, delta=delta))
    company.describe("orders", "one more")
    grow(replace(parts, delta=delta))
    options = storage_options(parts.place.access)
    tables = [DeltaTable(parts.place.root, version, storage_options=options) for version in (1, 2)]
    offsets = [sorted(table.to_pyarrow_table(columns=["log_offset"])["log_offset"].to_pylist()) for table in tables]
    end = parts.log.readable_end()
    assert offsets == [list(range(1, end)), list(range(1, end + 1))]


def test_a_bucket_that_is_away_fails_the_lake_alone_and_the_next_run_goes_on(
    company: SmallCompany, parts: LakeParts
) -> None:
    """Fault scenario 64."""
    grow(parts)
    segments = parts.lake.segments()
    company.describe("orders", "one more")
    for access, way_out in (
        (replace(access_of(parts), endpoint="http://127.0.0.1:9"), "Check lake_s3_endpoint"),
        (replace(access_of(parts), secret_key="wrong"), "Check lake_s3_key_id"),
    ):
        with pytest.raises(Unavailable, match=way_out):
            grow(replace(parts, place=replace(parts.place, access=access)))
    assert parts.lake.segments() == segments  # what cannot be seen is not taken for missing
    elsewhere = replace(parts.place, root=f"{parts.place.root}-mistyped")
    with pytest.raises(Unavailable, match="holds no lake"):
        grow(replace(parts, place=elsewhere))
    assert parts.lake.segments() == segments
    assert grow(parts).added == 1
    assert read_rows(parts) == all_log_rows(parts)


def test_a_bucket_that_is_full_fails_the_run_and_the_next_goes_on(
    company: SmallCompany, parts: LakeParts, s3: S3Server
) -> None:
    """Fault scenario 64."""
    before = all_log_rows(parts)
    for room in (0, 1, 1):  # none for the mark of the lake, none for a part, none for its list
        with s3.full_after(room), pytest.raises(Unavailable, match="Make room in the bucket"):
            grow(parts)
        assert parts.lake.end() == 0
    assert grow(parts).added == len(before)
    assert read_rows(parts) == before


_PIPELINE = """
import json, sys
from tocsin.clock import FixedClock
from tocsin.jobs.lake import LakeParts, grow
from tocsin.lake_files.port import S3Access
from tocsin.spark.lake import HistoryLocation, history, register_history
from tocsin.spark.session import open_session
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

if __name__ == "__main__":
    master, root, url, access = json.loads(sys.stdin.read())
    session = open_session(master=master, driver_memory="512m")
    register_history(session)
    engine = open_engine(url)
    place = HistoryLocation(root, url, S3Access(**access))
    parts = LakeParts(session, EventLog(engine), Lake(engine), place, FixedClock(1), events_per_segment=10)
    added = grow(parts).added
    events = history(session, place, parts.extent())
    offsets = sorted(row.log_offset for row in events.select("log_offset").collect())
    print(json.dumps({"added": added, "offsets": offsets}))
    session.stop()
"""


@contextmanager
def pipeline(parts: LakeParts, master: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that appends the log to the lake, reads everything and says what it found."""
    question = json.dumps([master, parts.place.root, parts.place.url, asdict(access_of(parts))])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (folder / "errors").open("w") as errors:
        program = [sys.executable, "-c", _PIPELINE]
        process = subprocess.Popen(
            program,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    with process:
        assert process.stdin is not None
        process.stdin.write(question)
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.soak
def test_two_executors_that_share_no_folder_write_and_read(
    company: SmallCompany, parts: LakeParts, tmp_path: Path
) -> None:
    end = parts.log.readable_end()
    with pipeline(parts, "local-cluster[2,1,1024]", tmp_path) as process:
        assert process.stdout is not None
        answer = process.stdout.read()
        assert process.wait(60) == 0, (tmp_path / "errors").read_text()[-3000:]
    assert json.loads(answer.splitlines()[-1]) == {"added": end, "offsets": list(range(1, end + 1))}
    assert not [path for path in tmp_path.rglob("*.parquet") if "segment=" in str(path)]
    assert str(access_of(parts).secret_key) not in (tmp_path / "errors").read_text()


@pytest.mark.soak
@pytest.mark.parametrize("written", (1, 2, 3))
def test_a_pipeline_that_is_killed_while_it_writes_loses_and_doubles_nothing(
    company: SmallCompany, parts: LakeParts, s3: S3Server, tmp_path: Path, written: int
) -> None:
    """Fault scenario 65."""
    before = all_log_rows(parts)
    with pipeline(parts, "local[1]", tmp_path):
        until(lambda: len(s3.keys(tmp_path.name)) >= written, within_s=60)
    assert read_rows(parts) == before
    grow(parts)
    assert read_rows(parts) == before
    sweep(parts, before_ms=2)
    assert set(parts.place.files().segment_ids()) == {segment.id for segment in parts.lake.segments()}
