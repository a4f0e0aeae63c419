"""Backup of a SQLite store: SQLite's online backup of one snapshot, while others write.

The copying connection holds a read transaction open, so that writers neither block nor restart it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tocsin.errors import Conflict, StoreDamaged
from tocsin.store.upkeep.backup.manifest import ReportProgress

FILE = "store.db"
"""The database's name in a backup."""

_PAGES_AT_ONCE = 1_000
_IN_USE_S = 2.0
_USED = ("change_event", "entity")


def copy_out(store: Path, target: Path, report: ReportProgress) -> None:
    """Copy the store as it is at this moment into a new file; raises StoreDamaged where the copy is not sound."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    address = f"{store.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=30)) as source,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM alembic_version").fetchone()  # the snapshot begins with the first read
        size = source.execute("PRAGMA page_size").fetchone()[0]
        source.backup(
            copy,
            pages=_PAGES_AT_ONCE,
            progress=lambda _status, remaining, total: report((total - remaining) * size, total * size),
        )
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a write-ahead log
        if (problem := copy.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise StoreDamaged(f"The store is damaged and cannot be backed up ({problem}). Run: tocsin fsck --deep.")


def check_unused(store: Path) -> None:
    """Raise Conflict while any process has the store open; the write-ahead log is merged into the file then."""
    if not store.is_file() or not store.stat().st_size:
        return
    try:
        with closing(sqlite3.connect(store, isolation_level=None, timeout=_IN_USE_S)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        raise Conflict(f"Another process uses the store {store}. Stop server, pipeline and worker first.") from error
    except sqlite3.DatabaseError:
        return  # it cannot be read: nobody works with it


def has_rows(store: Path) -> bool:
    """Return whether the file holds a store that was used; one that cannot be read may have been."""
    if not store.is_file() or not store.stat().st_size:
        return False
    with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            return any(connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in _USED)  # noqa: S608
        except sqlite3.DatabaseError as error:
            return "no such table" not in str(error)


def put_in_place(copy: Path, store: Path, stamp: str) -> Path | None:
    """Replace the store atomically by a copy; return the path of the previous store, if there was one."""
    previous: Path | None = None
    if store.exists() and store.stat().st_size:
        previous = store.with_name(f"{store.name}.before-{stamp}")
        os.link(store, previous)
    for journal in ("-wal", "-shm", "-journal"):
        store.with_name(store.name + journal).unlink(missing_ok=True)
    copy.replace(store)
    return previous
