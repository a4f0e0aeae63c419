"""Retention job: removes what has expired from log, notifications and lake, as the settings say; by default nothing.

The log and the notifications go in portions of a short transaction each. A segment of the lake is written anew on
Spark without what has expired, and takes the place of the old one in one transaction; the old files go an hour later.
A run that was interrupted leaves a whole store and a whole lake, and the next one goes on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from uuid import uuid4

import structlog
from sqlalchemy import Connection, Engine

from tocsin.catalogue.people.retention import note_run
from tocsin.catalogue.writes import Writes
from tocsin.flow.eventlog.lake import ALWAYS, Segment
from tocsin.flow.eventlog.retention import Expiry, audit_days_of, expiries, log_days_of
from tocsin.jobs.lake import LakeParts, rewrite_segment
from tocsin.model.entity import Document
from tocsin.model.retention import DAY_MS, RetentionSettings, effects_of
from tocsin.settings import PipelineSettings
from tocsin.spark.lake import lake_events
from tocsin.spark.retention import counts_by_kind, has_expired
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading, writing
from tocsin.store.upkeep.retention.events import EventRemoval, LogPlan, RemovalCounts
from tocsin.store.upkeep.retention.inboxes import InboxRetention
from tocsin.store.upkeep.retention.notifications import NotificationRemoval
from tocsin.store.upkeep.retention.policy import holds_on, read_settings
from tocsin.store.upkeep.retention.progress import Kind, RetentionProgress
from tocsin.store.upkeep.retention.readers import Reader, is_backtest_under_way, readers_on, tell_late_readers

_PAUSE_S = 0.02
"""Between two portions, so that other writers get their turn."""

_LOG = structlog.get_logger(__name__)


class RetentionParts:
    """What retention is made of, over the lake and the store behind ``engine``."""

    def __init__(self, engine: Engine, lake: LakeParts, *, youngest_ms: int) -> None:
        self.engine, self.lake, self.clock, self.youngest_ms = engine, lake, lake.clock, youngest_ms
        self.progress = RetentionProgress(engine)
        self.events, self.notifications = EventRemoval(engine), NotificationRemoval(engine)
        self.inboxes = InboxRetention(engine)
        self.writes = Writes(SqlCatalogue(engine), lake.clock)


@dataclass
class RetentionRun:
    """Result of a run: what was removed, or would be; ``waits_for`` is why it removed nothing from log and lake.

    ``left_inboxes`` counts what left the inboxes of people who have chosen so: that removes nothing.
    """

    run_id: str
    counts: RemovalCounts = field(default_factory=RemovalCounts)
    lake: Counter[Kind] = field(default_factory=Counter)
    notifications: int = 0
    dead_letters: int = 0
    left_inboxes: int = 0
    readers_told: list[str] = field(default_factory=list)
    waits_for: str | None = None

    def to_wire(self) -> Document:
        """Return the result as it is noted and answered."""
        waits = {} if self.waits_for is None else {"waitsFor": self.waits_for}
        return {
            "run": self.run_id,
            "log": sum(self.counts.removed.values()),
            "logByType": dict(sorted(self.counts.by_type().items())),
            "lake": sum(self.lake.values()),
            "notifications": self.notifications,
            "deadLetters": self.dead_letters,
            "leftInboxes": self.left_inboxes,
            "kept": {reason.value: count for reason, count in sorted(self.counts.protected.items())},
            "readersTold": self.readers_told,
            "readersPassed": dict(sorted(self.counts.passed.items())),
            **waits,
        }

    def is_event(self) -> bool:
        """Return whether anything happened that an event should say."""
        removed = (self.counts.removed, self.lake, self.notifications, self.dead_letters, self.readers_told)
        return any(removed)


def build(settings: PipelineSettings, lake: LakeParts, engine: Engine) -> RetentionParts:
    """Build the job from ``settings``: nothing is removed that a self-audit may still compare."""
    youngest_ms = round(2 * settings.audit_window_hours * 3_600_000)
    return RetentionParts(engine, lake, youngest_ms=youngest_ms)


def apply(parts: RetentionParts, is_stopping: Callable[[], bool] = lambda: False) -> RetentionRun | None:
    """Remove what has expired; None where nothing is to be removed or to leave an inbox, or another run works.

    A run ends when the settings change: the next one goes by the new ones.
    """
    settings, now_ms = read_settings(parts.engine), parts.clock.now_ms()
    if not (settings.removes_something() or parts.inboxes.is_chosen()):
        return None
    run = RetentionRun(str(uuid4()))
    if not parts.progress.claim(run.run_id, now_ms=now_ms):
        _LOG.info("retention_busy")
        return None
    trusted_ms = parts.progress.trusted_ms(now_ms)
    for _ in _steps(parts, settings, run, trusted_ms):
        if is_stopping() or read_settings(parts.engine) != settings:
            break
        time.sleep(_PAUSE_S)
    if run.is_event():
        note_run(parts.writes, run.run_id, _public_facts(run))
    parts.progress.end(run.run_id, {**run.to_wire(), "at": now_ms}, trusted_ms=trusted_ms)
    _LOG.info("retention_applied", **run.to_wire())
    return run


def preview(parts: RetentionParts, settings: RetentionSettings | None = None) -> Document:
    """Return what a run would do now, by the settings that are stored or by others; nothing is changed."""
    settings = settings or read_settings(parts.engine)
    run, now_ms = RetentionRun("preview"), parts.clock.now_ms()
    trusted_ms = parts.progress.trusted_ms(now_ms)
    plan = LogPlan(_log_expiries(parts, settings, trusted_ms), _readers(parts, settings))
    for counts in parts.events.preview(plan):
        run.counts = counts
    for _, counts_of_segment in _expired_segments(parts, _audit_expiries(parts, settings, trusted_ms)):
        run.lake.update(counts_of_segment)
    with reading(parts.engine) as connection:
        holds = [hold.id for hold in holds_on(connection)]
    facts = {key: value for key, value in run.to_wire().items() if key not in ("run", "readersTold", "leftInboxes")}
    return {**facts, "legalHolds": holds, "takesAway": effects_of(settings)}


def _steps(parts: RetentionParts, settings: RetentionSettings, run: RetentionRun, trusted_ms: int) -> Iterator[None]:
    """Remove what has expired, portion by portion."""
    now_ms, run_id = parts.clock.now_ms(), run.run_id
    readers = _told_readers(parts, settings, run, now_ms)
    with reading(parts.engine) as connection:
        has_backtest = is_backtest_under_way(connection, now_ms=now_ms)
    if has_backtest:
        run.waits_for = "backtest"
    else:
        plan = LogPlan(_log_expiries(parts, settings, trusted_ms), readers)
        for counts in parts.events.remove(plan, run_id, parts.clock.now_ms):
            run.counts = counts
            yield
        yield from _rewrite_lake(parts, _audit_expiries(parts, settings, trusted_ms), run)
    if settings.notification_days is not None:
        before_ms = min(trusted_ms - settings.notification_days * DAY_MS, now_ms - parts.youngest_ms)
        for count in parts.notifications.remove_finished(before_ms, run_id, parts.clock.now_ms):
            run.notifications += count
            yield
    if settings.dead_letter_days is not None:
        before_ms = min(trusted_ms - settings.dead_letter_days * DAY_MS, now_ms - parts.youngest_ms)
        for count in parts.notifications.remove_dead_letters(before_ms, run_id, parts.clock.now_ms):
            run.dead_letters += count
            yield
    for count in parts.inboxes.leave(trusted_ms, run_id, parts.clock.now_ms):
        run.left_inboxes += count
        yield


def _readers(parts: RetentionParts, settings: RetentionSettings) -> tuple[Reader, ...]:
    with reading(parts.engine) as connection:
        return tuple(readers_on(connection, needs_lake=settings.outlives_the_log()))


def _told_readers(
    parts: RetentionParts, settings: RetentionSettings, run: RetentionRun, now_ms: int
) -> tuple[Reader, ...]:
    """Return the readers, those that are passed marked; those that are newly late are told in the log and the event."""
    with writing(parts.engine) as connection:
        readers = readers_on(connection, needs_lake=settings.outlives_the_log())
        judged_readers, news = tell_late_readers(
            connection, readers, wait_days=settings.reader_wait_days, now_ms=now_ms
        )
    run.readers_told = news
    for name in news:
        _LOG.warning("reader_is_late", reader=name, wait_days=settings.reader_wait_days, then="it is passed in a day")
    return tuple(judged_readers)


def _log_expiries(parts: RetentionParts, settings: RetentionSettings, trusted_ms: int) -> tuple[Expiry, ...]:
    return _older(expiries(settings.rules, log_days_of, trusted_ms), parts)


def _audit_expiries(parts: RetentionParts, settings: RetentionSettings, trusted_ms: int) -> tuple[Expiry, ...]:
    return _older(expiries(settings.rules, audit_days_of, trusted_ms), parts)


def _older(expired: Iterable[Expiry], parts: RetentionParts) -> tuple[Expiry, ...]:
    """Return the expiries without what is younger than the audit's window."""
    latest_ms = parts.clock.now_ms() - parts.youngest_ms
    return tuple(replace(expiry, until_ms=min(expiry.until_ms, latest_ms)) for expiry in expired)


