"""Reader of the event history on Spark: Parquet by date for the lake, the log for later events.

A segment of the lake is a folder ``segment=<id>`` with one folder ``date=YYYY-MM-DD`` per day of events (UTC). The
store decides which segments count (``store/eventlog/lake.py``); other files in the folder are ignored.
Next: ``jobs/lake.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # the name everybody knows it by
from pyspark.sql.types import DateType, StructField, StructType

from tocsin.clock import to_datetime
from tocsin.conditions.announced import IS_ANNOUNCED, OPEN_ANSWERS
from tocsin.conditions.breaking import IS_BREAKING
from tocsin.flow.eventlog.lake import ALWAYS, Cut, Extent, ReadingStep, Segment, Window
from tocsin.lake_files.address import files_at
from tocsin.lake_files.port import LakeFiles, S3Access, segment_folder
from tocsin.model.change import BREAKING_REASONS, CHANGE_REQUEST, REASON
from tocsin.spark.lake_objects import Bucket, LakeSource, read_objects
from tocsin.spark.log_columns import judge_breaking
from tocsin.spark.schema import COLUMNS, EVENTS
from tocsin.spark.session import register_source
from tocsin.spark.sources import LOG_FORMAT, LogSource
from tocsin.spark.streaks import is_report, with_streak_facts
from tocsin.spark.tasks import in_tasks

VIEW = "change_events"
"""What the whole history is called in SQL."""

DATE = "date"
"""The column of an event's day (UTC), by which a segment is cut into folders."""

_STORED = StructType([*EVENTS.fields, StructField(DATE, DateType())])
_SHARE = 5_000
_CHANGE = "array<struct<name:string,oldValue:string,newValue:string>>"
_DESCRIBED = (
    f"struct<fieldsAdded:{_CHANGE},fieldsUpdated:{_CHANGE},fieldsDeleted:{_CHANGE},previousVersion:decimal(10,1)>"
)
_REASONS = "array<struct<kind:string,field:string,before:string,after:string>>"
_AS_THEY_ARE = (
    *("eventType", "entityType", "entityId", "entityFullyQualifiedName"),
    *("previousVersion", "currentVersion", "userName", "userId"),
)

_VIEWED = {
    "id": "event_id",
    "offset": "log_offset",
    **{name: COLUMNS[name] for name in _AS_THEY_ARE},
    "timestamp": "timestamp_ms",
    "domains": "domains",
    "isBreaking": COLUMNS[IS_BREAKING],
    BREAKING_REASONS: "event",
    **{name: COLUMNS[name] for name in (IS_ANNOUNCED, CHANGE_REQUEST, OPEN_ANSWERS)},
    REASON: COLUMNS[REASON],
    "changeDescription": "event",
    "entity": "event",
}
"""The column of ``EVENTS`` that each column of the view is made of."""


def columns_viewed(names: Collection[str]) -> set[str]:
    """Return the columns of ``EVENTS`` that these columns of the view are made of."""
    return {_VIEWED[name] for name in names}


def folder_of(root: str, segment_id: str) -> str:
    """Return the folder of one segment in the lake at ``root``."""
    return f"{root}/{segment_folder(segment_id)}"


def dated_events(events: DataFrame) -> DataFrame:
    """Return ``EVENTS`` as they are written into a segment: with their ``date``, each day together, in offset order.

    One row per event; needs the columns of ``EVENTS`` and adds ``date``. Shuffles once, by day.
    """
    day = F.to_date(F.timestamp_millis("timestamp_ms"))
    return events.withColumn(DATE, day).repartition(DATE).sortWithinPartitions(DATE, "log_offset")


@dataclass(frozen=True)
class HistoryLocation:
    """Location of the history: folder or bucket of the lake, and the address of the store whose log continues it.

    ``access`` is how the bucket is reached; None for a folder.
    """

    root: str
    url: str
    access: S3Access | None = None

    def files(self) -> LakeFiles:
        """Return the files of the lake."""
        return files_at(self.root, self.access)

    def bucket(self) -> Bucket | None:
        """Return the bucket of the lake; None if it is in a folder."""
        return None if self.access is None else Bucket(self.root, self.access)


def register_history(session: SparkSession) -> None:
    """Let ``session`` read the history: the log, and a lake in a bucket."""
    register_source(session, LogSource)
    register_source(session, LakeSource)


def history(session: SparkSession, place: HistoryLocation, extent: Extent, window: Window = ALWAYS) -> DataFrame:
    """Return every event of ``extent`` that happened in ``window``, each once, as ``EVENTS``.

    One row per event, unordered. Offsets up to the lake's end come from Parquet, the rest from the log; ``LogSource``
    must be registered.
    """
    stored = lake_events(session, place, tuple(filter(window.meets, extent.segments)), window)
    return stored.union(_within(log_events(session, place, extent.lake_end, extent.log_end), window))


def span_events(session: SparkSession, place: HistoryLocation, extent: Extent, after: int, through: int) -> DataFrame:
    """Return the events above one offset, through another, of lake and log, as ``EVENTS``: one row per event."""
    met = tuple(one for one in extent.segments if one.after < through and one.through > after)
    stored = lake_events(session, place, met, ALWAYS).where(is_between(after, through))
    start = max(after, extent.lake_end)
    return stored.union(log_events(session, place, start, through)) if through > start else stored


