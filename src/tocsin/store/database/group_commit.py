"""Write queue of a SQLite store inside one process, with group commit.

SQLite has one writer at a time, and a commit waits for the disk. So a writer that finds others waiting leaves the
transaction open for them, and the last one commits; no writer returns before that commit. A failed write is undone
by itself (a savepoint). The committer also checkpoints the write-ahead log when it is due: SQLite alone does as much of
it as readers allow, and restarts the log only in a moment without readers.
``store/database/writer_lock.py`` is the queue between processes. Next: ``store/database/engine.py``.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from tocsin.errors import Unavailable
from tocsin.store.database.writer_lock import WriterQueue

_READERS_END_WITHIN_S = 0.1


@dataclass(frozen=True)
class WriterLimits:
    """How the writers of one process share a SQLite store.

    Attributes
    ----------
    patience_s : how long a writer waits for its turn, then gets ``Unavailable``
    cache_mib : pages kept; what a transaction changes beyond that is written more than once
    turn_count : turns in one transaction
    open_s : how long a transaction is left open for further turns
    log_bytes : how large the write-ahead log becomes before it is brought into the store's file, ...
    log_age_s : ... and for how long, at most, it is not while writes go on
    checkpoint_pause_s : how long nobody tries again after readers prevented that
    """

    patience_s: float = 30.0
    cache_mib: int = 16
    turn_count: int = 64
    open_s: float = 0.02
    log_bytes: int = 32 * 2**20
    log_age_s: float = 60.0
    checkpoint_pause_s: float = 1.0


WRITER_LIMITS = WriterLimits()
"""Those of processes that answer requests."""

PATIENT = WriterLimits(patience_s=float("inf"))
"""Those of who has nobody waiting for an answer, and would only begin again."""


class Turns:
    """The turns of one process at writing one store; its threads share it."""

    def __init__(self, engine: Engine, limits: WriterLimits) -> None:
        self._engine, self._limits = engine, limits
        self._writer_queue = WriterQueue(engine.url.database)
        self._log = Path(f"{engine.url.database}-wal")
        self._checkpointed_s = time.monotonic()
        self._checkpoint_not_before_s = 0.0
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._transaction: _Transaction | None = None
        self._connection: Connection | None = None

    @property
    def waiting_count(self) -> int:
        """How many threads wait for their turn."""
        return self._waiting

    @contextmanager
    def take_turn(self) -> Iterator[Connection]:
        """Wait for a turn and yield the connection; afterwards the writes are committed, or undone on an error.

        An error, too, is raised only then: it may be about another turn's writes, which nobody else sees before.

        Raises
        ------
        Unavailable : the turn did not come before the timeout, or the writes could not be committed
        """
        transaction = self._begin()
        try:
            with transaction.turn():
                yield transaction.connection
        finally:
            self._end(transaction)
            transaction.wait()
        transaction.check()

    def _begin(self) -> _Transaction:
        until_s = time.monotonic() + self._limits.patience_s
        with self._counting:
            self._waiting += 1
        is_mine = self._turn.acquire(timeout=min(self._limits.patience_s, threading.TIMEOUT_MAX))
        with self._counting:
            self._waiting -= 1
        if not is_mine:
            raise Unavailable(
                f"Nothing was written: other writers blocked the store for {self._limits.patience_s:.0f} s. Try again;"
                " see this server's log for slow writes."
            )
        try:
            if self._transaction is None:
                if self._connection is None or self._connection.closed:
                    self._connection = self._open_connection()
                self._writer_queue.enter(until_s)
                self._transaction = _Transaction(self._connection, self._limits)
        except BaseException:
            self._writer_queue.leave()
            self._turn.release()
            raise
        return self._transaction

    def _end(self, transaction: _Transaction) -> None:
        """Commit, unless a waiting writer may continue the same transaction."""
        try:
            if not self.waiting_count or transaction.is_full():
                self._transaction = None
                try:
                    transaction.commit()
                    self._checkpoint_if_due(transaction.connection)
                finally:
                    self._writer_queue.leave()
        finally:
            self._turn.release()

    def _checkpoint_if_due(self, connection: Connection) -> None:
        """Copy the write-ahead log to the store's file and restart it, while nobody can write.

        Readers of an earlier state are waited for, briefly; later ones read the file and do not interfere.
        So readers that overlap without end delay it by no more than the longest of them takes.
        """
        now_s = time.monotonic()
        if connection.closed or now_s < self._checkpoint_not_before_s or not self._is_checkpoint_due(now_s):
            return
        driver: Any = connection.connection.dbapi_connection  # Any: the driver's own connection
        try:
            driver.execute(f"PRAGMA busy_timeout={round(_READERS_END_WITHIN_S * 1000)}")
            is_busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            driver.execute("PRAGMA busy_timeout=0")
        except sqlite3.Error:  # what was written is kept; the disk is full, say, and the next one tries again
            is_busy = True
        if is_busy:
            self._checkpoint_not_before_s = time.monotonic() + self._limits.checkpoint_pause_s
        else:
            self._checkpointed_s = time.monotonic()

    def _is_checkpoint_due(self, now_s: float) -> bool:
        try:
            return (
                now_s - self._checkpointed_s >= self._limits.log_age_s
                or self._log.stat().st_size >= self._limits.log_bytes
            )
        except OSError:  # a store in memory has no log
            return False

    def close(self) -> None:
        """Close what is kept open between turns; the next turn reopens it."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._writer_queue.close()

    def _open_connection(self) -> Connection:
        """Return a connection for writers only: nobody else writes, so its cache stays valid."""
        connection = self._engine.connect()
        connection.detach()
        connection.exec_driver_sql(f"PRAGMA cache_size=-{self._limits.cache_mib * 1024}")
        connection.exec_driver_sql(
            "PRAGMA busy_timeout=0"
        )  # who is next asks again and again: store/database/engine.py
        connection.rollback()
        connection.execution_options(tocsin_begin="IMMEDIATE")
        return connection


