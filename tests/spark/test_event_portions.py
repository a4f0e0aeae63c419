"""Tests of the main streaming query where tasks share the recipients of one event, on both stores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, func, select
from tests.spark.test_match_stream import (
    expected_notifications,
    has_caught_up,
    parts_of,
    stored_notifications,
)
from tests.store.test_resolving import NotifyInSmallPortions, followed_by_many
from tests.waiting import until

from tocsin.jobs.match_stream import streaming
from tocsin.store.database.alert_tables import event_portion, firing, match_result
from tocsin.store.outbox.event_portions import EventPortions, PortionKey

pytestmark = pytest.mark.spark


def test_events_whose_recipients_tasks_share_notify_like_others(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company = followed_by_many(store_engine, 60)
    parts = replace(
        parts_of(spark, store_engine, tmp_path / "checkpoint"),
        work=NotifyInSmallPortions,
        portions=EventPortions(store_engine),
        most_recipients=20,
    )
    with streaming(parts):
        until(lambda: has_caught_up(store_engine), within_s=120)
        for number in range(3):  # by the plan that is kept
            company.describe("orders", f"text {number}")
            company.describe("revenue", f"text {number}")
        until(lambda: has_caught_up(store_engine), within_s=120)
    assert stored_notifications(store_engine) == expected_notifications(company)
    counts = (match_result.c.notified_count, firing.c.notified_count)
    with store_engine.connect() as connection:
        of_results, of_firings = (
            sorted(connection.execute(select(count.table.c.log_offset, count.table.c.subscription_id, count)).all())
            for count in counts
        )
        assert connection.scalar(select(func.count()).select_from(event_portion)) == 0
    assert of_results == of_firings
    assert max(count for *_, count in of_results) == 61 + 60


class PortionsWithTags(EventPortions):
    """Portions that note, whenever those to store are listed, the tags of Spark's next jobs."""

    def __init__(self, engine: Engine, spark: SparkSession) -> None:
        super().__init__(engine)
        self.spark, self.tags = spark, list[set[str]]()

    def pending_keys(self) -> list[PortionKey]:
        """Return the portions to store."""
        self.tags.append(set(self.spark.sparkContext.getJobTags()))
        return super().pending_keys()


def test_portions_have_no_time_limit(spark: SparkSession, sqlite_engine: Engine, tmp_path: Path) -> None:
    """They occupy all executors, so a trial of the conditions would wait for them and seem slow."""
    company = followed_by_many(sqlite_engine, 60)
    company.alert("asking", [], "entityFullyQualifiedName matches '.*orders'")
    portions = PortionsWithTags(sqlite_engine, spark)
    parts = replace(
        parts_of(spark, sqlite_engine, tmp_path / "checkpoint"),
        work=NotifyInSmallPortions,
        portions=portions,
        most_recipients=20,
    )
    with streaming(parts):
        until(lambda: has_caught_up(sqlite_engine), within_s=120)
    assert portions.tags
    assert not {tag for tags in portions.tags for tag in tags if tag.startswith("tocsin-limit")}
    assert stored_notifications(sqlite_engine) == expected_notifications(company)
