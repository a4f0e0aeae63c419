"""Segments of a lake in a bucket, written and read by Python tasks, so that executors share no disk.

Spark writes files by renaming them, which S3 does not do, and reaches S3 only with further Java libraries; Arrow comes
with Spark's Python data sources (``docs/decisions/0127-the-lake-in-a-bucket-by-arrow.md``). This module runs on
executors; Arrow's file systems are imported there, after the worker was forked: their threads survive no fork.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from tocsin.errors import Unavailable
from tocsin.lake_files.address import bucket_at
from tocsin.lake_files.port import S3Access, segment_folder
from tocsin.spark.schema import EVENTS
from tocsin.spark.tasks import in_tasks

if TYPE_CHECKING:  # see above
    from tocsin.lake_files.bucket import BucketFiles, SegmentFile

LAKE_FORMAT = "tocsin_lake"

_DATE = "date"
_FILE = StructType([StructField("file", StringType())])
_GROUP_BYTES = 32 * 2**20
_ROWS_PER_TASK = 100_000
_GROUPS_PER_TASK = 64
_FILES_AHEAD = 8
_SMALL_FILE_BYTES = 2**22
_ROWS_PER_BATCH = 2_000
_UNAVAILABLE = re.compile(rf"^{Unavailable.__module__}\.{Unavailable.__name__}: (.+)$", re.MULTILINE)
"""The line of a task's traceback that says what is wrong with the bucket."""


@dataclass(frozen=True)
class Bucket:
    """Where the lake is, and how it is reached."""

    root: str
    access: S3Access

    def files(self) -> BucketFiles:
        """Return its files."""
        return bucket_at(self.root, self.access)


def write_objects(events: DataFrame, bucket: Bucket, segment_id: str) -> tuple[int, int, int]:
    """Write ``events``, as ``dated_events`` gives them, as a segment; return their number, first and last time (ms).

    One row per event.

    Raises
    ------
    Unavailable : the bucket cannot be read or written
    """
    from tocsin.lake_files.bucket import SegmentFile

    try:
        file_rows = in_tasks(events, _SegmentWriting(bucket, segment_id), _FILE).collect()
    except PySparkException as error:
        raise (bucket_fault_of(error) or error) from error
    files = [SegmentFile(**json.loads(row.file)) for row in file_rows]
    bucket.files().list_files(segment_id, files)
    first_ms, last_ms = min((one.first_ms for one in files), default=0), max((one.last_ms for one in files), default=0)
    return sum(file.row_count for file in files), first_ms, last_ms


def bucket_fault_of(error: PySparkException) -> Unavailable | None:
    """Return what a task said of the bucket; None if something else went wrong."""
    reason = _UNAVAILABLE.search(str(error))
    return None if reason is None else Unavailable(reason[1])


def read_objects(session: SparkSession, bucket: Bucket, files: Sequence[SegmentFile]) -> DataFrame:
    """Return the events of these files, as ``EVENTS``: one row per event. ``LakeSource`` must be registered."""
    if not files:
        return session.createDataFrame([], EVENTS)
    paths = json.dumps([[file.path, file.size, file.group_count, file.row_count] for file in files])
    address = json.dumps({"root": bucket.root, **asdict(bucket.access)})
    # Spark shows no option that is called so: it holds the key.
    return session.read.format(LAKE_FORMAT).option("url", address).option("files", paths).load()


@dataclass(frozen=True)
class _SegmentWriting:
    """The work of a task, for ``spark/tasks.in_tasks``: a file per day; yields what the list says of each."""

    bucket: Bucket
    segment_id: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        file: _DayFile | None = None
        for day, events in _days_of(batches):
            if file is not None and file.day != day:
                yield file.close()
                file = None
            if file is None:
                file = _DayFile(self.bucket.files(), self.segment_id, day)
            file.add(events)
        if file is not None:
            yield file.close()


