"""Lake job: appends events from the log to the lake in order, one segment at a time, and merges small segments.

A segment is announced, written into its own folder, and recorded if it is still contiguous: a crash leaves at most a
folder that nobody reads and that a later run removes. Runs in the pipeline and as ``tocsin lake append``; concurrent
runs are safe. Next: ``spark/lake.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import Connection, Engine

from tocsin.clock import Clock, SystemClock
from tocsin.errors import InvalidInput, MissingExtra, Unavailable
from tocsin.flow.eventlog.lake import UNCUT, Cut, Extent, Segment, Window, worth_merging
from tocsin.lake_files.address import access_of
from tocsin.settings import Settings
from tocsin.spark.lake import (
    VIEW,
    HistoryLocation,
    change_events,
    history,
    history_through,
    lake_events,
    register_history,
)
from tocsin.spark.lake_writing import write_events, write_log
from tocsin.spark.session import session_of
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.stored_settings import with_lake_key

if TYPE_CHECKING:  # an extra
    from tocsin.jobs.lake_delta import DeltaLog

LEFTOVERS_AFTER_MS = 3_600_000
"""A folder that is no part of the lake goes after an hour: until then a process may still write or read it."""

_DAY_MS = 86_400_000
_LOG = structlog.get_logger(__name__)

ReportProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class LakeParts:
    """What the lake is made of; ``build`` puts it together. ``full`` events make a segment that is left alone.

    ``delta`` is the Delta log, if outside readers get one.
    """

    session: SparkSession
    log: EventLog
    lake: Lake
    place: HistoryLocation
    clock: Clock
    events_per_segment: int = 100_000
    full: int = 1_000_000
    delta: DeltaLog | None = None

    def in_session(self, session: SparkSession) -> LakeParts:
        """Return the same lake, read in another session; ``LogSource`` must be registered in it."""
        return replace(self, session=session)

    def extent(self) -> Extent:
        """Return how far the history goes now."""
        segments = self.lake.segments()
        return Extent(segments, max(self.log.readable_end(), segments[-1].through if segments else 0))

    def extent_of(self, window: Window) -> tuple[Extent, int]:
        """Return the extent of the history in ``window``, and the number of events in it."""
        extent = self.extent()
        met = [one for one in extent.segments if window.meets(one)]
        partly = [one for one in met if not window.covers(one)]
        count, last = self.log.count_happened(window, after=extent.lake_end, through=extent.log_end)
        count += sum(one.event_count for one in met if one not in partly)
        if partly:
            count += lake_events(self.session, self.place, partly, window).count()
        return replace(extent, log_end=max(extent.lake_end, last)), count


@dataclass(frozen=True)
class Grown:
    """Result of a run: added events, merged segments, and the lake's current extent."""

    added: int
    merged: int
    segments: int
    end: int


def build(settings: Settings, session: SparkSession, engine: Engine) -> LakeParts:
    """Build the lake from ``settings``, in its own session, separate from other work of ``session``."""
    lake_session = session.newSession()
    register_history(lake_session)
    place = HistoryLocation(settings.lake_root(), settings.store_url(), access_of(with_lake_key(engine, settings)))
    delta = None if settings.lake_delta_days is None else _delta_log(place, settings.lake_delta_days)
    return LakeParts(lake_session, EventLog(engine), Lake(engine), place, SystemClock(), delta=delta)


def _delta_log(place: HistoryLocation, days: int) -> DeltaLog:
    try:
        from tocsin.jobs.lake_delta import DeltaLog
    except ModuleNotFoundError as error:
        message = f"lake_delta_days needs {error.name}. Install it: pip install 'tocsin[delta]'"
        raise MissingExtra(message, extra="delta") from error
    return DeltaLog(place.root, days, place.access)


@contextmanager
def open_lake(settings: Settings, engine: Engine) -> Iterator[LakeParts]:
    """Yield the lake on a Spark that is started for it and stopped at the end."""
    session = session_of(settings)
    try:
        yield build(settings, session, engine)
    finally:
        session.stop()


def grow(parts: LakeParts, report: ReportProgress = lambda _done, _total: None) -> Grown:
    """Append the log's new events to the lake, merge small segments, and remove files that do not belong to it.

    If a segment is missing, because the store was restored without its lake, the lake is started anew.
    """
    _begin_where_it_is_whole(parts)
    start, end = parts.lake.end(), parts.log.readable_end()
    after, added_count = start, 0
    while after < end:
        through = min(after + parts.events_per_segment, end)
        position = parts.log.position_at(through)
        segment = _stage_log(parts, after, through)
        if not parts.lake.keep(segment, end=position, now_ms=parts.clock.now_ms()):
            _LOG.info(
                "lake_segment_not_kept", after=after, reason="another process was faster, or the store was replaced"
            )
            break
        after, added_count = through, added_count + segment.event_count
        report(after - start, end - start)
    merged_count = compact(parts)
    now_ms, unused_after_ms = parts.clock.now_ms(), LEFTOVERS_AFTER_MS
    if parts.delta is not None:
        parts.delta.publish(parts.lake.segments, now_ms=now_ms)
        unused_after_ms = max(unused_after_ms, parts.delta.days * _DAY_MS)  # earlier versions still have them
    sweep(parts, before_ms=now_ms - unused_after_ms)
    segments = parts.lake.segments()
    return Grown(added_count, merged_count, len(segments), parts.lake.end())


