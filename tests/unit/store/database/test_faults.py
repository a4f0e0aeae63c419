"""Tests of the classification of faults by message, for every driver."""

from __future__ import annotations

import errno
import sqlite3

import pytest
from sqlalchemy.exc import IntegrityError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tocsin.errors import StoreDamaged, Unavailable
from tocsin.store.database.faults import failure_for, fault_in, fault_of


class ReadOnlySqlTransaction(Exception):
    """As psycopg has it."""

    sqlstate = "25006"


def of_driver(error: Exception) -> OperationalError:
    return OperationalError("INSERT INTO t VALUES ('password authentication failed')", None, error)


@pytest.mark.parametrize(
    ("error", "name", "passes"),
    [
        (of_driver(sqlite3.OperationalError("disk I/O error")), "disk_fails", True),
        (of_driver(sqlite3.OperationalError("attempt to write a readonly database")), "read_only", True),
        (of_driver(sqlite3.OperationalError("database or disk is full")), "disk_full", True),
        (of_driver(sqlite3.OperationalError("database is locked")), "store_busy", True),
        (of_driver(sqlite3.OperationalError("unable to open database file")), "store_unopened", True),
        (sqlite3.DatabaseError("file is not a database"), "store_damaged", False),
        (sqlite3.DatabaseError("database disk image is malformed"), "store_damaged", False),
        (InternalError("UPDATE", None, ReadOnlySqlTransaction("cannot execute UPDATE")), "read_only", True),
        (of_driver(Exception("connection failed: Connection refused")), "store_away", True),
        (of_driver(Exception("FATAL:  terminating connection due to administrator command")), "store_away", True),
        (of_driver(Exception("FATAL:  the database system is starting up")), "store_away", True),
        (of_driver(Exception('FATAL:  password authentication failed for user "x"')), "store_refuses", False),
        (PoolTimeout("QueuePool limit of size 4 overflow 4 reached, connection timed out"), "store_busy", True),
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full", True),
        (OSError(errno.EROFS, "Read-only file system"), "read_only", True),
        (FileExistsError(errno.EEXIST, "File exists", "data"), "no_folder", False),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "data"), "no_folder", False),
        (PermissionError(errno.EACCES, "Permission denied"), "no_right", False),
    ],
)
def test_each_fault_has_its_name(error: Exception, name: str, *, passes: bool) -> None:
    fault = fault_of(error)
    assert fault is not None
    assert (fault.name, fault.passes) == (name, passes)
    failure = failure_for(error)
    assert isinstance(failure, StoreDamaged if name == "store_damaged" else Unavailable)
    assert bool(getattr(failure, "retry_after_s", None)) == passes


@pytest.mark.parametrize(
    "error",
    [
        KeyError("connection refused"),
        ValueError("database is locked"),
        IntegrityError("INSERT", None, sqlite3.IntegrityError("UNIQUE constraint failed: person.email")),
        of_driver(sqlite3.OperationalError("no such table: person")),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
    ],
)
def test_what_is_our_own_fault_stays_so(error: Exception) -> None:
    assert fault_of(error) is None


def test_the_cause_is_looked_for_behind_what_was_raised() -> None:
    try:
        try:
            raise sqlite3.OperationalError("database or disk is full")
        except sqlite3.OperationalError as error:
            raise RuntimeError("could not keep this") from error
    except RuntimeError as error:
        assert failure_for(error) is not None


def test_what_fails_inside_spark_is_known_by_its_words() -> None:
    text = (
        "[STREAM_FAILED] Query [id = x] terminated with exception: [PYTHON_DATA_SOURCE_ERROR] Failed when Python data "
        "source instance latestOffset: Traceback (most recent call last):\n  File x\npsycopg.OperationalError: "
        'connection failed: connection to server at "127.0.0.1", port 1 failed: Connection refused'
    )
    fault = fault_in(text)
    assert fault is not None
    assert fault.name == "store_away"


def test_a_machine_that_is_too_busy_for_spark_is_no_bug() -> None:
    fault = fault_in("[STREAM_FAILED] Query terminated with exception: Python worker failed to connect back.")
    assert fault is not None
    assert (fault.name, fault.passes) == ("machine_busy", True)