def _days_of(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the events of each batch by day, without the column of it."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        for day in pc.unique(table[_DATE]):
            yield str(day.as_py()), table.filter(pc.equal(table[_DATE], day)).drop_columns([_DATE])


class _DayFile:
    """A Parquet file that is being written, under a name that no other attempt of the task takes."""

    def __init__(self, files: BucketFiles, segment_id: str, day: str) -> None:
        import pyarrow.parquet as pq

        self.day, self.path = day, f"{segment_folder(segment_id)}/{_DATE}={day}/part-{uuid4()}.parquet"
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
        if sum(table.nbytes for table in self._pending) >= _GROUP_BYTES:
            self._write_group()

    def close(self) -> pa.RecordBatch:
        """End the file, and return what the segment's list says of it, as one row."""
        from tocsin.lake_files.bucket import description_of

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


class _RowGroup(NamedTuple):
    """A row group, by its number in a file of so many bytes."""

    path: str
    number: int
    file_bytes: int


@dataclass(frozen=True)
class _RowGroups(InputPartition):
    """What one task reads."""

    groups: tuple[_RowGroup, ...]


class LakeSource(DataSource):
    """Files of the lake in a bucket. Options: ``url``, address and access as JSON, and ``files``, as JSON."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return LAKE_FORMAT

    def schema(self) -> StructType:
        """Return the columns of ``EVENTS``."""
        return EVENTS

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the files."""
        return _ObjectReader(dict(self.options))


class _ObjectReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        address = json.loads(options["url"])
        self._bucket = Bucket(address.pop("root"), S3Access(**address))
        self._files: list[tuple[str, int, int, int]] = json.loads(options["files"])

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the files at row groups, into parts of not too many rows and files."""
        partitions, groups, row_count = list[_RowGroups](), list[_RowGroup](), 0
        for path, size, group_count, event_count in self._files:
            for number in range(group_count):
                groups.append(_RowGroup(path, number, size))
                row_count += event_count // group_count
                if row_count >= _ROWS_PER_TASK or len(groups) == _GROUPS_PER_TASK:
                    partitions.append(_RowGroups(tuple(groups)))
                    groups, row_count = [], 0
        return [*partitions, _RowGroups(tuple(groups))] if groups else partitions

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the events of some row groups; runs on an executor."""
        import pyarrow.parquet as pq

        files, schema = self._bucket.files(), to_arrow_schema(EVENTS)
        for group, opened in _opened_ahead(files, cast(_RowGroups, partition).groups):
            with files.failing_clearly(), opened:
                parquet = pq.ParquetFile(opened, pre_buffer=True)
                for batch in parquet.iter_batches(_ROWS_PER_BATCH, row_groups=[group.number], use_threads=False):
                    yield _as_events(batch, schema)


def _opened_ahead(files: BucketFiles, groups: Sequence[_RowGroup]) -> Iterator[tuple[_RowGroup, BinaryIO]]:
    """Yield each row group with its file, while the files of the next ones are being opened: a bucket answers late."""
    with ThreadPoolExecutor(_FILES_AHEAD) as pool:
        opening = deque((group, pool.submit(_open_object, files, group)) for group in groups[:_FILES_AHEAD])
        for later in (*groups[_FILES_AHEAD:], *[None] * len(opening)):
            group, opened = opening.popleft()
            yield group, opened.result()
            if later is not None:
                opening.append((later, pool.submit(_open_object, files, later)))


def _open_object(files: BucketFiles, group: _RowGroup) -> BinaryIO:
    """Open the file of a row group; a small one is read at once."""
    try:
        opened = files.open(group.path)
        if group.file_bytes > _SMALL_FILE_BYTES:
            return opened
        with files.failing_clearly(), opened:
            return BytesIO(opened.read())
    except FileNotFoundError as error:
        message = f"The lake lacks {files.root}/{group.path}. Ask again: its segment may have been merged."
        raise Unavailable(message) from error


def _as_events(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with all columns of ``EVENTS``; a file written before one was added has null in it."""
    names = set(batch.schema.names)
    columns: list[Any] = [  # Any: Arrow's arrays have no types
        batch.column(field.name).cast(field.type) if field.name in names else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
