"""Tests of backtests and lake queries on what a mirror brought and nobody mapped: none of it is counted or named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.mirrored import CLOCK, Mirrored, put
from tests.openmetadata import FakeOpenMetadata, a_warehouse, now_ms, running, table_id
from tests.store.mirror.test_mirrored_links import a_follower

from tocsin.jobs.backtest import BacktestParts, backtest
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.model.backtest import Backtest
from tocsin.model.requested_job import JobState
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.spark.lake import HistoryLocation
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark

HIDDEN, SHOWN = "snow.dwh.marts.orders_0", "snow.dwh.marts.orders_1"
BOTH = Mapping((HIDDEN, SHOWN))
SQL = "SELECT * FROM change_events"


@pytest.fixture
def mirror(sqlite_engine: Engine) -> Iterator[Mirrored]:
    """A hidden table, mapped at first, that is upstream of an open one; jane follows both and both changed."""
    with running(FakeOpenMetadata()) as fake:
        a_warehouse(fake)
        mirror = Mirrored(sqlite_engine, fake)
        _, jane = a_follower(mirror)
        put(mirror, "users", 605, "unheard", email="unheard@example.org")
        for number in (0, 1):
            fake.follow("tables", table_id(number), jane)
        fake.connect(table_id(0), table_id(1), sqlQuery=f"FROM {HIDDEN}")
        assert mirror.run(BOTH).errors == []
        mirror.alert(category="Followers")
        assert mirror.run(Mapping((SHOWN,))).errors == []
        for number in (0, 1):
            after = fake.lists["tables"][table_id(number)] | {"description": "New.", "updatedAt": now_ms()}
            fake.tell("entityUpdated", "table", fake.put("tables", after), after["updatedAt"])
        fake.edges.clear()
        assert mirror.run(Mapping((SHOWN,)), is_full=True).errors == []
        yield mirror


@pytest.fixture
def parts(spark: SparkSession, mirror: Mirrored, tmp_path: Path) -> LakeParts:
    session = spark.newSession()
    register_source(session, LogSource)
    place = HistoryLocation(str(tmp_path / "lake"), mirror.engine.url.render_as_string(hide_password=False))
    parts = LakeParts(session, EventLog(mirror.engine), Lake(mirror.engine), place, CLOCK, events_per_segment=20)
    grow(parts)
    return parts


def ids_of(mirror: Mirrored) -> tuple[str, str]:
    """Return the ids of a person and of a bot."""
    return mirror.user("dia").id, mirror.user("robot", isBot=True).id


def hidden_names_in(answer: object) -> list[str]:
    """Return which names and ids of hidden assets an answer holds."""
    text = orjson.dumps(answer, default=str).decode()
    return [name for name in (table_id(0), table_id(2), HIDDEN, "orders_2") if name in text]


def test_a_backtest_counts_and_names_nothing_hidden(mirror: Mirrored, parts: LakeParts) -> None:
    (alert,) = [one.to_wire() for one in Subscriptions(mirror.engine).list_enabled() if one.name == "all"]
    alert["filteringRules"] = {"resources": ["table"], "rules": []}
    visible = [event for event in mirror.events() if event.entity_id == table_id(1)]
    for asker_id in ids_of(mirror):
        request = Backtest("b0", asker_id, CLOCK.now_ms(), alert, state=JobState.WAITING, since_ms=None, until_ms=None)
        result = backtest(request, BacktestParts(parts, mirror.engine), lambda done, total: None)
        assert hidden_names_in(result) == []
        assert {one["id"] for one in result["assets"]} <= {table_id(1)}
        assert result["matched"] <= len(visible)
        assert all(one["notified"] <= len(visible) for one in result["recipients"])


def test_a_query_sees_nothing_hidden(mirror: Mirrored, parts: LakeParts) -> None:
    person_id, bot_id = ids_of(mirror)
    limits = QueryLimits(10_000, seconds=60)
    records = LakeQueries(parts).answer_from_visible(person_id, SQL, limits).records
    assert hidden_names_in(records) == []
    assert {one["entityId"] for one in records if one["entityType"] == "table"} == {table_id(1)}
    assert hidden_names_in(LakeQueries(parts).answer_from_visible(bot_id, SQL, limits).records) == []
