"""Writer of the lake's segments: Python tasks write the Parquet files of each day, from the log or from a frame.

A task takes its part of the log from the store to Parquet in Arrow's columns, so that no event passes through Java
(``docs/decisions/0137-tasks-write-the-log-into-the-lake.md``). What attempts of tasks leave is no part of a segment
before the driver names the files that count (``lake_files/port.py``). Next: ``jobs/lake.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from tocsin.lake_files.port import LakeFiles, SegmentFile, segment_folder
from tocsin.spark.lake import DATE, HistoryLocation, dated_events
from tocsin.spark.lake_objects import lake_fault_of
from tocsin.spark.schema import EVENTS
from tocsin.spark.sources import OffsetRange, ranges_of, read_range
from tocsin.spark.tasks import in_tasks

_FILE = StructType([StructField("file", StringType())])
GROUP_BYTES = 32 * 2**20
"""From so many bytes on, events become a row group of their file."""
_EVENTS_PER_TASK = 10_000
"""Half a second's work: a task of a micro-batch waits no longer for a core."""


class SegmentCounts(NamedTuple):
    """What a segment came to: its number of events, and the times of the earliest and the latest (ms)."""

    event_count: int
    first_ms: int
    last_ms: int


def write_log(
    session: SparkSession, place: HistoryLocation, segment_id: str, after: int, through: int
) -> SegmentCounts:
    """Write the events of the log between two offsets as a segment, those of a day in the order of the log.

    Raises
    ------
    Unavailable : the lake cannot be written
    """
    ranges = ranges_of(after, through, _EVENTS_PER_TASK)
    frame = session.range(len(ranges), numPartitions=len(ranges))
    return _write(frame, place, segment_id, LogWriting(place, segment_id, tuple(ranges)))


def write_events(events: DataFrame, place: HistoryLocation, segment_id: str) -> SegmentCounts:
    """Write ``events``, with the columns of ``EVENTS``, as a segment: one file per day, in the order of the log.

    One row per event; shuffles once, by day.

    Raises
    ------
    Unavailable : the lake cannot be read or written
    """
    return _write(dated_events(events), place, segment_id, SegmentWriting(place, segment_id))


def _write(frame: DataFrame, place: HistoryLocation, segment_id: str, work: SegmentWriting) -> SegmentCounts:
    try:
        files = files_in(in_tasks(frame, work, _FILE).toArrow().to_batches())
    except PySparkException as error:
        raise (lake_fault_of(error) or error) from error
    place.files().list_files(segment_id, files)
    first_ms, last_ms = (
        min((file.first_ms for file in files), default=0),
        max((one.last_ms for one in files), default=0),
    )
    return SegmentCounts(sum(file.row_count for file in files), first_ms, last_ms)


@dataclass(frozen=True)
class SegmentWriting:
    """The work of a task, for ``spark/tasks.in_tasks``: a file per day; yields what the list says of each."""

    place: HistoryLocation
    segment_id: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take events with their ``date``, and write them."""
        return self._write(pa.Table.from_batches([batch]) for batch in batches)

    def _write(self, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        file: _DayFile | None = None
        for day, events in chain.from_iterable(map(_days_of, tables)):
            if file is not None and file.day != day:
                yield file.close()
                file = None
            if file is None:
                file = _DayFile(self.place.files(), self.segment_id, day)
            file.add(events)
        if file is not None:
            yield file.close()


@dataclass(frozen=True)
class LogWriting(SegmentWriting):
    """The work of a task that reads the log itself; each row that it takes is the number of one of the ``ranges``."""

    ranges: tuple[OffsetRange, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take numbers of ranges, and write their events."""
        numbers = chain.from_iterable(batch["id"].to_pylist() for batch in batches)
        events = chain.from_iterable(read_range(self.place.url, self.ranges[number]) for number in numbers)
        return self._write(map(_with_date, _row_groups(events)))


def files_in(batches: Iterable[pa.RecordBatch]) -> list[SegmentFile]:
    """Return the files that tasks have described, a row each."""
    return [SegmentFile(**json.loads(text)) for batch in batches for text in batch["file"].to_pylist()]


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield batches joined to the size of a row group: the fewer, the fewer files where days alternate."""
    joined: list[pa.RecordBatch] = []
    for batch in batches:
        joined.append(batch)
        if sum(one.nbytes for one in joined) >= GROUP_BYTES:
            yield pa.Table.from_batches(joined)
            joined = []
    if joined:
        yield pa.Table.from_batches(joined)


def _with_date(events: pa.Table) -> pa.Table:
    return events.append_column(DATE, events["timestamp_ms"].cast(pa.timestamp("ms")).cast(pa.date32()))


def _days_of(events: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the events of each day, without the column of it."""
    for day in pc.unique(events[DATE]):
        yield str(day.as_py()), events.filter(pc.equal(events[DATE], day)).drop_columns([DATE])


class _DayFile:
    """A Parquet file that is being written, under a name that no other attempt of the task takes."""

    def __init__(self, files: LakeFiles, segment_id: str, day: str) -> None:
        import pyarrow.parquet as pq  # after the worker was forked: Arrow's file systems come with it

        self.day, self.path = day, f"{segment_folder(segment_id)}/{DATE}={day}/part-{uuid4()}.parquet"
        self._files = files
        with files.failing_clearly():
            self._stream = files.create(self.path)
        self._footers: list[Any] = []  # Any: Parquet's metadata has no type
        self._writer = pq.ParquetWriter(
            self._stream, to_arrow_schema(EVENTS), compression="zstd", metadata_collector=self._footers
        )
        self._pending: list[pa.Table] = []

    def add(self, events: pa.Table) -> None:
        """Add events of the day."""
        self._pending.append(events.select(EVENTS.names).cast(self._writer.schema))
        if sum(table.nbytes for table in self._pending) >= GROUP_BYTES:
            self._write_group()

    def close(self) -> pa.RecordBatch:
        """End the file, and return what the segment's list says of it, as one row."""
        from tocsin.lake_files.descriptions import description_of

        self._write_group()
        with self._files.failing_clearly():
            self._writer.close()
            size = self._stream.tell()
            self._stream.close()
        description = description_of(self.path, size, self._footers[0])
        return pa.RecordBatch.from_pydict({"file": [json.dumps(asdict(description))]})

    def _write_group(self) -> None:
        if self._pending:
            table = pa.concat_tables(self._pending)
            with self._files.failing_clearly():
                self._writer.write_table(table, row_group_size=table.num_rows)
            self._pending = []
