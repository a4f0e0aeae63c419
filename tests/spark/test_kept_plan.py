"""Tests of the plans that are kept while the alerts stay the same: how often one is made, and what its jobs do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import STARTED_MS, SmallCompany

from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.kept_plan import KeptPlans
from tocsin.jobs.match_stream import QUERY_NAME
from tocsin.jobs.resolving import Notify, StoreAddress
from tocsin.spark.sources import OffsetRange
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark

MAIL = {"category": "Owners", "type": "Email"}
PLANNED = list[int]()
"""The moments at which a plan was made: Spark pickles its work then."""


@dataclass(frozen=True)
class Noting(Notify):
    """The work of a task that says its moment in place of numbers of notifications, and fails at one before 0."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count the matches."""
        if self.now_ms < 0:
            raise ArithmeticError("no such time")
        matched = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pylist([{"matched": matched, "notified": self.now_ms}])

    def __getstate__(self) -> dict[str, object]:
        """Note that a plan is made."""
        PLANNED.append(self.now_ms)
        return self.__dict__


class Pipeline:
    """A store with an alert on changed descriptions, and a plan over its log."""

    def __init__(self, spark: SparkSession, engine: Engine) -> None:
        PLANNED.clear()
        self.company = SmallCompany(engine)
        self.company.alert("first", [MAIL], "fieldChanged == 'description'", resources=("table",))
        url = engine.url.render_as_string(hide_password=False)
        self.plans = KeptPlans(spark, {"url": url, "eventsPerPartition": "100"})
        self._alerts = CurrentAlerts(QUERY_NAME, Subscriptions(engine))
        self._work = Noting(StoreAddress(url, "NORMAL"), self._alerts.read().broadcast(spark), STARTED_MS)
        self._spark, self._log = spark, EventLog(engine)

    def describe(self, text: str) -> OffsetRange:
        """Change a table and return the range of the log that holds only this event."""
        self.company.describe("orders", text)
        through = self._log.readable_end()
        return OffsetRange(through - 1, through)

    def run(self, offsets: OffsetRange, *, now_ms: int) -> tuple[int, int]:
        """Return the number of matches of all tasks, and the moment that each was told."""
        alerts = self._alerts.read()
        work = replace(self._work, alerts=alerts.broadcast(self._spark), now_ms=now_ms)
        counts = self.plans.counts(alerts, work, offsets)
        (moment_ms,) = set(counts["notified"].to_pylist())
        return sum(counts["matched"].to_pylist()), moment_ms


@pytest.fixture
def pipeline(spark: SparkSession, sqlite_engine: Engine) -> Pipeline:
    return Pipeline(spark, sqlite_engine)


def test_one_plan_serves_every_range_and_moment_until_an_alert_changes(pipeline: Pipeline) -> None:
    ranges = [pipeline.describe(f"text {number}") for number in range(3)]
    assert [pipeline.run(offsets, now_ms=at) for at, offsets in enumerate(ranges, 1)] == [(1, 1), (1, 2), (1, 3)]
    assert pipeline.run(OffsetRange(ranges[0].after, ranges[2].through), now_ms=4) == (3, 4)
    assert pipeline.run(OffsetRange(0, 0), now_ms=5) == (0, 5)
    assert PLANNED == [1]
    pipeline.company.alert("second", [MAIL], resources=("table",))
    assert pipeline.run(ranges[0], now_ms=6) == (1, 6)  # it happened before the second alert
    assert pipeline.run(pipeline.describe("later"), now_ms=7) == (2, 7)
    assert PLANNED == [1, 6]


def test_a_plan_whose_job_failed_is_not_kept(pipeline: Pipeline) -> None:
    offsets = pipeline.describe("text")
    with pytest.raises(PySparkException):
        pipeline.run(offsets, now_ms=-1)
    assert pipeline.run(offsets, now_ms=2) == (1, 2)
    assert PLANNED == [-1, 2]


def test_each_number_of_tasks_has_a_plan_and_two_are_kept(pipeline: Pipeline) -> None:
    last = [pipeline.describe(f"text {number}") for number in range(4)][-1]
    two, three = (OffsetRange(last.through - size, last.through) for size in (102, 202))  # 100 offsets for a task
    assert [len(pipeline.plans.ranges(one)) for one in (last, two, three)] == [1, 2, 3]
    assert pipeline.run(two, now_ms=1) == (4, 1)
    assert [pipeline.run(one, now_ms=at) for at, one in enumerate((last, two, last), 2)] == [(1, 2), (4, 3), (1, 4)]
    assert PLANNED == [1, 2]
    assert pipeline.run(three, now_ms=5) == (4, 5)
    assert [pipeline.run(one, now_ms=at) for at, one in enumerate((last, two), 6)] == [(1, 6), (4, 7)]
    assert PLANNED == [1, 2, 5, 7]  # the oldest makes room
