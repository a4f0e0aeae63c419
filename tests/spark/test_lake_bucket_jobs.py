"""Jobs over a lake in a bucket: backtests, retention and erasure do what they do with a lake in a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.s3server import BUCKET, S3Server
from tests.spark.test_backtest import backtest_of
from tests.spark.test_erasure import read_everything, request_of
from tests.spark.test_match_stream import FOLLOWERS_BELL
from tests.spark.test_retention import SETTINGS, build_company, read_all, run_after, types_in_lake
from tests.store.test_erasure import ADDRESS, FULL_NAME, NAME

from tocsin.catalogue.people.retention import write_settings
from tocsin.clock import FixedClock
from tocsin.jobs.backtest import BacktestParts, backtest
from tocsin.jobs.erasure import ErasureParts, erase
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.jobs.retention import RetentionParts
from tocsin.model.people import SYSTEM
from tocsin.spark.lake import HistoryLocation, register_history
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

DAY_MS = 86_400_000


@pytest.fixture
def place(sqlite_engine: Engine, s3: S3Server, tmp_path: Path) -> HistoryLocation:
    url = sqlite_engine.url.render_as_string(hide_password=False)
    return HistoryLocation(f"s3://{BUCKET}/{tmp_path.name}", url, s3.access)


def lake_at(place: HistoryLocation, spark: SparkSession, company: SmallCompany) -> LakeParts:
    session, engine = spark.newSession(), company.engine
    register_history(session)
    clock = FixedClock(company.clock.now_ms())
    return LakeParts(session, EventLog(engine), Lake(engine), place, clock, events_per_segment=100)


def visible_count(lake: LakeParts, company: SmallCompany) -> int:
    """Return how many events a query by the API sees of what its asker may view."""
    question = "SELECT count(*) AS n FROM change_events"
    answer = LakeQueries(lake).answer_from_visible(company.ids["head"], question, QueryLimits(10, 60))
    return int(answer.records[0]["n"])


def test_backtests_queries_and_retention_read_a_bucket(
    spark: SparkSession, sqlite_engine: Engine, place: HistoryLocation
) -> None:
    company = build_company(sqlite_engine)
    company.put("user", {"name": "head", "email": "head@example.com", "isAdmin": True})
    company.alert("texts", [FOLLOWERS_BELL], "fieldChanged == 'description'", resources=("table",))
    lake = lake_at(place, spark, company)
    (alert,) = [stored.to_wire() for stored in Subscriptions(sqlite_engine).list_enabled()]
    before = backtest(backtest_of(company, alert, by="ana"), BacktestParts(lake, sqlite_engine), lambda *_: None)
    assert before["matched"] > 0
    visible = visible_count(lake, company)
    grow(lake)
    assert visible_count(lake, company) == visible > 0
    after = backtest(backtest_of(company, alert, by="ana"), BacktestParts(lake, sqlite_engine), lambda *_: None)
    assert {**after, "took": None} == {**before, "took": None}
    parts = RetentionParts(sqlite_engine, lake, youngest_ms=2 * DAY_MS)
    write_settings(parts.writes, SETTINGS, actor=SYSTEM)
    read_all(parts)
    grow(lake)
    before_retention = types_in_lake(parts)
    removed_count = sum(int(str(result["lake"])) for result in run_after(parts, 23))
    assert removed_count > 0
    assert types_in_lake(parts)["entityCreated"] == before_retention["entityCreated"] - removed_count


def test_an_erased_person_is_in_no_object_of_the_bucket(
    spark: SparkSession, sqlite_engine: Engine, place: HistoryLocation, s3: S3Server
) -> None:
    company = SmallCompany(sqlite_engine)
    company.put("user", {"name": NAME, "email": ADDRESS, "displayName": FULL_NAME})
    company.put("user", {"name": "head", "email": "head@example.com", "isAdmin": True})
    company.describe("orders", f"Ask {ADDRESS}", by=NAME)
    lake = lake_at(place, spark, company)
    grow(lake)
    files, (segment, *_) = lake.place.files(), lake.lake.segments()
    (path, *_) = [file.path for file in files.files_of(segment.id)]
    with files.open(path) as content:
        files.write(path.replace("part-", "part-again-"), content)  # of an attempt that was given up
    request = request_of(company)
    read_everything(company)
    erase(request, ErasureParts(sqlite_engine, lake, place.url, patience_s=5), lambda *_: None)
    paths = [key for key in s3.keys(place.root.rpartition("/")[2]) if key.endswith(".parquet")]
    assert {f"segment={one.id}" for one in lake.lake.segments()} == {path.split("/")[1] for path in paths}
    for key in paths:
        with files.open(key.partition("/")[2]) as content:
            assert NAME not in str(pq.read_table(content).to_pylist())
