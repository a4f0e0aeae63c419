"""Delta log of the lake, by which other programs open its folder as a Delta table, with earlier versions of it.

Each commit makes the table consist of the segments that the store lists, however many runs have ended before they
came to it. It holds plain Parquet, without deletion vectors. Next: ``jobs/lake.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import structlog
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql.pandas.types import to_arrow_schema

from tocsin.errors import Unavailable
from tocsin.flow.eventlog.lake import Segment
from tocsin.lake_files.address import bucket_at
from tocsin.lake_files.port import S3Access
from tocsin.model.entity import Document
from tocsin.spark.lake import folder_of
from tocsin.spark.schema import EVENTS

APPLICATION = "tocsin-lake"
"""The application whose transactions the log records: of two at once, one fails."""
THROUGH = "tocsinThrough"
"""The key, in the metadata of a commit, of the offset up to which it has the events."""

_PARTITIONS = ("segment", "date")
_MEASURED = ("log_offset", "timestamp_ms")
"""Columns whose least and greatest value readers get, to leave files out."""
_TRIES = 5
_LONGEST_REASON = 300
_COLOUR_OR_BRANCH = re.compile(r"\x1b\[\d+m|↳")
_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True)
class DeltaLog:
    """The Delta log in the lake's folder ``root``; readers may go back ``days`` days."""

    root: str
    days: int
    access: S3Access | None = None

    def publish(self, list_segments: Callable[[], Sequence[Segment]], *, now_ms: int) -> bool:
        """Make the table consist of the segments; return whether it did not yet.

        ``list_segments`` is called after the table was read: a faster writer has seen no more.

        Raises
        ------
        Unavailable : the log cannot be read or written
        """
        for _ in range(_TRIES):
            try:
                return self._publish(list_segments, now_ms)
            except CommitFailedError as error:
                _LOG.info("lake_delta_repeated", reason=str(error).splitlines()[0])
            except (DeltaError, OSError) as error:
                raise Unavailable(
                    f"The lake's Delta log {self.root}/_delta_log fails: {_reason_of(error)}. If it is"
                    " damaged, remove that folder: the next run writes it anew."
                ) from error
        raise Unavailable("The lake's Delta log is being written by others; the next run writes it.")

    def _publish(self, list_segments: Callable[[], Sequence[Segment]], now_ms: int) -> bool:
        table = self._table()
        files_by_segment = _files_by_segment(table)
        segments = {segment.id: segment for segment in list_segments()}
        actions: list[AddAction | RemoveAction] = []
        for segment_id, files in files_by_segment.items():
            if segment_id not in segments:
                actions += [RemoveAction(file.path, True, now_ms, file.size, file.partition) for file in files]
        for segment_id in segments:
            if segment_id not in files_by_segment:
                actions += self._additions(segment_id, now_ms)
        if not actions:
            return False
        through = max((segment.through for segment in segments.values()), default=0)
        version = (table.transaction_version(APPLICATION) or 0) + 1
        properties = CommitProperties(
            custom_metadata={THROUGH: through},
            max_commit_retries=0,
            app_transactions=[Transaction(APPLICATION, version, now_ms)],
        )
        table.create_write_transaction(actions, "append", _SCHEMA, list(_PARTITIONS), commit_properties=properties)
        return True

    def _table(self) -> DeltaTable:
        """Return the table, made or with columns added if need be."""
        try:  # DeltaTable.is_deltatable would stop all threads of this process while a bucket lets it wait
            table = DeltaTable(self.root, storage_options=storage_options(self.access))
        except TableNotFoundError:
            return self._new_table()
        names = {column.name for column in table.schema().fields}
        new_columns = [column for column in _SCHEMA if column.name not in names]
        if not new_columns:
            return table
        table.alter.add_columns(Schema.from_arrow(pa.schema(new_columns)).fields)
        return DeltaTable(self.root, storage_options=storage_options(self.access))

    def _new_table(self) -> DeltaTable:
        days, options = f"interval {self.days} days", storage_options(self.access)
        configuration = {"delta.logRetentionDuration": days, "delta.deletedFileRetentionDuration": days}
        DeltaTable.create(
            self.root, _SCHEMA, "ignore", list(_PARTITIONS), configuration=configuration, storage_options=options
        )
        return DeltaTable(self.root, storage_options=options)

    def _additions(self, segment_id: str, now_ms: int) -> Iterator[AddAction]:
        """Yield what adds each file of a segment; an empty one has none."""
        if self.access is None:
            yield from _additions(self.root, segment_id)
            return
        for file in bucket_at(self.root, self.access).listed_files(segment_id):
            partition = {"segment": segment_id, "date": file.date}
            statistics = {
                "numRecords": file.row_count,
                "minValues": {"log_offset": file.first_offset, "timestamp_ms": file.first_ms},
                "maxValues": {"log_offset": file.last_offset, "timestamp_ms": file.last_ms},
            }
            yield AddAction(file.path, file.size, partition, now_ms, True, json.dumps(statistics))