def _begin_where_it_is_whole(parts: LakeParts) -> None:
    """Retire the lake from the first segment on whose files are missing, or were copied halfway.

    Raises
    ------
    Unavailable : the whole folder is, or the bucket cannot be used
    """
    files = parts.place.files()
    files.open_root(is_expected=bool(parts.lake.segments()))
    now_ms = parts.clock.now_ms()
    retired_count = parts.lake.retire_missing(files.is_complete, now_ms=now_ms)
    if retired_count:
        _LOG.warning(
            "lake_begins_again", after=parts.lake.end(), segments=retired_count, reason="their files are missing"
        )
        if parts.lake.lacks_removed_events():
            reason = "retention has removed events from the log; only a backup of the lake has them"
            _LOG.error("lake_lacks_events", after=parts.lake.end(), reason=reason)


def compact(parts: LakeParts) -> int:
    """Merge adjacent small segments while it is worth it; return how many they were."""
    count = 0
    while small := worth_merging(parts.lake.segments(), parts.full):
        events = history(parts.session, parts.place, Extent(small, small[-1].through))
        merged = _stage_events(parts, events, small[0].after, small[-1].through)
        if not parts.lake.keep(merged, replacing=small, now_ms=parts.clock.now_ms()):
            break  # another process was faster
        count += len(small)
    return count


def sweep(parts: LakeParts, *, before_ms: int) -> int:
    """Clear away the folders of segments that were left over before that moment; return how many."""
    leftovers, files = parts.lake.leftovers(before_ms=before_ms), parts.place.files()
    parts.lake.forget(leftovers)  # first, so that a writer that still writes one of them cannot keep it
    for segment_id in leftovers:
        try:
            files.remove_segment(segment_id)
        except (OSError, Unavailable) as error:
            _LOG.warning("lake_segment_remains", segment=segment_id, reason=str(error).splitlines()[0])
    return len(leftovers)


def show_history(parts: LakeParts, cut: Cut = UNCUT) -> DataFrame:
    """Create the session's view ``change_events`` over the history up to ``cut``, and return it: one row per event.

    Raises
    ------
    InvalidInput : the log ends before ``cut``
    """
    view = change_events(events_through(parts, cut))
    view.createOrReplaceTempView(VIEW)
    return view


def events_through(parts: LakeParts, cut: Cut) -> DataFrame:
    """Return the events of the history up to ``cut``, as ``EVENTS``: one row per event.

    Raises
    ------
    InvalidInput : the log ends before ``cut``
    """
    extent = parts.extent()
    if cut.through is not None and cut.through > extent.log_end:
        raise InvalidInput(f"must not be above {extent.log_end}, the offset at which the log ends", field="at")
    return history_through(parts.session, parts.place, extent, cut)


def rewrite_segment(
    parts: LakeParts, events: DataFrame, segment: Segment, *, is_valid: Callable[[Connection], bool]
) -> Segment | None:
    """Write ``events`` in place of those of a segment, in one commit; None if it was replaced meanwhile.

    None as well if ``is_valid`` says, in the transaction of the commit, that the events are no longer those to keep.
    ``events`` has one row per event.
    """
    new_segment = _stage_events(parts, events, segment.after, segment.through)
    now_ms = parts.clock.now_ms()
    is_kept = parts.lake.keep(new_segment, replacing=(segment,), now_ms=now_ms, is_valid=is_valid)
    return new_segment if is_kept else None


def _stage_log(parts: LakeParts, after: int, through: int) -> Segment:
    """Announce a segment and write its files, of the log; it is no part of the lake yet."""
    segment_id = parts.lake.stage(after, through, now_ms=parts.clock.now_ms())
    return Segment(segment_id, after, through, *write_log(parts.session, parts.place, segment_id, after, through))


def _stage_events(parts: LakeParts, events: DataFrame, after: int, through: int) -> Segment:
    """Announce a segment and write its files, of ``events``; it is no part of the lake yet."""
    segment_id = parts.lake.stage(after, through, now_ms=parts.clock.now_ms())
    return Segment(segment_id, after, through, *write_events(events, parts.place, segment_id))
