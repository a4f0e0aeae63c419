"""Checkpoint folder of one streaming query: damage check, progress, and replacement.

A query whose checkpoint was set aside makes a new one and starts after the offset that the store records as processed
(``jobs/query_progress.py``); repeated writes have no effect, because ids are deterministic. Spark writes each file
under a temporary name, renames it and adds a checksum, so a damaged file was truncated or changed on disk.

Sources: Hadoop's ``ChecksumFileSystem`` (``.NAME.crc``), Spark's ``OffsetSeqLog`` and ``CommitLog`` (a line with the
version, then JSON line by line).
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import structlog

from tocsin.clock import Clock, to_datetime
from tocsin.flow.eventlog.position import LogPosition
from tocsin.spark.sources import OffsetRange

_OFFSETS, _COMMITS, _METADATA = "offsets", "commits", "metadata"
_CRC_MAGIC = b"crc\0"
_CRC_HEADER = len(_CRC_MAGIC) + 4
_CRC_SIZE = 4
_ASIDE = ".damaged-"
_SIGNS = (
    "ChecksumException",
    "Checksum error",
    "Incomplete log file",
    "Malformed log file",
    "STREAMING_CHECKPOINT",
    "CANNOT_LOAD_STATE_STORE",
    "MISSING_STATE_FILE",
    "INVALID_CHANGE_LOG",
    "STATE_STORE_CHECKPOINT",
    "Log file was malformed",
    "Error reading delta file",
    "Error reading streaming state file",
    "LogDiverged",
)
"""How Spark says that it cannot read its own checkpoint, and we, that it is of another log."""

_LOG = structlog.get_logger(__name__)


def damage(checkpoint: Path) -> str | None:
    """Return which file of a checkpoint is damaged and how, in a sentence; None of one that is sound or not there."""
    return next(_damages(checkpoint), None)


def is_damage(reason: str) -> bool:
    """Return whether a query's failure, in Spark's words, is about files of its checkpoint."""
    return any(sign in reason for sign in _SIGNS)


def read_committed_position(checkpoint: Path) -> LogPosition | None:
    """Return how far in the log the query has committed its micro-batches; None before the first one."""
    last = max(_numbers(checkpoint / _COMMITS), default=None)
    if last is None:
        return None
    return _planned_end(checkpoint, last)


class PlannedRanges:
    """The parts of the log that the micro-batches of one run of a query read, as Spark noted them before.

    Each begins where this run saw the one before it end: what becomes of older files meanwhile changes nothing.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._ends: dict[int, LogPosition] = {}

    def range_of(self, batch_id: int) -> OffsetRange | None:
        """Return what a micro-batch reads; None if it is unknown, as of a query's first one."""
        start = self._ends.get(batch_id - 1) or _planned_end(self._checkpoint, batch_id - 1)
        end = _planned_end(self._checkpoint, batch_id)
        self._ends = {} if end is None else {batch_id: end}
        return None if start is None or end is None else OffsetRange(start.offset, end.offset)


def _planned_end(checkpoint: Path, batch_id: int) -> LogPosition | None:
    """Return how far a micro-batch reads; None if it is unknown."""
    try:
        lines = (checkpoint / _OFFSETS / str(batch_id)).read_text().splitlines()
        return LogPosition.of_json(json.loads(lines[-1]))
    except (OSError, ValueError, IndexError, KeyError):  # damaged
        return None


def set_aside_if_damaged(checkpoint: Path, clock: Clock) -> None:
    """Set a damaged checkpoint aside, so that its query begins anew where the store knows how far it was."""
    reason = damage(checkpoint)
    if reason is not None:
        set_aside(checkpoint, reason, clock)


def set_aside(checkpoint: Path, reason: str, clock: Clock) -> Path:
    """Move a checkpoint out of its query's way, log ``reason``, and return its new path; an earlier one is deleted."""
    for earlier_folder in checkpoint.parent.glob(f"{checkpoint.name}{_ASIDE}*"):
        shutil.rmtree(earlier_folder, ignore_errors=True)
    stamp = to_datetime(clock.now_ms()).strftime("%Y%m%dT%H%M%S%fZ")
    aside = checkpoint.with_name(f"{checkpoint.name}{_ASIDE}{stamp}")
    checkpoint.rename(aside)
    _LOG.warning(
        "checkpoint_set_aside",
        checkpoint=str(checkpoint),
        reason=reason,
        kept_in=str(aside),
        then="the query restarts after the last notified event in the store",
    )
    return aside


def _damages(checkpoint: Path) -> Iterator[str]:
    yield from _logs_damages(checkpoint)
    for crc in sorted(checkpoint.rglob(".*.crc")):
        file = crc.with_name(crc.name[1 : -len(".crc")])
        if file.is_file() and not _agrees(file.read_bytes(), crc.read_bytes()):
            yield f"{file} is damaged: its checksum is wrong"


def _logs_damages(checkpoint: Path) -> Iterator[str]:
    offsets, commits = (sorted(_numbers(checkpoint / name)) for name in (_OFFSETS, _COMMITS))
    if commits and (not offsets or offsets[-1] < commits[-1]):
        yield f"{checkpoint / _OFFSETS / str(commits[-1])} is missing, but {_COMMITS} has it"
    if offsets and not (checkpoint / _METADATA).is_file():
        yield f"{checkpoint / _METADATA} is missing"
    if (checkpoint / _METADATA).is_file() and not _is_json((checkpoint / _METADATA).read_text(errors="replace")):
        yield f"{checkpoint / _METADATA} is truncated: it is not JSON"
    for name, numbers in ((_OFFSETS, offsets), (_COMMITS, commits)):
        for file in (checkpoint / name / str(number) for number in numbers):
            version, *lines = file.read_text(errors="replace").splitlines() or [""]
            if not version.startswith("v") or not lines or not all(map(_is_json, lines)):
                yield f"{file} is truncated"


def _numbers(folder: Path) -> list[int]:
    return [int(file.name) for file in folder.glob("*") if file.name.isdigit()] if folder.is_dir() else []


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _agrees(content: bytes, crc: bytes) -> bool:
    """Return whether a file matches its checksums, or the file of checksums has no header and proves nothing."""
    if len(crc) < _CRC_HEADER or not crc.startswith(_CRC_MAGIC):
        return True
    step = int.from_bytes(crc[len(_CRC_MAGIC) : _CRC_HEADER], "big")
    sums = [zlib.crc32(content[start : start + step]) for start in range(0, len(content), step)]
    return b"".join(one.to_bytes(_CRC_SIZE, "big") for one in sums) == crc[_CRC_HEADER:]
