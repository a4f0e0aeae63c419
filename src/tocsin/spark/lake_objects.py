"""Segments of a lake in a bucket, read by Python tasks, so that executors share no disk.

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

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tocsin.errors import Unavailable
from tocsin.lake_files.address import bucket_at
from tocsin.lake_files.port import S3Access, SegmentFile
from tocsin.spark.planning import end_quietly
from tocsin.spark.schema import EVENTS

if TYPE_CHECKING:  # see above
    from tocsin.lake_files.bucket import BucketFiles

LAKE_FORMAT = "tocsin_lake"

_ROWS_PER_TASK = 100_000
_GROUPS_PER_TASK = 64
_FILES_AHEAD = 8
_SMALL_FILE_BYTES = 2**22
_ROWS_PER_BATCH = 2_000
_UNAVAILABLE = re.compile(rf"^{Unavailable.__module__}\.{Unavailable.__name__}: (.+)$", re.MULTILINE)
"""The line of a task's traceback that says what is wrong with the lake."""


@dataclass(frozen=True)
class Bucket:
    """Where the lake is, and how it is reached."""

    root: str
    access: S3Access

    def files(self) -> BucketFiles:
        """Return its files."""
        return bucket_at(self.root, self.access)


def lake_fault_of(error: PySparkException) -> Unavailable | None:
    """Return what a task said of the lake; None if something else went wrong."""
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
        end_quietly()
        return EVENTS

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the files."""
        end_quietly()
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
        file = files.open(group.path)
        if group.file_bytes > _SMALL_FILE_BYTES:
            return file
        with files.failing_clearly(), file:
            return BytesIO(file.read())
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
