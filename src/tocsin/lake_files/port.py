"""Access to the files of the lake, wherever it is: what the lake's jobs, backups and erasures need of it.

A segment is a folder ``segment=<id>``; the store decides which segments count (``store/eventlog/lake.py``). Paths are
relative to the lake's root. Next: ``lake_files/folder.py``.
"""

from __future__ import annotations

from typing import BinaryIO, NamedTuple, Protocol

SEGMENT_PREFIX = "segment="
"""What the name of a segment's folder begins with."""


def segment_folder(segment_id: str) -> str:
    """Return the folder of one segment in the lake's root."""
    return f"{SEGMENT_PREFIX}{segment_id}"


class StoredFile(NamedTuple):
    """One file of the lake: its path from the root, its bytes, and when it was changed (epoch milliseconds)."""

    path: str
    size: int
    changed_ms: int


class LakeFiles(Protocol):
    """The files of one lake.

    Each operation raises ``OSError``, or ``Unavailable`` with a way out, where it cannot say what is there.
    """

    def exists(self) -> bool:
        """Return whether the lake's root is there."""

    def segment_ids(self) -> list[str]:
        """Return the ids of all segments that have files here, whether they count or not."""

    def has_segment(self, segment_id: str) -> bool:
        """Return whether a segment has its folder."""

    def is_complete(self, segment_id: str) -> bool:
        """Return whether a segment was written to its end."""

    def files_of(self, segment_id: str) -> list[StoredFile]:
        """Return the files of a segment, in the order of their paths; none if it is missing."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""

    def write(self, path: str, content: BinaryIO) -> None:
        """Write a file for its owner alone, in the place of an earlier one."""

    def remove_segment(self, segment_id: str) -> None:
        """Remove all files of a segment; it may be missing."""