class _Transaction:
    """One transaction on one connection, and those who wait for its commit."""

    def __init__(self, connection: Connection, limits: WriterLimits) -> None:
        self._turns, self._limits = 0, limits
        self._is_broken = self._is_committed = False
        self._over = threading.Event()
        self._started_s = time.monotonic()
        self.connection = connection
        try:
            self._begun = connection.begin()
        except BaseException:
            connection.close()
            raise

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run one writer in a savepoint, so that it succeeds or fails on its own."""
        self._turns += 1
        self._say("SAVEPOINT turn")
        try:
            yield
        except BaseException:
            self._undo()
            raise
        self._say("RELEASE turn")

    def is_full(self) -> bool:
        """Return whether this transaction takes no further turns."""
        waited_s = time.monotonic() - self._started_s
        return self._turns >= self._limits.turn_count or waited_s > self._limits.open_s or self._is_broken

    def commit(self) -> None:
        """Commit, or roll back on an error; all waiting writers get the result."""
        try:
            if self._is_broken:
                self._begun.rollback()
            else:
                self._begun.commit()
                self._is_committed = True
        finally:
            if not self._is_committed:
                self._give_up()
            self._over.set()

    def wait(self) -> None:
        """Return once everything is committed or rolled back."""
        self._over.wait()

    def check(self) -> None:
        """Raise ``Unavailable`` if nothing could be committed."""
        if not self._is_committed:
            raise Unavailable("The store could not commit; nothing was written. Try again.")

    def _undo(self) -> None:
        try:
            self._say("ROLLBACK TO turn")
            self._say("RELEASE turn")
        except sqlite3.Error:  # SQLite has rolled everything back, say because the disk is full
            self._is_broken = True

    def _give_up(self) -> None:
        """Roll back, and close the connection: it may be in any state.

        SQLAlchemy only drops a detached connection that it invalidates. What still refers to it, say a traceback,
        would keep it open, and the store locked.
        """
        driver: Any = self.connection.connection.dbapi_connection  # Any: the driver's own connection
        self.connection.invalidate()
        self.connection.close()
        with suppress(sqlite3.Error):  # SQLite has rolled everything back already
            driver.rollback()
        driver.close()

    def _say(self, statement: str) -> None:
        """Say this to the driver itself: SQLAlchemy takes ten times as long as SQLite, and has nothing to add."""
        driver: Any = self.connection.connection.dbapi_connection  # Any: the driver's own connection
        driver.execute(statement)
