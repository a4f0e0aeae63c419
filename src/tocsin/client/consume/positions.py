"""Positions of consumers in files: how far a consumer has read the log of one server.

A lock of the kernel keeps a position for one process; it ends with that process, however that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tocsin.errors import Conflict, InvalidInput, Unavailable

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def position_path(position: str | Path) -> Path:
    """Return the file of a position: of a name in the folder for such files, or the path itself.

    Raises
    ------
    InvalidInput : the name has other characters than letters, digits, ``.``, ``_`` and ``-``
    """
    if isinstance(position, Path):
        return position
    if not _NAME.fullmatch(position):
        raise InvalidInput("position must be of letters, digits, '.', '_' and '-', or a path", field="position")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tocsin" / "positions" / f"{position}.json"


@dataclass
class PositionFile:
    """The position of one consumer in the log of ``server``."""

    path: Path
    server: str
    _lock: TextIO | None = field(default=None, repr=False)

    def open(self) -> int | None:
        """Keep the position for this process and return its offset; None where there is none yet.

        Raises
        ------
        Conflict : another consumer has it
        InvalidInput : the file is no position, or that of another server, or cannot be used
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._take_lock()
            return self._read()
        except OSError as error:
            self.close()
            raise InvalidInput(f"Position {self.path} cannot be used: {error.strerror or error}.") from error
        except BaseException:
            self.close()
            raise

    def write(self, offset: int) -> None:
        """Store the offset; after a crash the file has this one or the one before.

        Raises
        ------
        Unavailable : the file cannot be written now, as the disk is full
        """
        new_file = self._beside(".new")
        try:
            with new_file.open("w", encoding="utf-8") as file:
                json.dump({"server": self.server, "offset": offset}, file)
                file.flush()
                os.fsync(file.fileno())
            new_file.replace(self.path)
        except OSError as error:
            raise Unavailable(f"Position {self.path} cannot be stored: {error.strerror or error}.") from error

    def close(self) -> None:
        """Let other consumers have the position."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_lock(self) -> None:
        self._lock = self._beside(".lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(self._conflict()) from None
        with suppress(OSError):  # the disk is full: the lock is what counts
            self._lock.truncate(0)
            self._lock.write(str(os.getpid()))
            self._lock.flush()

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _read(self) -> int | None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            stored_position = json.loads(text)
            server, offset = str(stored_position["server"]), int(stored_position["offset"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{self.path} is no position; delete it to begin anew.") from error
        if server != self.server:
            raise InvalidInput(f"{self.path} is a position in the log of {server}; choose another one.")
        return offset

    def _conflict(self) -> str:
        with suppress(OSError):
            if process := self._beside(".lock").read_text(encoding="utf-8").strip():
                return f"Position {self.path} is in use by process {process}. Stop it, or choose another position."
        return f"Position {self.path} is in use by another consumer. Stop it, or choose another position."
