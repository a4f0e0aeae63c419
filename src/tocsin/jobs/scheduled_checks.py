"""Scheduled checks: what is still so of the assets at the times of alerts that ask for it, such as ``stillFailing()``.

At each time Spark looks for the assets in the catalogue and in the streaks, and its tasks write an event for each one
that an alert asks for. The pipeline matches these events as all others, so rights, mutes and preferences hold. The
digests of the alert wait until it has, an hour at most: they carry what happened and what is still so. A check that is
repeated writes nothing twice, and joins the same digests. Why:
docs/decisions/0153-a-scheduled-check-writes-events.md. Next: ``catalogue/observations/scheduled_checks.py``.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from sqlalchemy import Engine

from tocsin.catalogue.observations.scheduled_checks import AssetState, DueCheck, add_checks, matching_checks
from tocsin.catalogue.writes import Writes
from tocsin.chunks import chunks_of
from tocsin.clock import Clock, FixedClock, SystemClock
from tocsin.flow.eventlog.readers import READERS, STREAK_STREAM
from tocsin.flow.match.plan import Plan
from tocsin.flow.schedule.check_times import last_check_ms
from tocsin.flow.schedule.cron import next_time_ms
from tocsin.jobs.alerts import Alerts, CurrentAlerts
from tocsin.jobs.checkpoint import read_committed_position
from tocsin.jobs.intervals import FAILURES
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.change import STILL_WITHOUT_OWNER
from tocsin.model.subscription import ALL_RESOURCES, Trigger
from tocsin.settings import PipelineSettings, Settings
from tocsin.spark.asset_states import (
    ASSET_STATES,
    FOUND_STATES,
    asset_states,
    first_of_each_check,
    living_assets,
    without_owner,
)
from tocsin.spark.catalogue import CATALOGUE_FORMAT, CatalogueSource
from tocsin.spark.schema import NUMBER, TEXT, struct_of
from tocsin.spark.session import configure, interpreting_session, register_source, work_in_background
from tocsin.spark.streaks import STATE_CONF, no_streaks, streaks
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.search.writes import SearchWrites
from tocsin.store.database.engine import open_engine
from tocsin.store.database.group_commit import PATIENT
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.scheduled_checks import LastCheck, ScheduledChecks

CHECKS = "tocsin-checks"
"""The thread that runs the checks, and what Spark calls its jobs."""

_LOOK_EVERY_S = 1.0
_AGAIN_AFTER_S = 5.0
_ENTITIES_PER_TASK = 5_000
_ASSETS_AT_ONCE = 200
_WRITTEN = struct_of(("schedule_id", TEXT), ("match_count", NUMBER), ("written", NUMBER), nullable=False)
_KEY_OF_CHECK = itemgetter("schedule_id", "match_count", "limit")
_LOG = structlog.get_logger(__name__)


class CheckParts:
    """Parts of the checks over the store behind ``engine``; ``session`` is for nothing else.

    ``asset_limit``: so many assets a check names at most at each time.
    """

    def __init__(
        self, session: SparkSession, engine: Engine, store: StoreAddress, checkpoint: str, clock: Clock
    ) -> None:
        self.session, self.store, self.checkpoint, self.clock = configure(session, STATE_CONF), store, checkpoint, clock
        register_source(self.session, CatalogueSource)
        self.alerts = CurrentAlerts(CHECKS, Subscriptions(engine), _plans_of_checks)
        self.log, self.reports, self.ids = EventLog(engine), Reports(engine), SearchWrites(engine)
        self.checks = ScheduledChecks(engine)
        self.asset_limit = PipelineSettings().check_asset_limit
        self.reported_through: dict[str, int] = {}


@dataclass(frozen=True)
class _Schedule:
    """A schedule, and the plans of the alerts that ask for the state of assets at its times."""

    trigger: Trigger
    plans: tuple[Plan, ...]


def build(settings: Settings, session: SparkSession, engine: Engine) -> CheckParts:
    """Build the checks from ``settings``, in a session separate from ``session``."""
    store = StoreAddress(settings.store_url(), settings.sqlite_synchronous)
    checkpoint = str(settings.checkpoint_dir() / STREAK_STREAM)
    parts = CheckParts(interpreting_session(session), engine, store, checkpoint, SystemClock())
    parts.asset_limit = settings.check_asset_limit
    return parts


def run(parts: CheckParts, stopping: threading.Event) -> None:
    """Check whenever a time has come, until ``stopping`` is set."""
    work_in_background(parts.session, CHECKS)
    while not stopping.wait(_LOOK_EVERY_S):
        try:
            look(parts)
        except FAILURES as error:
            if not stopping.is_set():
                _LOG.error("check_failed", reason=str(error).splitlines()[0])
            stopping.wait(_AGAIN_AFTER_S)


def look(parts: CheckParts) -> int:
    """Check the schedules whose time has come, and release the digests that wait no more; return the events written.

    A schedule that is seen for the first time is checked at its next time, and so is one of which a clock that was
    ahead has checked later times. Of several times that were missed, the last one is checked.
    """
    schedules = _schedules(parts.alerts.read())
    last_checks = parts.checks.last_checks()
    if not schedules and not last_checks:
        return 0
    now_ms = parts.clock.now_ms()
    beginning = dict(_beginning_checks(schedules, last_checks, now_ms))
    if beginning:
        parts.checks.keep(beginning)
    due = [one for one in _due_checks(schedules, last_checks, now_ms) if _are_streaks_ready(parts, one)]
    count = _check(parts, due) if due else 0
    for schedule_id, last in parts.checks.last_checks().items():
        if schedule_id not in schedules:
            parts.checks.retire(schedule_id, now_ms=now_ms)
        elif last.through_offset is not None and _has_read(parts, last.through_offset):
            release_count = parts.checks.release(schedule_id, now_ms=parts.clock.now_ms())
            _LOG.info("digests_released", schedule_id=schedule_id, count=release_count)
    return count


def _plans_of_checks(plans: Sequence[Plan]) -> list[Plan]:
    return [plan for plan in plans if plan.states]


def _schedules(alerts: Alerts) -> dict[str, _Schedule]:
    """Return the schedules of enabled alerts that ask for the state of assets, by id."""
    plans_by_schedule: dict[str, list[Plan]] = defaultdict(list)
    for alert_id, plan in alerts.checks.items():
        plans_by_schedule[alerts.facts.timings[alert_id].check_id].append(plan)
    return {
        schedule_id: _Schedule(alerts.facts.timings[plans[0].subscription_id].trigger, tuple(plans))
        for schedule_id, plans in plans_by_schedule.items()
    }


def _beginning_checks(
    schedules: Mapping[str, _Schedule], last_checks: Mapping[str, LastCheck], now_ms: int
) -> Iterator[tuple[str, LastCheck]]:
    for schedule_id, schedule in schedules.items():
        last = last_checks.get(schedule_id)
        if last is None:
            yield schedule_id, LastCheck(now_ms)
        elif last.due_at_ms > now_ms and last.due_at_ms > next_time_ms(schedule.trigger, now_ms):
            yield schedule_id, LastCheck(now_ms, last.through_offset)


def _due_checks(
    schedules: Mapping[str, _Schedule], last_checks: Mapping[str, LastCheck], now_ms: int
) -> Iterator[DueCheck]:
    for schedule_id, schedule in sorted(schedules.items()):
        due_at_ms, last = last_check_ms(schedule.trigger, now_ms), last_checks.get(schedule_id)
        if last is not None and due_at_ms is not None and due_at_ms > last.due_at_ms:
            yield DueCheck(schedule_id, due_at_ms, schedule.plans)


def _are_streaks_ready(parts: CheckParts, check: DueCheck) -> bool:
    """Return whether the streaks contain what had been reported when the time of a check came."""
    if not check.reads_reports:
        return True
    through = parts.reported_through.setdefault(check.event_id(""), parts.log.readable_end())
    committed = read_committed_position(Path(parts.checkpoint))
    return parts.reports.first_between(0 if committed is None else committed.offset, through) is None


def _has_read(parts: CheckParts, through: int) -> bool:
    """Return whether the pipeline has notified of everything up to an offset."""
    return all(parts.log.progress(reader) >= through for reader in READERS)


def _check(parts: CheckParts, due: Sequence[DueCheck]) -> int:
    """Write what is still so of the assets at these times; return the number of events."""
    now_ms = parts.clock.now_ms()
    finding, writing = (work(parts.store, tuple(due), now_ms) for work in (FindChecks, WriteChecks))
    states = in_tasks(_states(parts, due, now_ms), finding, FOUND_STATES)
    checks = in_tasks(first_of_each_check(states, parts.asset_limit), writing, _WRITTEN).collect()
    count = sum(int(check.written) for check in checks)
    for check in checks:
        if check.match_count > parts.asset_limit:
            _LOG.warning("check_cut", schedule_id=check.schedule_id, found=check.match_count, names=parts.asset_limit)
    through = parts.log.highest_offset()  # after the events: readers of the log come so far
    parts.checks.keep({one.schedule_id: LastCheck(one.due_at_ms, through) for one in due})
    parts.reported_through = {}
    _LOG.info("schedules_checked", count=len(due), events=count)
    return count


def _states(parts: CheckParts, due: Sequence[DueCheck], now_ms: int) -> DataFrame:
    """Return the states of the assets that these checks may be about: rows of ``ASSET_STATES``."""
    plans = [plan for check in due for plan in check.plans]
    resources = {resource for plan in plans for resource in plan.resources}
    states = {state.partition(":")[0] for plan in plans for state in plan.states}
    entities = _catalogue(parts)
    assets = living_assets(entities, None if ALL_RESOURCES in resources else resources)
    lacking = without_owner(assets, living_assets(entities, None)) if STILL_WITHOUT_OWNER in states else None
    has_streaks = read_committed_position(Path(parts.checkpoint)) is not None
    reported = streaks(parts.session, parts.checkpoint) if has_streaks else no_streaks(parts.session)
    stale_ms = min((one for check in due for one in check.stale_ms), default=None)
    return asset_states(assets, reported, lacking, stale_before_ms=None if stale_ms is None else now_ms - stale_ms)


def _catalogue(parts: CheckParts) -> DataFrame:
    ranges = list(pairwise(["", *parts.ids.id_cuts(_ENTITIES_PER_TASK)]))
    options = {"url": parts.store.url, "ranges": json.dumps(ranges), "logOffset": "0"}
    return parts.session.read.format(CATALOGUE_FORMAT).options(**options).load()


@dataclass(frozen=True)
class _CheckWork:
    """What the work of both tasks knows: the store, the checks, and when the states were looked at."""

    store: StoreAddress
    checks: tuple[DueCheck, ...]
    now_ms: int

    @contextmanager
    def open(self) -> Iterator[tuple[Writes, Engine]]:
        """Open the store for a task."""
        engine = open_engine(self.store.url, synchronous=self.store.synchronous, most_connections=2, writers=PATIENT)
        try:
            yield Writes(SqlCatalogue(engine), FixedClock(self.now_ms)), engine
        finally:
            engine.dispose()


class FindChecks(_CheckWork):
    """The work of a task, for ``spark/tasks.in_tasks``: which states of assets an alert of which check asks for."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take rows of ``ASSET_STATES``, and yield those of ``FOUND_STATES``."""
        assets = (AssetState(**values) for batch in batches for values in batch.to_pylist())
        with self.open() as (writes, _):
            for portion in chunks_of(assets, _ASSETS_AT_ONCE):
                pairs = matching_checks(writes, portion, self.checks)
                states = [asdict(asset) | {"schedule_id": check.schedule_id} for asset, check in pairs]
                yield pa.RecordBatch.from_pylist(states, schema=to_arrow_schema(FOUND_STATES))


class WriteChecks(_CheckWork):
    """The work of a task, for ``spark/tasks.in_tasks``: from states to events, a portion in a transaction."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take rows of ``first_of_each_check``, and yield a row per check: what was written."""
        states = (values for batch in batches for values in batch.to_pylist())
        checks = {check.schedule_id: check for check in self.checks}
        with self.open() as (writes, engine):
            for (schedule_id, match_count, limit), of_check in groupby(states, _KEY_OF_CHECK):
                check = replace(checks[schedule_id], is_cut=match_count > limit)
                assets = (AssetState(**{name: one[name] for name in ASSET_STATES.names}) for one in of_check)
                portions = chunks_of(assets, _ASSETS_AT_ONCE)
                count = sum(_write(writes, Reports(engine), some, check) for some in portions)
                yield pa.RecordBatch.from_pylist(
                    [{"schedule_id": schedule_id, "match_count": match_count, "written": count}]
                )


def _write(writes: Writes, reports: Reports, assets: Sequence[AssetState], check: DueCheck) -> int:
    logged_ids = reports.logged_ids([check.event_id(asset.entity_id) for asset in assets])
    return add_checks(writes, assets, [check], logged_ids)
