"""Reminders of incidents: every minute, looks whether alerts must remind of any, and lets Spark's tasks do it.

Tasks share the incidents by number, and remind of each in a transaction of its own (``alerts/reminders.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from traceback import extract_tb, format_exception
from typing import NamedTuple

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
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.people import SYSTEM
from tocsin.settings import StoreSettings
from tocsin.spark.schema import NUMBER, TEXT, struct_of
from tocsin.spark.session import interpreting_session
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.alerts.reminders import Numbers, Reminders
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.faults import fault_of
from tocsin.store.database.group_commit import PATIENT

JOB = "reminders"
"""Name of the job in the store."""

EVERY_S = 60.0
_INCIDENTS_PER_TASK = 500
_MOST_TASKS = 64
_NUMBERS = struct_of(("first", NUMBER), ("last", NUMBER), nullable=False)
_WRITTEN = struct_of(("written", NUMBER), ("incident", TEXT), ("cause", TEXT), ("trace", TEXT))
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
    parts.failures.note([ReminderFailure(**row) for row in result_rows if row["incident"]])
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


class ReminderFailure(NamedTuple):
    """An incident that cannot be reminded of: what was raised where, and the traceback."""

    incident: str
    cause: str
    trace: str


class ReminderFailures:
    """Incidents that cannot be reminded of, look by look: each is logged once for each cause, and when it is over."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, failures: Sequence[ReminderFailure]) -> None:
        """Take the failures of a look: log those that are new, and those that are over with how many looks they had."""
        present = {(one.incident, one.cause): one for one in failures}
        for key in self._counts.keys() - present.keys():
            _LOG.info("reminder_failure_over", incident=key[0], cause=key[1], count=self._counts.pop(key))
        for key in present.keys() - self._counts.keys():
            _LOG.error("reminder_failed", incident=key[0], cause=key[1], traceback=present[key].trace)
        self._counts.update(present.keys())


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
        return [self._remind(writes, incident_id) for incident_id in due]

    def _remind(self, writes: Writes, incident_id: str) -> bool | ReminderFailure:
        """Remind of one incident; return whether an event was written.

        One that cannot be reminded of is looked at again in a minute. Others do not wait for it.
        """
        try:
            return writes.within(partial(remind, incident_id=incident_id, plans=self.plans), actor=SYSTEM)
        except Exception as error:  # an error at one incident keeps no other from being reminded of
            if fault_of(error) is not None:  # of the store, for all of them
                raise
            place = extract_tb(error.__traceback__)[-1]
            cause = f"{type(error).__name__} in {place.name}, line {place.lineno}"  # not its text, which may vary
            return ReminderFailure(incident_id, cause, "".join(format_exception(error)))
