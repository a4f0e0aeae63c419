"""Descriptions of the lake's Parquet files, by what Parquet wrote at their end."""

from __future__ import annotations

import pyarrow.parquet as pq

from tocsin.lake_files.port import SegmentFile

_MEASURED = ("log_offset", "timestamp_ms")


def description_of(path: str, size: int, metadata: pq.FileMetaData) -> SegmentFile:
    """Return what a list says of a file."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    offsets, times = ([_range_of(group, name) for group in groups] for name in _MEASURED)
    return SegmentFile(
        path,
        size,
        metadata.num_rows,
        len(groups),
        first_ms=min(low for low, _ in times),
        last_ms=max(high for _, high in times),
        first_offset=min(low for low, _ in offsets),
        last_offset=max(high for _, high in offsets),
    )


def _range_of(group: pq.RowGroupMetaData, name: str) -> tuple[int, int]:
    columns = [group.column(number) for number in range(group.num_columns)]
    (statistics,) = (column.statistics for column in columns if column.path_in_schema == name)
    return statistics.min, statistics.max
