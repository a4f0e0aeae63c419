"""Tests of the lake: every event once, despite crashes, and one SQL view of lake and log."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.lakerows import all_log_rows, read_rows, rows
from tests.stores import ON_BOTH_STORES, store_url
from tests.waiting import until

from tocsin.cli.lake import answer_of_pipeline
from tocsin.clock import FixedClock
from tocsin.errors import InvalidInput, Unavailable
from tocsin.flow.eventlog.lake import ALWAYS, SMALL_SEGMENTS, Cut, Extent, ReadingStep, Window
from tocsin.jobs import lake_queries
from tocsin.jobs.lake import LakeParts, compact, grow, show_history, sweep
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.spark.lake import HistoryLocation, folder_of, history, lake_events, part
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

__all__ = ["store_url"]

pytestmark = pytest.mark.spark

SEEDS_AUDIT = """
SELECT
entityFullyQualifiedName,
userName,
timestamp,
changeDescription
FROM change_events
WHERE entityType = 'table'
AND timestamp > '2024-01-01'
ORDER BY timestamp DESC;
"""
"""Verbatim from seeds/002, "Audit Trail and Compliance"."""


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


@pytest.fixture
def parts(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> LakeParts:
    session = spark.newSession()
    register_source(session, LogSource)
    place = HistoryLocation(str(tmp_path / "lake"), store_engine.url.render_as_string(hide_password=False))
    return LakeParts(session, EventLog(store_engine), Lake(store_engine), place, FixedClock(1), events_per_segment=10)


@ON_BOTH_STORES
def test_lake_and_log_together_hold_every_event_once(company: SmallCompany, parts: LakeParts) -> None:
    assert read_rows(parts) == all_log_rows(parts)
    grown = grow(parts)
    assert (grown.added, grown.end) == (parts.log.readable_end(), parts.log.readable_end())
    for number in range(3):
        company.describe("orders", f"text {number}")
    extent = parts.extent()
    assert extent.lake_end + 3 == extent.log_end
    assert read_rows(parts) == all_log_rows(parts)
    assert history(parts.session, parts.place, extent).schema.names == EVENTS.names
    assert grow(parts).added == 3
    assert grow(parts).added == 0
    assert read_rows(parts) == all_log_rows(parts)


class CrashingLake(Lake):
    """A lake that a crash keeps from recording a segment."""

    def keep(self, *_: object, **__: object) -> bool:
        raise KeyboardInterrupt


def test_a_crash_before_a_segment_is_recorded_changes_nothing(
    company: SmallCompany, parts: LakeParts, store_engine: Engine
) -> None:
    before = all_log_rows(parts)
    with pytest.raises(KeyboardInterrupt):
        grow(replace(parts, lake=CrashingLake(store_engine)))
    assert parts.lake.end() == 0
    assert list(Path(parts.place.root).iterdir())  # written, and part of nothing
    assert read_rows(parts) == before
    assert grow(parts).added == len(before)
    assert read_rows(parts) == before
    assert sweep(parts, before_ms=2) == 1
    assert len(list(Path(parts.place.root).iterdir())) == len(parts.lake.segments())
    assert read_rows(parts) == before


@ON_BOTH_STORES
def test_what_is_missing_is_written_again_and_a_folder_that_is_away_is_waited_for(
    company: SmallCompany, parts: LakeParts, tmp_path: Path
) -> None:
    before = all_log_rows(parts)
    grow(parts)
    second = parts.lake.segments()[1]
    shutil.rmtree(folder_of(parts.place.root, second.id))  # merged and swept after the backup that was restored here
    assert grow(parts).added == len(before) - second.after
    assert read_rows(parts) == before
    halfway = Path(folder_of(parts.place.root, parts.lake.segments()[1].id))  # as a killed restore leaves it
    for path in (halfway / "_SUCCESS", *halfway.rglob("*.parquet")):
        path.unlink()
    assert grow(parts).added == len(before) - second.after
    assert read_rows(parts) == before
    root = Path(parts.place.root)
    root.rename(tmp_path / "elsewhere")
    with pytest.raises(Unavailable, match="does not exist"):
        grow(parts)
    (tmp_path / "elsewhere").rename(root)
    assert (grow(parts).added, read_rows(parts)) == (0, before)


@ON_BOTH_STORES
def test_of_two_who_write_the_same_part_one_wins(company: SmallCompany, parts: LakeParts) -> None:
    staged = [parts.lake.stage(0, 5, now_ms=1) for _ in range(2)]
    grow(parts)
    (first, *_) = parts.lake.segments()
    assert [parts.lake.keep(replace(first, id=one, after=0), now_ms=1) for one in staged] == [False, False]
    assert read_rows(parts) == all_log_rows(parts)


def test_small_segments_become_one_and_nothing_else_changes(company: SmallCompany, parts: LakeParts) -> None:
    for number in range(SMALL_SEGMENTS):
        company.describe("orders", f"text {number}")
        grow(replace(parts, events_per_segment=1_000, full=1))
    assert len(parts.lake.segments()) == SMALL_SEGMENTS
    small = parts.lake.segments()[1:]
    company.describe("orders", "one more")
    grow(replace(parts, full=1))
    before = all_log_rows(parts)
    assert compact(parts) == len(small) + 1
    assert len(parts.lake.segments()) == 2
    assert read_rows(parts) == before
    for segment in small:
        shutil.rmtree(folder_of(parts.place.root, segment.id))  # as sweeping does later
    assert read_rows(parts) == before


def test_a_window_and_steps_read_what_they_should(company: SmallCompany, parts: LakeParts) -> None:
    grow(parts)
    company.clock.advance(3 * 86_400_000)
    for number in range(4):
        company.describe("orders", f"text {number}")
    since_ms = company.clock.now_ms() - 2_500
    window = Window(since_ms=since_ms, until_ms=since_ms + 2_000)
    expected_rows = [row for row in all_log_rows(parts) if window.since_ms <= row.timestamp_ms <= window.until_ms]
    assert len(expected_rows) == 2
    for _ in range(2):
        extent = parts.extent()
        steps = list(extent.steps(window, 3))
        assert rows(history(parts.session, parts.place, extent, window)) == expected_rows
        assert [row for step in steps for row in rows(part(parts.session, parts.place, step, window))] == expected_rows
        grow(parts)
    steps = list(parts.extent().steps(Window(), 3))
    assert sum(step.event_count for step in steps) == len(all_log_rows(parts))
    assert [row for step in steps for row in rows(part(parts.session, parts.place, step))] == all_log_rows(parts)


def test_the_folders_of_many_days_are_listed_without_a_task_for_each(company: SmallCompany, parts: LakeParts) -> None:
    day_ms, context = 86_400_000, parts.session.sparkContext
    for number in range(40):
        company.clock.advance(day_ms)
        company.describe("orders", f"text {number}")
    grow(replace(parts, events_per_segment=1_000))
    (segment,) = parts.lake.segments()
    assert len(list(Path(folder_of(parts.place.root, segment.id)).glob("date=*"))) >= 40
    context.setJobGroup("listing", "the folders of a lake")
    try:
        events = lake_events(parts.session, parts.place, [segment], ALWAYS)
        assert list(context.statusTracker().getJobIdsForGroup("listing")) == []
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
    assert rows(events) == all_log_rows(parts)


def test_the_seeds_audit_runs_unchanged(company: SmallCompany, parts: LakeParts) -> None:
    grow(parts)
    company.describe("orders", "In the log alone.", by="ana")
    show_history(parts)
    audit_rows = parts.session.sql(SEEDS_AUDIT.strip().rstrip(";")).collect()
    assert audit_rows[0].entityFullyQualifiedName == "pg.store.public.orders"
    assert audit_rows[0].userName == "ana"
    assert audit_rows[0].changeDescription.fieldsAdded[0].newValue == "In the log alone."
    assert len(audit_rows) == len([row for row in all_log_rows(parts) if row.entity_type == "table"])
    assert [row.timestamp for row in audit_rows] == sorted((row.timestamp for row in audit_rows), reverse=True)


def test_an_empty_lake_and_an_empty_log_are_an_empty_history(store_engine: Engine, parts: LakeParts) -> None:
    assert grow(parts).added == 0
    assert show_history(parts).count() == 0
    assert list(Extent((), 0).steps(Window(), 10)) == []
    assert ReadingStep((), 0, 0, 0).segments == ()


def test_a_column_keeps_its_place_where_it_holds_nothing(company: SmallCompany, parts: LakeParts) -> None:
    company.describe("orders", "In the log alone.", by="ana")
    statement = (
        "SELECT 1 AS a, CASE WHEN offset % 2 = 0 THEN 'even' END AS b, 5 AS c FROM change_events ORDER BY offset"
    )
    answers = LakeQueries(parts).answer(statement).records
    assert {tuple(row) for row in answers} == {("a", "b", "c")}
    assert [row["b"] for row in answers[:2]] == [None, "even"]


@pytest.mark.parametrize("value", ["CAST(-{} AS DECIMAL(38))", "parse_json('-{}')"])
def test_a_whole_number_that_json_readers_would_round_is_text(parts: LakeParts, value: str) -> None:
    (row,) = LakeQueries(parts).answer(f"SELECT {value.format('9' * 38)} AS n, {2**63 - 1} AS least").records
    assert row == {"n": f"-{'9' * 38}", "least": 2**63 - 1}
    assert orjson.loads(orjson.dumps(row)) == row, "as every process hands it on"


def test_an_earlier_state_has_the_events_up_to_an_offset_or_a_moment(
    company: SmallCompany, parts: LakeParts, store_engine: Engine
) -> None:
    grow(parts)
    company.clock.advance(86_400_000)
    until_ms = company.clock.now_ms()
    for number in range(2):
        company.describe("orders", f"text {number}")
        company.clock.advance(1_000)
    queries, end = LakeQueries(parts), parts.log.readable_end()
    count_sql = "SELECT count(*) AS n, max(offset) AS last FROM change_events"
    expected_counts = {Cut(): end, Cut(through=end): end, Cut(through=end - 1): end - 1, Cut(through=3): 3}
    for cut, last in expected_counts.items():
        assert queries.answer(count_sql, cut=cut).records == [{"n": last, "last": last}]
    assert queries.answer(count_sql, cut=Cut(through=0)).records == [{"n": 0, "last": None}]
    events = EventLog(store_engine).read(0, end)
    earlier_events = [one for one in events if one.event.timestamp <= until_ms]
    assert 0 < len(earlier_events) < end
    assert queries.answer(count_sql, cut=Cut(until_ms=until_ms)).records[0]["n"] == len(earlier_events)
    for cut in (Cut(since_ms=until_ms + 1), Cut(through=end, since_ms=until_ms + 1)):
        assert queries.answer(count_sql, cut=cut).records[0]["n"] == end - len(earlier_events)
    with pytest.raises(InvalidInput, match=f"must not be above {end}"):
        queries.answer(count_sql, cut=Cut(through=end + 1))
    arrow_answer = queries.answer("SELECT timestamp, currentVersion FROM change_events LIMIT 0", as_arrow=True)
    assert [str(one.type) for one in pa.ipc.open_stream(arrow_answer.arrow).schema] == [
        "timestamp[us, tz=UTC]",
        "decimal128(10, 1)",
    ]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("SELEC 1", "Syntax error at or near 'SELEC'"),
        ("SELECT foo FROM change_events", "name `foo` cannot be resolved. Did you mean"),
        ("SELECT * FROM events", "There is no table or view events; query change_events."),
        ("SELECT 1 / 0", "Division by zero"),
        ("SELECT CAST('a' AS INT)", "cannot be cast"),
        ("SELECT 1 AS a, 2 AS a", "Several columns are called a; name them with AS."),
        (f"SELECT {'(' * 3_000}1{')' * 3_000}", "nested too deeply"),
        (f"SELECT {'1 + ' * 2_000}1", "too complex to parse"),
        ("SELECT from_json('x', 'a int', map('mode', 'FAILFAST'))", "Malformed records"),
    ],
    ids=lambda value: value[:40],
)
def test_a_wrong_question_is_refused_without_sparks_plan(
    store_engine: Engine, parts: LakeParts, capfd: pytest.CaptureFixture[str], question: str, says: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        LakeQueries(parts).answer(question)
    assert says in refused.value.message
    assert "Project" not in refused.value.message
    assert "Traceback" not in (output := capfd.readouterr()).err + output.out
    assert "SQLQueryContextLogger" not in output.err + output.out


def test_a_running_pipeline_answers_questions_until_it_stops(
    company: SmallCompany, parts: LakeParts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN_DATA_DIR", str(tmp_path))
    path, stopping = tmp_path / "lake.sock", threading.Event()
    path.write_text("left by a pipeline that was killed")
    thread = threading.Thread(target=lake_queries.serve, args=(parts, path, stopping, QueryLimits(1, seconds=60)))
    thread.start()
    try:
        until(path.is_socket, within_s=20)
        counted_answer = answer_of_pipeline("SELECT count(*) AS events FROM change_events")
        assert counted_answer is not None
        (count_record,) = counted_answer.records
        assert count_record == {"events": parts.log.readable_end()}
        for question in ("SELECT nothing FROM change_events", "DROP VIEW change_events"):
            with pytest.raises(InvalidInput):
                answer_of_pipeline(question)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"no question\n")
        assert answer_of_pipeline("SELECT id FROM change_events") is None, "too many rows for the pipeline"
        first = answer_of_pipeline("SELECT offset FROM change_events", Cut(through=1), as_arrow=True)
        assert first is not None and pa.ipc.open_stream(first.arrow).read_all().to_pylist() == [{"offset": 1}]
    finally:
        stopping.set()
        thread.join(20)
    assert not path.exists()
    assert answer_of_pipeline("SELECT 1") is None


@pytest.fixture(autouse=True)
def _no_view_is_left(spark: SparkSession) -> Iterator[None]:
    yield
    spark.catalog.dropTempView("change_events")
