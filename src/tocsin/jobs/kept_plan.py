"""Plan of a small micro-batch, which Spark keeps while the alerts stay the same.

To plan the stages and to send the index to the executors takes Spark longer than one event needs to pass through them.
So they are planned once, over whatever range of the log a job names (``spark/tasks.handing_out``), and each micro-batch
that one task reads is a job of that plan (``docs/decisions/0130-a-plan-is-kept-while-alerts-stay.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tocsin.jobs.alerts import Alerts
from tocsin.jobs.resolving import COUNTS, OF_EVENT, Notify
from tocsin.spark.match import matches
from tocsin.spark.schema import EVENTS
from tocsin.spark.sources import OffsetRange, PartReader
from tocsin.spark.tasks import handing_out, in_tasks, job_values


@dataclass(frozen=True)
class ReadNamedRange:
    """The work of a task that reads the range of the log that its job names, as rows of ``EVENTS``."""

    options: Mapping[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take no notice of ``batches``, and yield the events of the range in offset order."""
        for _ in batches:
            continue
        offset_range = OffsetRange(*job_values()["range"])
        return _reader(self.options, offset_range).read(offset_range)


@dataclass(frozen=True)
class NotifyNow:
    """``work`` at the moment that the job names."""

    work: Notify

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work."""
        return replace(self.work, **job_values()["moment"])(batches)


@dataclass
class KeptPlan:
    """Matches and notifies over ranges of the log that one task reads; the plan is made anew when alerts change."""

    session: SparkSession
    options: Mapping[str, str]
    _planned: list[tuple[Alerts, DataFrame]] = field(default_factory=list, init=False)

    def serves(self, offset_range: OffsetRange) -> bool:
        """Return whether one task reads the range."""
        return len(_reader(self.options, offset_range).partitions()) == 1

    def counts(self, alerts: Alerts, work: Notify, offset_range: OffsetRange) -> pa.Table:
        """Match the events of a range with all of ``alerts`` and do ``work``.

        Return its counts: one row per task (``jobs/resolving.COUNTS``).
        """
        moment = {"now_ms": work.now_ms, "oldest_ms": work.oldest_ms}
        values = {"moment": moment, "range": (offset_range.after, offset_range.through)}
        try:
            with handing_out(self.session, values):
                return self._plan(alerts, work).toArrow()
        except BaseException:
            self._planned.clear()  # Spark keeps the failure of a plan's broadcast, too
            raise

    def _plan(self, alerts: Alerts, work: Notify) -> DataFrame:
        if not self._planned or self._planned[0][0] is not alerts:
            events = in_tasks(self.session.range(0, 1, 1, 1), ReadNamedRange(self.options), EVENTS)
            matched = matches(events, alerts.index, columns=OF_EVENT)
            self._planned[:] = [(alerts, in_tasks(matched, NotifyNow(work), COUNTS))]
        return self._planned[0][1]


def _reader(options: Mapping[str, str], offset_range: OffsetRange) -> PartReader:
    bounds = {"after": str(offset_range.after), "through": str(offset_range.through)}
    return PartReader({**options, **bounds})
