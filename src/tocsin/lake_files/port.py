"""Access to the files of the lake, wherever it is: what the lake's jobs, backups and erasures need of it.

A segment is a folder ``segment=<id>``; the store decides which segments count (``store/eventlog/lake.py``). Paths are
relative to the lake's root. Next: ``lake_files/folder.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, BinaryIO, NamedTuple, Protocol

SEGMENT_PREFIX = "segment="
"""What the name of a segment's folder begins with."""
PARQUET = ".parquet"
"""What the name of each file of events ends with."""


def segment_folder(segment_id: str) -> str:
    """Return the folder of one segment in the lake's root."""
    return f"{SEGMENT_PREFIX}{segment_id}"


@dataclass(frozen=True)
class S3Access:
    """How a bucket is reached; without a key, as the machine's own account.

    ``endpoint`` is the address of a server that is not Amazon's, ``https://host:port``.
    """

    endpoint: str | None = None
    region: str | None = None
    key_id: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    ca_file: str | None = None


class StoredFile(NamedTuple):
    """One file of the lake: its path from the root, its bytes, and when it was changed (epoch milliseconds)."""

    path: str
    size: int
    changed_ms: int


@dataclass(frozen=True)
class SegmentFile:
    """One Parquet file of a segment: where it is, its size, and the ranges that readers leave it out by."""

    path: str
    size: int
    row_count: int
    group_count: int
    first_ms: int
    last_ms: int
    first_offset: int
    last_offset: int

    @property
    def date(self) -> str:
        """Return the day of its events, as its folder says."""
        return PurePosixPath(self.path).parent.name.partition("=")[2]


class LakeFiles(Protocol):
    """The files of one lake.

    Each operation raises ``OSError``, or ``Unavailable`` with a way out, where it cannot say what is there.
    """

    def open_root(self, *, is_expected: bool) -> None:
        """Make the lake's root ready; raises ``Unavailable`` if it is missing although a lake ``is_expected``."""

    def segment_ids(self) -> list[str]:
        """Return the ids of all segments that have files here, whether they count or not."""

    def is_complete(self, segment_id: str) -> bool:
        """Return whether a segment was written to its end."""

    def files_of(self, segment_id: str) -> list[StoredFile]:
        """Return the Parquet files of a segment, in the order of their paths; none if it is missing."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""

    def write(self, path: str, content: BinaryIO) -> None:
        """Write a file for its owner alone, in the place of an earlier one."""

    def create(self, path: str) -> Any:  # Any: a stream of Python's or Arrow's
        """Open a new file for writing; it is no part of its segment before ``list_files`` names it."""

    def list_files(self, segment_id: str, files: Sequence[SegmentFile]) -> None:
        """Make a segment of files that were created for it: it is complete then."""

    def failing_clearly(self) -> AbstractContextManager[None]:
        """Turn an ``OSError`` in the block into ``Unavailable``."""

    def finish(self, segment_id: str) -> None:
        """Note that a segment whose files were copied here is complete."""

    def remove_segment(self, segment_id: str) -> None:
        """Remove all files of a segment; it may be missing."""

    def remove_strays(self, segment_id: str) -> None:
        """Remove the files of a complete segment that are no part of it."""
