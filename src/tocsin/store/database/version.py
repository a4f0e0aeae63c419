"""Version of a SQLite store: a number that changes with each commit, and costs a hundredth of a query.

Who looks often for what is seldom there asks for it first. *Source:* SQLite, "PRAGMA data_version": it is that of one
connection, and changes with the commits of all others, so this connection never writes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable

from sqlalchemy import Engine, event

_OPTION = "tocsin_version"


class _Version:
    def __init__(self, path: str) -> None:
        self._path, self._lock = path, threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def number(self) -> int | None:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = sqlite3.connect(self._path, timeout=0, check_same_thread=False)
                return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
            except sqlite3.Error:  # the query that follows says what is wrong
                return None

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def keep_version(engine: Engine) -> None:
    """Let ``store_version`` answer for a SQLite store, until its engine is disposed of."""
    if engine.url.database:
        version = _Version(engine.url.database)
        engine.update_execution_options(**{_OPTION: version})
        event.listen(engine, "engine_disposed", lambda _engine: version.close())


def store_version(engine: Engine) -> int | None:
    """Return a number that changes with each commit to the store; None where it has none, as on PostgreSQL."""
    version = engine.get_execution_options().get(_OPTION)
    return version.number() if isinstance(version, _Version) else None


class SeldomRows:
    """Rows that are seldom there; while nothing is committed to the store, they are not looked for again.

    Parameters
    ----------
    is_there : asks the store
    """

    def __init__(self, engine: Engine, is_there: Callable[[], bool]) -> None:
        self._engine, self._is_there = engine, is_there
        self._empty_at: int | None = None

    def are_there(self) -> bool:
        """Return whether the store has any."""
        version = store_version(self._engine)
        if version is not None and version == self._empty_at:
            return False
        are_there = self._is_there()
        self._empty_at = None if are_there else version
        return are_there

    def are_known_to_be_missing(self) -> bool:
        """Return whether there are none, for all that one knows without a query."""
        return self._empty_at is not None and store_version(self._engine) == self._empty_at
