"""File in which the pipeline notes outages while the store accepts no writes.

The file is in the data folder, which a server on the same machine reads, too. Its disk space is allocated at the
start and overwritten in place, which works on a full disk. Next: ``store/eventlog/outages.py``.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

NOTES_FILE = "pipeline.waits"
"""The file in the data folder."""

_ROOM = 4096


class Wait(NamedTuple):
    """What a query waits for, and since when (epoch milliseconds)."""

    fault: str
    since_ms: int


class WaitNotes:
    """The notes in one folder; what cannot be noted or read is passed over."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / NOTES_FILE
        self._writing = threading.Lock()

    def make_room(self) -> None:
        """Make the file, with nothing noted, where there is none of its size."""
        with suppress(OSError):
            if not self._file.is_file() or self._file.stat().st_size < _ROOM:
                self._file.touch(mode=0o600)
                self._file.write_bytes(_pad({}))

    def begin(self, query_name: str, wait: Wait) -> None:
        """Note that a query waits."""
        with self._writing:
            self._write(self.all() | {query_name: wait})

    def end(self, query_name: str) -> None:
        """Note that a query works."""
        with self._writing:
            noted = self.all()
            if noted.pop(query_name, None) is not None:
                self._write(noted)

    def all(self) -> dict[str, Wait]:
        """Return what is noted, by query."""
        try:
            noted = json.loads(self._file.read_text())
            return {str(name): Wait(str(fault), int(since_ms)) for name, (fault, since_ms) in noted.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, noted: dict[str, Wait]) -> None:
        content = _pad(noted)
        with suppress(OSError), self._file.open("r+b", buffering=0) as file:
            if len(content) == _ROOM:
                file.write(content)
                os.fsync(file.fileno())


def _pad(noted: dict[str, Wait]) -> bytes:
    return json.dumps(noted).encode().ljust(_ROOM)