def _expired_segments(parts: RetentionParts, periods: tuple[Expiry, ...]) -> Iterator[tuple[Segment, Counter[Kind]]]:
    """Yield the segments of the lake that hold expired events, with their numbers."""
    until_ms = max((expiry.until_ms for expiry in periods), default=0)
    with reading(parts.engine) as connection:
        condition = has_expired(periods, holds_on(connection))
    for segment in parts.lake.lake.segments():
        if segment.event_count and segment.first_ms <= until_ms:
            events = lake_events(parts.lake.session, parts.lake.place, [segment], ALWAYS).where(condition)
            rows_by_kind = counts_by_kind(events).collect()
            counts = Counter({(row.day, row.event_type, row.entity_type): row.event_count for row in rows_by_kind})
            if counts:
                yield segment, counts


def _rewrite_lake(parts: RetentionParts, periods: tuple[Expiry, ...], run: RetentionRun) -> Iterator[None]:
    """Write the segments that hold expired events anew without them."""
    with reading(parts.engine) as connection:
        holds = holds_on(connection)

    def are_the_holds(connection: Connection) -> bool:
        return holds_on(connection) == holds

    condition = has_expired(periods, holds)
    for segment, counts in _expired_segments(parts, periods):
        events = lake_events(parts.lake.session, parts.lake.place, [segment], ALWAYS).where(~condition)
        if rewrite_segment(parts.lake, events, segment, is_valid=are_the_holds) is not None:
            run.lake.update(counts)
            parts.progress.add_lake_counts(counts)
        yield
    if parts.lake.delta is not None and run.lake:
        parts.lake.delta.publish(parts.lake.lake.segments, now_ms=parts.clock.now_ms())


def _public_facts(applied: RetentionRun) -> Document:
    """Return the content of a run's event, which everyone who may view the Organization reads."""
    numbers = ("run", "log", "logByType", "lake", "notifications", "deadLetters")
    facts = {key: value for key, value in applied.to_wire().items() if key in numbers}
    return {**facts, "readersTold": len(applied.readers_told), "readersPassed": len(applied.counts.passed)}
