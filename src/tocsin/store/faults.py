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
    "The store's file is damaged. Run `tocsin fsck` to see what is, and bring back the last backup.",
    passes=False,
)
_NO_RIGHT = Fault(
    "no_right",
    "Tocsin may not read or write what it needs. Start it as the user that owns its folder.",
    passes=False,
)
_NO_FOLDER = Fault(
    "no_folder",
    "Something else stands where Tocsin's folder should be. Move it away, or name another with TOCSIN_DATA_DIR.",
    passes=False,
)
_REFUSED = Fault(
    "store_refuses",
    "The store does not let Tocsin in: check name, password and database in TOCSIN_DATABASE_URL.",
    passes=False,
)
_FULL = Fault("disk_full", "There is no space left on the disk. Make room; nothing of this was kept.")
_READ_ONLY = Fault("read_only", "The store or its folder is read-only for Tocsin. Make it writable; nothing was kept.")
BUSY = Fault("store_busy", "Others kept the store from answering for too long. Try again.")
_MACHINE = Fault(
    "machine_busy", "This machine is too busy: a Python process that Spark started did not come up within ten seconds."
)
_DISK = Fault("disk_fails", "The disk does not read or write: there may be no space left on it, or it is at fault.")
_UNOPENED = Fault(
    "store_unopened", "The store's file cannot be opened: its folder is missing, full, or read-only for Tocsin."
)
UNKNOWN = Fault(
    "store_unknown", "Nobody knows the host that TOCSIN_DATABASE_URL names. Mend the address, or the network's names."
)
AWAY = Fault(
    "store_away", "The store does not answer. It is tried again as long as it takes; start it if it is stopped."
)

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
        r"|others had the store's write turn|keeps all others from writing|kept the store's file locked",
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
        r"|the store could not commit this|psycopg\.OperationalError|psycopg\.errors\.(AdminShutdown|CrashShutdown)",
    ),
)
_RETRY_AFTER_S = 5
_PATTERNS = tuple((fault, re.compile(signs, re.IGNORECASE)) for fault, signs in _SIGNS)


def fault_in(text: str) -> Fault | None:
    """Return the fault that an error message describes; None where it describes none."""
    return next((fault for fault, signs in _PATTERNS if signs.search(text)), None)


def fault_of(error: BaseException) -> Fault | None:
    """Return the fault of the store or the disk behind an exception; None where there is none."""
    seen: BaseException | None = error
    while seen is not None:
        if _speaks_of_faults(seen) and (fault := fault_in(_words(seen))) is not None:
            return fault
        seen = seen.__cause__ or seen.__context__
    return None


def named(error: BaseException) -> TocsinError | None:
    """Return the failure that an exception of the store or the disk is for people; None for any other exception."""
    fault = fault_of(error)
    if fault is None:
        return None
    if fault is _DAMAGED:
        return StoreDamaged(fault.sentence)
    return Unavailable(fault.sentence, retry_after_s=_RETRY_AFTER_S if fault.passes else None)


def _speaks_of_faults(error: BaseException) -> bool:
    """Say whether an exception comes from a driver or the system: what others say may quote anybody."""
    origins = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return isinstance(error, OSError | Unavailable) or bool(origins & {"sqlalchemy", "sqlite3", "psycopg"})


def _words(error: BaseException) -> str:
    """Return what a driver said, without the statement, and its SQLSTATE."""
    told = getattr(error, "orig", None) or error
    kind = type(told)
    state = getattr(told, "sqlstate", None)
    return f"{kind.__module__}.{kind.__qualname__}: {told}" + (f" SQLSTATE {state}" if state else "")
