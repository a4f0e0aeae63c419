"""Tests of the search index query and of the rebuild on both stores, with repeated micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, Row, delete, select
from tests.company import STARTED_MS, SmallCompany
from tests.waiting import until

from tocsin.clock import FixedClock
from tocsin.jobs.search_rebuild import rebuild
from tocsin.jobs.search_stream import QUERY_NAME, SearchParts, indexing_query, supervised_query
from tocsin.jobs.supervision import QueryEnvironment, running_alongside
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.search.indexes import SEARCHED
from tocsin.search.parse import parse
from tocsin.spark.session import interpreting_session, register_source
from tocsin.spark.sources import LogSource
from tocsin.store.catalogue.search.results import Search, SearchIndex
from tocsin.store.catalogue.search.writes import Entry, SearchWrites
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.search_tables import search_entry
from tocsin.store.database.tables import entity
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.outages import Waits
from tocsin.store.outbox.notifications import Notifications

pytestmark = pytest.mark.spark

STATE = tuple(column for column in search_entry.columns if column.name not in ("number", "log_offset"))


class Failing:
    """Writes, and then fails once: as if the process had ended between writing and Spark's note that it is done."""

    def __init__(self, real: SearchWrites) -> None:
        self.real, self.failures = real, 0

    def put(self, entries: Sequence[Entry]) -> int:
        count = self.real.put(entries)
        if not self.failures:
            self.failures = 1
            raise OSError("the disk is gone")
        return count

    def relabelled_cuts(self, after: int, through: int, portion: int) -> list[str]:
        return self.real.relabelled_cuts(after, through, portion)


def running(spark: SparkSession, engine: Engine, checkpoint: Path) -> AbstractContextManager[object]:
    return indexing_query(parts_of(spark, engine, checkpoint))


def parts_of(spark: SparkSession, engine: Engine, checkpoint: Path) -> SearchParts:
    register_source(spark, LogSource)  # as the main query has done by then
    return SearchParts(
        session=interpreting_session(spark),
        entries=SearchWrites(engine),
        progress=Notifications(engine),
        clock=FixedClock(STARTED_MS),
        source_options={"url": url_of(engine), "maxEventsPerBatch": "40", "eventsPerPartition": "7"},
        checkpoint=str(checkpoint),
        every_s=0.1,
    )


