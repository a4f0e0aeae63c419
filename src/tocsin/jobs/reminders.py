"""Reminders of incidents: every minute, looks whether alerts must remind of any, and lets Spark's tasks do it.

Tasks share the incidents by number, and remind of each in a transaction of its own (``alerts/reminders.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import pyarrow as pa
import structlog
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from sqlalchemy import Engine

from tocsin.alerts.reminders import remind
from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock, FixedClock, SystemClock
from tocsin.flow.match.plan import Plan
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.reminder_failures import ReminderFailure, ReminderFailures, remind_apart
from tocsin.jobs.resolving import StoreAddress
from tocsin.settings import StoreSettings
from tocsin.spark.schema import NUMBER, TEXT, struct_of
from tocsin.spark.session import interpreting_session
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.alerts.reminders import Numbers, Reminders
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.group_commit import PATIENT

JOB = "reminders"
"""Name of the job in the store."""

EVERY_S = 60.0
_INCIDENTS_PER_TASK = 500
_MOST_TASKS = 64
_NUMBERS = struct_of(("first", NUMBER), ("last", NUMBER), nullable=False)
_WRITTEN = struct_of(("written", NUMBER), ("subject", TEXT), ("cause", TEXT), ("trace", TEXT))
_LOG = structlog.get_logger(__name__)


class ReminderParts:
    """Parts of the job over the store behind ``engine``; ``session`` is for nothing else."""

    def __init__(self, session: SparkSession, engine: Engine, store: StoreAddress, clock: Clock) -> None:
        self.session, self.store, self.clock = session, store, clock
        self.alerts = CurrentAlerts("reminders", Subscriptions(engine), _no_plans)
        self.reminders = Reminders(engine)
        self.failures = ReminderFailures()


def build(settings: StoreSettings, session: SparkSession, engine: Engine) -> ReminderParts:
    """Build the job from ``settings``, in a session separate from ``session``."""
    store = StoreAddress(settings.store_url(), settings.sqlite_synchronous)
    return ReminderParts(interpreting_session(session), engine, store, SystemClock())


def look(parts: ReminderParts) -> int:
    """Remind of the incidents whose time has come; return the number of events written."""
    plans = parts.alerts.read().reminding
    repeats_ms = repeats_ms_of(plans)
    now_ms = parts.clock.now_ms()
    numbers = parts.reminders.numbers_due(repeats_ms, now_ms) if repeats_ms else None
    if numbers is None:
        parts.failures.note([])
        return 0
    shares = shares_of(numbers)
    frame = parts.session.createDataFrame(shares, _NUMBERS).repartition(len(shares))
    result_rows = in_tasks(frame, WriteReminders(parts.store, plans, now_ms), _WRITTEN).toArrow().to_pylist()
    count: int = sum(row.pop("written") for row in result_rows)
    parts.failures.note([ReminderFailure(**row) for row in result_rows if row["subject"]])
    _LOG.info("incidents_reminded", count=count)
    return count


def shares_of(numbers: Numbers) -> list[Numbers]:
    """Return the numbers of incidents of each task.

    There are few tasks, however many incidents lie between one that has waited for months and the newest.
    """
    count = numbers.last - numbers.first + 1
    width = max(_INCIDENTS_PER_TASK, ceil(count / _MOST_TASKS))
    starts = range(numbers.first, numbers.last + 1, width)
    return [Numbers(start, min(start + width - 1, numbers.last)) for start in starts]


def _no_plans(_plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans that this job matches: none, it asks for those that remind."""
    return []


def repeats_ms_of(plans: Mapping[str, Plan]) -> dict[str, int]:
    """Return the milliseconds between two reminders of those of these alerts that remind, by id."""
    return {alert: plan.repeat_ms for alert, plan in plans.items() if plan.repeat_ms is not None}


@dataclass(frozen=True)
class WriteReminders:
    """The work of a task, for ``spark/tasks.in_tasks``: from numbers of incidents to events, as of ``now_ms``."""

    store: StoreAddress
    plans: Mapping[str, Plan]
    now_ms: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take the first and the last number of some incidents a row; yield how many events were written.

        Each incident that cannot be reminded of has a row of its own.
        """
        engine = open_engine(self.store.url, synchronous=self.store.synchronous, most_connections=2, writers=PATIENT)
        try:
            shares = [Numbers(**values) for batch in batches for values in batch.to_pylist()]
            results = [result for numbers in shares for result in self._write(engine, numbers)]
        finally:
            engine.dispose()
        failures = [one for one in results if isinstance(one, ReminderFailure)]
        result_rows = [{"written": results.count(True)}, *({"written": 0, **one._asdict()} for one in failures)]
        yield pa.RecordBatch.from_pylist(result_rows, schema=to_arrow_schema(_WRITTEN))

    def _write(self, engine: Engine, numbers: Numbers) -> list[bool | ReminderFailure]:
        writes = Writes(SqlCatalogue(engine), FixedClock(self.now_ms))
        due = Reminders(engine).due_between(numbers, repeats_ms_of(self.plans), self.now_ms)
        works = ((one, partial(remind, incident_id=one, plans=self.plans)) for one in due)
        return [remind_apart(writes, incident_id, work) for incident_id, work in works]