def history_through(session: SparkSession, place: HistoryLocation, extent: Extent, cut: Cut) -> DataFrame:
    """Return every event of ``extent`` up to ``cut``, each once, as ``EVENTS``: one row per event."""
    window = Window(cut.since_ms, cut.until_ms)
    if cut.through is not None:
        return _within(span_events(session, place, extent, 0, min(cut.through, extent.log_end)), window)
    return history(session, place, extent, window)


def part(session: SparkSession, place: HistoryLocation, step: ReadingStep, window: Window = ALWAYS) -> DataFrame:
    """Return the events of one step that happened in ``window``, as ``EVENTS``: one row per event."""
    if not step.segments:
        return _within(log_events(session, place, step.after, step.through), window)
    stored = lake_events(session, place, step.segments, window)
    return stored.where(is_between(step.after, step.through))


def lake_events(
    session: SparkSession, place: HistoryLocation, segments: Sequence[Segment], window: Window
) -> DataFrame:
    """Return the events of these segments that happened in ``window``, as ``EVENTS``: one row per event."""
    if not segments:
        return session.createDataFrame([], EVENTS)
    if bucket := place.bucket():
        listed_files = [file for segment in segments for file in bucket.files().listed_files(segment.id)]
        files_within = [file for file in listed_files if window.meets_times(file.first_ms, file.last_ms)]
        return _within(read_objects(session, bucket, files_within), window)
    folders = [folder_of(place.root, segment.id) for segment in segments]
    events = session.read.schema(_STORED).option("basePath", place.root).parquet(*folders)
    day = F.col(DATE)  # folders of other days are not even listed
    if window.since_ms is not None:
        events = events.where(day >= F.lit(to_datetime(window.since_ms).date()))
    if window.until_ms is not None:
        events = events.where(day <= F.lit(to_datetime(window.until_ms).date()))
    return _within(events.select(*EVENTS.names), window)


def judged_events(events: DataFrame) -> DataFrame:
    """Return ``EVENTS`` with whether each breaks who reads its asset, also where an earlier release did not judge it.

    One row per event, one task per partition; no shuffle. Takes what no other reader of the lake pays: Python looks at
    every row.
    """
    return in_tasks(events, _judge_batches, EVENTS)


def _judge_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    place = EVENTS.names.index(COLUMNS[IS_BREAKING])
    for batch in batches:
        columns = dict(zip(EVENTS.names, batch.columns, strict=True))
        yield batch.set_column(place, batch.schema.field(place), judge_breaking(batch.column(place), columns))


def log_events(session: SparkSession, place: HistoryLocation, after: int, through: int) -> DataFrame:
    """Return the events above one offset, through another, of the log, as ``EVENTS``: one row per event."""
    reader = session.read.format(LOG_FORMAT).option("url", place.url).option("eventsPerPartition", _SHARE)
    return reader.option("after", after).option("through", through).load()


def status_events(session: SparkSession, place: HistoryLocation, through: int, window: Window = ALWAYS) -> DataFrame:
    """Return the events that report a status up to an offset and in ``window``, with their streak facts.

    One row per report, columns of ``EVENTS``, unordered. The log has them all, so the lake is not read. Shuffles by
    entity.
    """
    reader = session.read.format(LOG_FORMAT).option("url", place.url).option("only", "reports")
    reports = reader.option("eventsPerPartition", max(through, 1)).option("after", 0).option("through", through).load()
    return _within(with_streak_facts(reports.where(is_report())), window)


def change_events(events: DataFrame, names: Collection[str] = _VIEWED) -> DataFrame:
    """Return ``EVENTS`` under the names of the wire, as the view ``change_events`` has them.

    One row per event; returns the keys of a change event and ``offset``, those of ``names`` alone, and needs
    ``columns_viewed`` of them. ``timestamp`` is a timestamp, ``changeDescription`` a struct whose values are JSON
    texts, ``entity`` is JSON text.
    """
    return events.select(*(_view_column(name).alias(name) for name in _VIEWED if name in names))


def _view_column(name: str) -> Column:
    match name:
        case "timestamp":
            return F.timestamp_millis("timestamp_ms")
        case "changeDescription":
            return F.from_json(F.get_json_object("event", "$.changeDescription"), _DESCRIBED)
        case _ if name == BREAKING_REASONS:
            return F.from_json(F.get_json_object("event", f"$.{BREAKING_REASONS}"), _REASONS)
        case "entity":
            return F.get_json_object("event", "$.entity")
        case _:
            return F.col(_VIEWED[name])


def is_between(after: int, through: int) -> Column:
    """Return whether a row's ``log_offset`` is above one offset, up to another."""
    offset = F.col("log_offset")
    return (offset > after) & (offset <= through)


def _within(events: DataFrame, window: Window) -> DataFrame:
    timestamp_ms = F.col("timestamp_ms")
    if window.since_ms is not None:
        events = events.where(timestamp_ms >= window.since_ms)
    if window.until_ms is not None:
        events = events.where(timestamp_ms <= window.until_ms)
    return events
