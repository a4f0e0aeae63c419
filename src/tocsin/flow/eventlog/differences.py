"""Differences of large documents to a snapshot, and their reader, shared by the store and Spark's executors.

A version or event whose text is large is stored as its difference to a snapshot of its entity: a Zstandard frame with
the snapshot as prefix. No difference depends on another one, so every text is read in two steps however old it is.
``store/database/snapshots.py`` writes them, ``store/eventlog/log.py`` and ``spark/sources.py`` read them.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SMALLEST_BYTES = 8 * 1024
"""Bytes from which a text is stored as a difference; smaller ones gain little and are stored as they are."""

CONTENT = "SELECT content FROM document_snapshot WHERE id = {mark}"
"""The compressed snapshot of an id; ``{mark}`` is the driver's parameter."""

_LEVEL = 3
_REMEMBERED_BYTES = 32 * 2**20
_PARAMETER = zstd.CompressionParameter
_CHECKED: dict[int, int] = {_PARAMETER.compression_level: _LEVEL, _PARAMETER.checksum_flag: 1}
_WINDOW = zstd.DecompressionParameter.window_log_max
_ANY_WINDOW: dict[int, int] = {_WINDOW: _WINDOW.bounds()[1]}

DamagedText = zstd.ZstdError
"""Raised for content that is no frame, has another checksum, or has another snapshot than it was made with."""


def compress_snapshot(snapshot: bytes) -> bytes:
    """Return a snapshot as it is stored."""
    return zstd.compress(snapshot, options=_CHECKED)


def decompress_snapshot(content: bytes) -> bytes:
    """Return the snapshot that is stored so; raises DamagedText if none is."""
    return zstd.decompress(content)


def difference(text: bytes, snapshot: bytes) -> bytes:
    """Return what turns the snapshot into the text, byte for byte."""
    window: dict[int, int] = {
        _PARAMETER.window_log: (len(text) + len(snapshot)).bit_length(),
        _PARAMETER.enable_long_distance_matching: 1,
    }
    return zstd.compress(text, options=_CHECKED | window, zstd_dict=_prefix(snapshot))


def apply_difference(change: bytes, snapshot: bytes) -> bytes:
    """Return the text that ``difference`` was made of.

    Raises
    ------
    DamagedText : the difference or the snapshot is not what was stored
    """
    return zstd.decompress(change, zstd_dict=_prefix(snapshot), options=_ANY_WINDOW)


def _prefix(snapshot: bytes) -> tuple[zstd.ZstdDict, int]:
    return zstd.ZstdDict(snapshot, is_raw=True).as_prefix


class TextReader:
    """Reads texts from their columns; keeps the snapshots it used last, up to 32 MiB.

    ``content_of`` looks up the compressed snapshot of an id: None where there is none.
    """

    def __init__(self, content_of: Callable[[int], bytes | None]) -> None:
        self._content_of = content_of
        self._snapshots: OrderedDict[int, bytes] = OrderedDict()

    def text(self, plain: str, snapshot_id: int | None, change: bytes | None) -> str:
        """Return the text that is stored as it is or, where there is a snapshot, as its difference to that.

        Raises
        ------
        DamagedText : the difference or its snapshot is not what was stored
        LookupError : there is no such snapshot
        """
        if snapshot_id is None:
            return plain
        return apply_difference(change or b"", self._snapshot(snapshot_id)).decode()

    def _snapshot(self, snapshot_id: int) -> bytes:
        snapshot = self._snapshots.pop(snapshot_id, None)
        if snapshot is None:
            content = self._content_of(snapshot_id)
            if content is None:
                raise LookupError(f"there is no snapshot {snapshot_id}")
            snapshot = decompress_snapshot(content)
        self._snapshots[snapshot_id] = snapshot
        while len(self._snapshots) > 1 and sum(map(len, self._snapshots.values())) > _REMEMBERED_BYTES:
            self._snapshots.popitem(last=False)
        return snapshot