def url_of(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def has_caught_up(engine: Engine) -> bool:
    return EventLog(engine).lag(QUERY_NAME) == 0


def fqns_for(engine: Engine, q: str) -> list[str]:
    return [str(hit.sort[2]) for hit in SearchIndex(engine).hits(Search(parse(q)))]


def state(engine: Engine) -> set[tuple[object, ...]]:
    with reading(engine) as connection:
        return {tuple(row) for row in connection.execute(select(*STATE))}


def test_the_index_follows_the_log(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(store_engine)
    with running(spark, store_engine, tmp_path / "first"):
        until(lambda: has_caught_up(store_engine), within_s=90)
        assert fqns_for(store_engine, "orders") == ["pg.store.public.orders"]
        company.describe("orders", "What was bought, by whom")
        company.writes.delete("table", Key.by_id(company.ids["revenue"]), actor=SYSTEM, hard=True, recursive=True)
        until(lambda: has_caught_up(store_engine), within_s=90)
    assert fqns_for(store_engine, "bought owner:shop") == ["pg.store.public.orders"]
    assert fqns_for(store_engine, "revenue") == []
    before = state(store_engine)
    company.describe("orders", "What was sold")
    with running(spark, store_engine, tmp_path / "second"):  # a lost checkpoint: it goes on where the store knows
        until(lambda: has_caught_up(store_engine), within_s=90)
    assert fqns_for(store_engine, "sold owner:shop") == ["pg.store.public.orders"]
    assert len(state(store_engine) & before) == len(before) - 1


def test_a_failure_is_tried_again_from_the_checkpoint(
    spark: SparkSession, sqlite_engine: Engine, tmp_path: Path
) -> None:
    SmallCompany(sqlite_engine)
    failing = Failing(SearchWrites(sqlite_engine))
    query = supervised_query(replace(parts_of(spark, sqlite_engine, tmp_path / "checkpoint"), entries=failing))
    environment = QueryEnvironment(spark, Waits(sqlite_engine), tmp_path, FixedClock(STARTED_MS), first_wait_s=0.1)
    with running_alongside(query, environment, ends_within_s=60):
        until(lambda: failing.failures == 1, within_s=90)
        until(lambda: has_caught_up(sqlite_engine), within_s=90)
    assert fqns_for(sqlite_engine, "orders") == ["pg.store.public.orders"]
    assert {row.entity_id for row in entries_of(sqlite_engine)} == {
        logged_event.event.entity_id
        for logged_event in EventLog(sqlite_engine).read(0, 100)
        if logged_event.event.entity_type in SEARCHED
    }


def entries_of(engine: Engine) -> Sequence[Row[tuple[str]]]:
    with reading(engine) as connection:
        return connection.execute(select(search_entry.c.entity_id)).all()


def test_a_rebuild_indexes_the_catalogue_and_removes_what_it_does_not_have(
    spark: SparkSession, store_engine: Engine
) -> None:
    company = SmallCompany(store_engine)
    company.describe("orders", "What was bought, by whom")
    steps: list[tuple[int, int]] = []
    rebuilt = rebuild(spark, store_engine, url_of(store_engine), lambda done, total: steps.append((done, total)))
    assert fqns_for(store_engine, "bought owner:shop") == ["pg.store.public.orders"]
    assert (rebuilt.written, rebuilt.removed, rebuilt.entries) == (len(state(store_engine)), 0, rebuilt.written)
    assert steps == [(0, 1), (1, 1)]
    with writing(store_engine) as connection:
        is_revenue = search_entry.c.entity_id == company.ids["revenue"]
        connection.execute(delete(search_entry).where(~is_revenue))  # and leaves their words behind
        connection.execute(delete(entity).where(entity.c.id == company.ids["revenue"]))
    company.describe("orders", "and when")
    rebuilt = rebuild(spark, store_engine, url_of(store_engine), lambda *_: None)
    assert rebuilt.removed == 1
    assert fqns_for(store_engine, "when") == ["pg.store.public.orders"]
    assert fqns_for(store_engine, "revenue") == []


def test_what_carries_a_renamed_label_is_found_by_its_new_name_and_a_rebuild_changes_nothing(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(store_engine)
    company.put("classification", {"name": "PII", "description": "x"})
    company.put("tag", {"name": "Old", "classification": "PII", "description": "x"})
    label = {"tagFQN": "PII.Old", "source": "Classification"}
    for name in ("orders", "revenue"):
        tag_operations = [{"op": "add", "path": "/tags", "value": [label]}]
        company.writes.patch("table", Key.by_id(company.ids[name]), tag_operations, actor=SYSTEM)
    rename = [{"op": "replace", "path": "/name", "value": "New"}]
    describe = [{"op": "replace", "path": "/description", "value": "after the rename"}]
    with running(spark, store_engine, tmp_path / "checkpoint"):
        until(lambda: has_caught_up(store_engine), within_s=90)
        assert fqns_for(store_engine, "tag:PII.Old") == ["pg.store.public.orders", "pg.store.public.revenue"]
        company.writes.patch("tag", Key.by_name("PII.Old"), rename, actor=SYSTEM)
        company.writes.patch("tag", Key.by_name("PII.New"), describe, actor=SYSTEM)
        until(lambda: has_caught_up(store_engine), within_s=90)
    assert fqns_for(store_engine, "tag:PII.Old") == []
    assert fqns_for(store_engine, "tag:PII.New") == ["pg.store.public.orders", "pg.store.public.revenue"]
    followed_state = state(store_engine)
    assert rebuild(spark, store_engine, url_of(store_engine), lambda *_: None).entries == len(followed_state)
    assert state(store_engine) == followed_state