def storage_options(access: S3Access | None) -> dict[str, str] | None:
    """Return how delta-rs reaches the bucket; commits are made by conditional writes, so that of two one fails."""
    if access is None:
        return None
    options = {
        "AWS_ENDPOINT_URL": access.endpoint,
        "AWS_REGION": access.region,
        "AWS_ACCESS_KEY_ID": access.key_id,
        "AWS_SECRET_ACCESS_KEY": access.secret_key,
        "AWS_CONDITIONAL_PUT": "etag",
        "AWS_ALLOW_HTTP": "true" if (access.endpoint or "").startswith("http://") else "false",
    }
    return {name: value for name, value in options.items() if value is not None}


def _reason_of(error: Exception) -> str:
    """Return what delta-rs says, a tree of lines in colours, as one line."""
    return " ".join(_COLOUR_OR_BRANCH.sub("", str(error)).split())[:_LONGEST_REASON]


class _TableFile(NamedTuple):
    """One file of the table: its path in the lake's folder, its bytes, and its partition."""

    path: str
    size: int
    partition: dict[str, str | None]


def _files_by_segment(table: DeltaTable) -> dict[str, list[_TableFile]]:
    files: dict[str, list[_TableFile]] = {}
    for action in pa.table(table.get_add_actions(flatten=True)).to_pylist():
        partition = {name: str(action[f"partition.{name}"]) for name in _PARTITIONS}
        files.setdefault(partition["segment"], []).append(
            _TableFile(action["path"], action["size_bytes"], dict(partition))
        )
    return files


def _additions(root: str, segment_id: str) -> Iterator[AddAction]:
    """Yield what adds each file of a segment; an empty one has none."""
    for path in sorted(Path(folder_of(root, segment_id)).glob("date=*/*.parquet")):
        state = path.stat()
        partition = {"segment": segment_id, "date": path.parent.name.partition("=")[2]}
        place, changed_ms = path.relative_to(root).as_posix(), int(state.st_mtime * 1000)
        yield AddAction(place, state.st_size, partition, changed_ms, True, json.dumps(_statistics(path)))


def _statistics(path: Path) -> Document:
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    ranges = {name: [_range_of(group, name) for group in groups] for name in _MEASURED}
    return {
        "numRecords": metadata.num_rows,
        "minValues": {name: min(low for low, _ in limits) for name, limits in ranges.items() if limits},
        "maxValues": {name: max(high for _, high in limits) for name, limits in ranges.items() if limits},
    }


def _range_of(group: pq.RowGroupMetaData, name: str) -> tuple[int, int]:
    columns = [group.column(number) for number in range(group.num_columns)]
    (statistics,) = (column.statistics for column in columns if column.path_in_schema == name)
    return statistics.min, statistics.max


def _nullable(column: pa.Field) -> pa.Field:
    """Return a column that may be null, and so may the entries of its lists: as readers find it in Parquet files."""
    kind = pa.list_(column.type.value_type) if pa.types.is_list(column.type) else column.type
    return pa.field(column.name, kind)


_SCHEMA = pa.schema(
    [*map(_nullable, to_arrow_schema(EVENTS)), pa.field("segment", pa.string()), pa.field("date", pa.date32())]
)
