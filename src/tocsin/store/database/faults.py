"""Classification of store and disk faults by message: transient or not, and the remedy for each.

Drivers report the same fault in many exception classes, and faults inside Spark arrive as text alone; so both are
matched as text. Next: ``server/http/errors.py`` and ``jobs/supervision.py``, which use it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tocsin.errors import StoreDamaged, TocsinError, Unavailable


@dataclass(frozen=True)
class Fault:
    """A fault of the store, the disk or another dependency of Tocsin.

    ``passes`` says whether it may end without anybody changing a setting or a file; ``sentence`` describes it with the
    remedy.
    """

    name: str
    sentence: str
    passes: bool = True


_DAMAGED = Fault(
    "store_damaged",
    "The database file is damaged. Run `tocsin fsck` to see the damage, and restore the last backup.",
    passes=False,
)
_NO_RIGHT = Fault(
    "no_right",
    "Tocsin lacks read or write permission. Start it as the user that owns its folder.",
    passes=False,
)
_NO_FOLDER = Fault(
    "no_folder",
    "A file exists where Tocsin's folder should be. Move it, or choose another folder with TOCSIN_DATA_DIR.",
    passes=False,
)
_REFUSED = Fault(
    "store_refuses",
    "The database rejects the log-in. Check name, password and database in TOCSIN_DATABASE_URL.",
    passes=False,
)
_FULL = Fault("disk_full", "The disk is full. Free some space; nothing was stored.")
_READ_ONLY = Fault("read_only", "The store or its folder is read-only. Make it writable; nothing was stored.")
BUSY = Fault("store_busy", "The store was blocked by other processes for too long. Try again.")
_MACHINE = Fault(
    "machine_busy", "This machine is too busy: a Python process of Spark did not start within ten seconds."
)
_DISK = Fault("disk_fails", "The disk fails to read or write; it may be full or defective.")
_UNOPENED = Fault("store_unopened", "The database file cannot be opened: its folder is missing, full or read-only.")
UNKNOWN = Fault("store_unknown", "The host in TOCSIN_DATABASE_URL cannot be resolved. Correct the URL or the DNS.")
AWAY = Fault("store_away", "The store does not respond. Retrying until it does; start it if it is stopped.")

_SIGNS: tuple[tuple[Fault, str], ...] = (
    (_DAMAGED, r"database disk image is malformed|file is not a database|invalid page in block|SQLSTATE XX00[12]"),
    (_NO_FOLDER, r"\[Errno (17|20|21)\]"),
    (_NO_RIGHT, r"\[Errno 13\]|\[Errno 1\]"),
    (
        _REFUSED,
        r"password authentication failed|no pg_hba.conf entry|role .* does not exist|database .* does not exist"
        r"|no password supplied|SQLSTATE 42501",
    ),
    (
        _FULL,
        r"no space left on device|disk quota exceeded|database or disk is full|SQLSTATE 53100|could not extend file"
        r"|file too large|File size limit exceeded",
    ),
    (_READ_ONLY, r"read-only file system|readonly database|read-only transaction|SQLSTATE 25006"),
    (
        BUSY,
        r"database is locked|database table is locked|SQLSTATE (55P03|40P01|40001|57014)|QueuePool limit"
        r"|other writers blocked the store|holds the write lock|another program locked the database file",
    ),
    (_MACHINE, r"Python worker failed to connect back|CANNOT_OPEN_SOCKET"),
    (_DISK, r"disk I/O error|input/output error|SQLSTATE 58030"),
    (_UNOPENED, r"unable to open database file"),
    (
        UNKNOWN,
        r"Name or service not known|nodename nor servname provided|No address associated with hostname",
    ),
    (
        AWAY,
        r"connection refused|connection timeout|server closed the connection|terminating connection|connection failed"
        r"|the database system is |connection is (closed|lost)|SSL SYSCALL|could not (receive|send) data|"
        r"could not translate host name|failed to resolve host|consuming input failed"
        r"|sending query failed|connection reset by peer|broken pipe|no route to host|network is unreachable"
        r"|SQLSTATE (08\w{3}|57P0\w|53[23]00)|too many (clients|connections)|remaining connection slots"
        r"|the store could not commit|psycopg\.OperationalError|psycopg\.errors\.(AdminShutdown|CrashShutdown)",
    ),
)
_RETRY_AFTER_S = 5
_PATTERNS = tuple((fault, re.compile(signs, re.IGNORECASE)) for fault, signs in _SIGNS)


def sentence_of(name: str) -> str:
    """Return what a fault of this name is, and the remedy; the name itself for one of another version."""
    return next((fault.sentence for fault, _ in _SIGNS if fault.name == name), f"{name}.")


def fault_in(text: str) -> Fault | None:
    """Return the fault that an error message describes; None where it describes none."""
    return next((fault for fault, signs in _PATTERNS if signs.search(text)), None)


def fault_of(error: BaseException) -> Fault | None:
    """Return the fault of the store or the disk behind an exception; None where there is none."""
    cause: BaseException | None = error
    while cause is not None:
        if _speaks_of_faults(cause) and (fault := fault_in(_words(cause))) is not None:
            return fault
        cause = cause.__cause__ or cause.__context__
    return None


def failure_for(error: BaseException) -> TocsinError | None:
    """Return the failure that an exception of the store or the disk is for people; None for any other exception."""
    fault = fault_of(error)
    if fault is None:
        return None
    if fault is _DAMAGED:
        return StoreDamaged(fault.sentence)
    return Unavailable(fault.sentence, retry_after_s=_RETRY_AFTER_S if fault.passes else None)


def failure_with_cause(error: Exception) -> TocsinError | None:
    """Return the failure as ``failure_for`` does, with the driver's first line: for commands and their processes."""
    failure = failure_for(error)
    if failure is not None:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
        failure.message = f"{failure.message} ({cause[0]})"
    return failure


def _speaks_of_faults(error: BaseException) -> bool:
    """Return whether an exception comes from a driver or the system: what others say may quote anybody."""
    origins = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return isinstance(error, OSError | Unavailable) or bool(origins & {"sqlalchemy", "sqlite3", "psycopg"})


def _words(error: BaseException) -> str:
    """Return what a driver said, without the statement, and its SQLSTATE."""
    cause = getattr(error, "orig", None) or error
    kind = type(cause)
    state = getattr(cause, "sqlstate", None)
    return f"{kind.__module__}.{kind.__qualname__}: {cause}" + (f" SQLSTATE {state}" if state else "")
