"""Plans of micro-batches, which Spark keeps while the alerts stay the same.

To plan the stages and to send the index to the executors takes Spark longer than one event needs to pass through them.
So they are planned once for each number of tasks, over whatever ranges of the log a job names
(``spark/tasks.handing_out``), and each micro-batch is a job of such a plan
(``docs/decisions/0130-a-plan-is-kept-while-alerts-stay.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from tocsin.jobs.alerts import Alerts
from tocsin.jobs.resolving import COUNTS, OF_EVENT, Notify
from tocsin.spark.match import matches
from tocsin.spark.schema import EVENTS
from tocsin.spark.sources import OffsetRange, PartReader
from tocsin.spark.tasks import handing_out, in_tasks, job_values

_MOST_PLANS = 2
"""Of a backlog all micro-batches but the last have one number of tasks; what follows it has one task."""


@dataclass(frozen=True)
class ReadNamedRange:
    """The work of a task that reads the range of the log that its job names for it, as rows of ``EVENTS``."""

    options: Mapping[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take no notice of ``batches``, and yield the events of the range in offset order."""
        for _ in batches:
            continue
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        offset_range = OffsetRange(*job_values()["ranges"][number])
        return _reader(self.options, offset_range).read(offset_range)


@dataclass(frozen=True)
class NotifyNow:
    """``work`` at the moment that the job names."""

    work: Notify

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work."""
        return replace(self.work, **job_values()["moment"])(batches)


@dataclass
class KeptPlans:
    """Match and notify over ranges of the log, one plan for each number of tasks; made anew when alerts change."""

    session: SparkSession
    options: Mapping[str, str]
    _alerts: Alerts | None = field(default=None, init=False)
    _plans: dict[int, DataFrame] = field(default_factory=dict, init=False)

    def counts(self, alerts: Alerts, work: Notify, offset_range: OffsetRange) -> pa.Table:
        """Match the events of a range with all of ``alerts`` and do ``work``.

        Return its counts: one row per task (``jobs/resolving.COUNTS``).
        """
        moment = {"now_ms": work.now_ms, "oldest_ms": work.oldest_ms}
        ranges = [(part.after, part.through) for part in self.ranges(offset_range)]
        try:
            with handing_out(self.session, {"moment": moment, "ranges": ranges}):
                return self._plan(alerts, work, len(ranges)).toArrow()
        except BaseException:
            self._plans.clear()  # Spark keeps the failure of a plan's broadcast, too
            raise

    def ranges(self, offset_range: OffsetRange) -> list[OffsetRange]:
        """Return what each task reads of a range."""
        return _reader(self.options, offset_range).ranges()

    def _plan(self, alerts: Alerts, work: Notify, task_count: int) -> DataFrame:
        if self._alerts is not alerts:
            self._plans.clear()
            self._alerts = alerts
        if task_count not in self._plans:
            if len(self._plans) == _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            events = in_tasks(self.session.range(0, task_count, 1, task_count), ReadNamedRange(self.options), EVENTS)
            match_frame = matches(events, alerts.index, columns=OF_EVENT)
            self._plans[task_count] = in_tasks(match_frame, NotifyNow(work), COUNTS)
        return self._plans[task_count]


def _reader(options: Mapping[str, str], offset_range: OffsetRange) -> PartReader:
    bounds = {"after": str(offset_range.after), "through": str(offset_range.through)}
    return PartReader({**options, **bounds})
