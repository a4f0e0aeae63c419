"""Engine of the store: one per process, tuned for SQLite or PostgreSQL.

Nothing is opened at import; each process calls ``open_engine`` once. Next: ``store/database/tables.py``.
"""

from __future__ import annotations

import select
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple

from sqlalchemy import Connection, Engine, Row, Select, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, InvalidatePoolError, OperationalError, SQLAlchemyError

from tocsin.errors import InvalidSetting, TocsinError, Unavailable
from tocsin.store.database.group_commit import WRITER_LIMITS, Turns, WriterLimits
from tocsin.store.database.version import keep_version

STORE_FAILURES = (SQLAlchemyError, sqlite3.Error, TocsinError, OSError)
"""What asking the store raises where the store or its disk fails."""

T = TypeVar("T")
Columns = TypeVarTuple("Columns")

_TURNS = "tocsin_turns"
_BUSY_S = 30
_ASK_AGAIN_S = 0.0002
_POSTGRESQL = ("random_page_cost = 1.1", "cpu_tuple_cost = 0.05", "max_parallel_workers_per_gather = 0")
"""How PostgreSQL plans for us. Disks are no longer slow to seek: by default it would rather read and hash a whole table
than look up ten thousand rows by key, which made a search take three times as long. Requests share the cores as it is.
"""
_NO_ANSWER = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How soon PostgreSQL counts as away when nothing comes back, in libpq's words; those in the address win."""
_CACHE_MIB = 16
_CHECKPOINT_PAGES = 8_000  # of 4 KiB: seldom enough that pages written again and again are copied once


def open_engine(
    url: str,
    *,
    synchronous: str = "FULL",
    most_connections: int = 20,
    answers_within_s: float | None = None,
    writers: WriterLimits = WRITER_LIMITS,
) -> Engine:
    """Return an engine for the store at ``url`` (a SQLAlchemy address); the caller disposes of it.

    ``writers`` holds on SQLite. On PostgreSQL at most ``most_connections`` are open at once; a statement without a
    result after ``answers_within_s`` ends its connection; None for no limit.

    Raises
    ------
    InvalidSetting : ``url`` is no address of a store
    """
    if url.startswith("sqlite"):
        return _sqlite(url, synchronous, writers)
    try:
        return _postgresql(url, most_connections, answers_within_s)
    except ArgumentError as error:  # the address may hold a password, so it is not repeated
        raise InvalidSetting(
            "Setting database_url (TOCSIN_DATABASE_URL): must be a database URL such as"
            " postgresql+psycopg://name@db.example.com/tocsin.",
            field="database_url",
        ) from error


def is_sqlite(connection: Connection) -> bool:
    """Return whether the connection is to SQLite."""
    return connection.dialect.name == "sqlite"


def insert_into(connection: Connection, table: Table) -> Any:  # Any: the two dialects' inserts share no type
    """Return an INSERT that can say what happens to a row that is there already."""
    return sqlite.insert(table) if is_sqlite(connection) else postgresql.insert(table)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield a connection inside a write transaction; commit at the end, roll back on an error.

    On SQLite the write lock is taken at the start, so that what is read inside stays true until the commit; writers of
    one process may share that commit (group commit).
    """
    turns: Turns | None = engine.get_execution_options().get(_TURNS)
    with engine.begin() if turns is None else turns.take_turn() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection for reads; nothing is kept."""
    with engine.connect() as connection:
        yield connection


@contextmanager
def asking(engine: Engine) -> Iterator[Connection]:
    """Yield a connection for one query that holds nothing: on PostgreSQL it is a transaction by itself.

    That saves two of three round trips. Several queries of one moment, or page by page, use ``reading``.
    """
    with engine.connect() as connection:
        yield connection if is_sqlite(connection) else connection.execution_options(isolation_level="AUTOCOMMIT")


def fetch_rows(engine: Engine, query: Select[*Columns]) -> Sequence[Row[*Columns]]:
    """Return the rows of a query that runs alone."""
    with asking(engine) as connection:
        return connection.execute(query).all()


def fetch_first(engine: Engine, query: Select[*Columns]) -> Row[*Columns] | None:
    """Return the first row of a query that runs alone; None if there is none."""
    with asking(engine) as connection:
        return connection.execute(query).first()


def fetch_values(engine: Engine, query: Select[T, *tuple[Any, ...]]) -> Sequence[T]:  # Any: further columns
    """Return the values in the first column of a query that runs alone."""
    with asking(engine) as connection:
        return connection.scalars(query).all()


def fetch_value(engine: Engine, query: Select[T, *tuple[Any, ...]]) -> T | None:  # Any: as above
    """Return the first value of a query that runs alone; None if there is none."""
    with asking(engine) as connection:
        return connection.scalars(query).first()


def _postgresql(url: str, most_connections: int, answers_within_s: float | None) -> Engine:
    # Each statement must see what is committed when it begins: flow/eventlog/readable.py relies on it.
    url_options = make_url(url).query
    patience = dict(_NO_ANSWER)
    if answers_within_s is not None:
        patience["connect_timeout"] = min(patience["connect_timeout"], max(2, round(answers_within_s)))
    engine = create_engine(
        url,
        pool_size=most_connections,
        max_overflow=0,  # those would be closed after each use: to log in costs more than a write does
        pool_use_lifo=True,  # what is opened for a moment rests
        pool_timeout=answers_within_s or _BUSY_S,
        isolation_level="READ COMMITTED",
        hide_parameters=True,
        connect_args={name: value for name, value in patience.items() if name not in url_options},
    )

    if answers_within_s is not None:
        connection_type = bounded_connection_type(engine.dialect.loaded_dbapi, answers_within_s)
        event.listen(engine, "do_connect", lambda _dialect, _record, how, named: connection_type.connect(*how, **named))

    @event.listens_for(engine, "connect")
    def _prepare(raw: Any, _record: object) -> None:  # Any: the driver's own connection
        for setting in _POSTGRESQL:
            raw.execute(f"SET {setting}")
        raw.commit()

    @event.listens_for(engine, "checkout")
    def _check(raw: Any, _record: object, _proxy: object) -> None:  # Any: as above
        if _has_something_to_say(raw) and not _answers(raw, engine.dialect.loaded_dbapi.Error):
            raise InvalidatePoolError

    return engine


def _has_something_to_say(raw: Any) -> bool:  # Any: the driver's own connection
    """Return whether anything has arrived on an idle connection, which is seldom but its end.

    The socket knows: ``pool_pre_ping`` asks the server at every checkout, which takes as long as a small query.
    """
    if raw.closed:
        return True
    looked = select.poll()
    looked.register(raw.fileno(), select.POLLIN)
    return bool(looked.poll(0))


def _answers(raw: Any, failure: type[Exception]) -> bool:  # Any: the driver's own connection
    try:
        raw.execute("SELECT 1")
        raw.rollback()
    except failure:
        return False
    return True


def _sqlite(url: str, synchronous: str, writers: WriterLimits) -> Engine:
    # Errors name the statement, never what was in it: entities and secrets stay out of the logs.
    engine = create_engine(
        url, connect_args={"timeout": float(_BUSY_S), "check_same_thread": False}, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def _prepare(raw: Any, _record: object) -> None:  # Any: the driver's own connection
        raw.isolation_level = None  # SQLAlchemy, not the driver, says when a transaction begins
        _use_wal(raw)
        for pragma in (
            f"synchronous={synchronous}",
            f"busy_timeout={_BUSY_S * 1000}",
            f"cache_size=-{_CACHE_MIB * 1024}",
            f"wal_autocheckpoint={_CHECKPOINT_PAGES}",
        ):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if connection.get_execution_options().get("tocsin_begin") == "IMMEDIATE":
            _begin_to_write(connection)
        else:
            raw: Any = connection.connection.dbapi_connection  # Any: as above
            raw.execute("BEGIN")  # not through SQLAlchemy, which takes longer over it than many a query does

    turns = Turns(engine, writers)
    engine.update_execution_options(**{_TURNS: turns})
    event.listen(engine, "engine_disposed", lambda _engine: turns.close())
    keep_version(engine)
    return engine


def _use_wal(raw: Any) -> None:  # Any: the driver's own connection
    """Switch a new store to its write-ahead log; a concurrent switch is rejected at once, busy timeout or not."""
    _ask_until_free(lambda: raw.execute("PRAGMA journal_mode=WAL"))


def _begin_to_write(connection: Connection) -> None:
    """Begin as soon as no other process writes: other Tocsins wait elsewhere (``store/database/writer_lock.py``)."""
    try:
        _ask_until_free(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    except OperationalError as error:
        if not _is_busy(error):
            raise
        raise Unavailable(
            f"Nothing was written: another program locked the database file for {_BUSY_S} s. End it and try again."
        ) from error


def _ask_until_free(ask: Callable[[], object]) -> None:
    """Retry an operation of the store while it is locked; raise its error after the timeout."""
    give_up_s = time.monotonic() + _BUSY_S
    while True:
        try:
            ask()
        except (sqlite3.OperationalError, OperationalError) as error:
            if time.monotonic() > give_up_s or not _is_busy(error):
                raise
            time.sleep(_ASK_AGAIN_S)
        else:
            return


def _is_busy(error: sqlite3.OperationalError | OperationalError) -> bool:
    cause = error.orig if isinstance(error, OperationalError) else error
    return isinstance(cause, sqlite3.Error) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


_LOOK_EVERY_S = 0.1


def bounded_connection_type(driver: Any, within_s: float) -> Any:  # Any: the driver, which may not be installed
    """Return a type of the driver's connections that closes itself without a response ``within_s``.

    libpq's timeouts (``_NO_ANSWER``) and ``pool_pre_ping`` wait for ever where what has gone silent still acknowledges
    bytes: a proxy, or a server that is suspended.
    Source: psycopg 3.2, ``Connection.wait``, which waits for every response: it drives a generator that yields what it
    waits for and is sent what has arrived, nothing after each interval.
    """

    class Bounded(driver.Connection):  # type: ignore[misc]  # a driver's type, known only now
        """A connection that does not wait for ever."""

        def wait(self, gen: Any, interval: float = _LOOK_EVERY_S, **options: Any) -> Any:  # Any: the driver's own
            """Wait as the driver does, and no longer than allowed."""
            return super().wait(self._bounded_wait(gen), interval, **options)

        def _bounded_wait(self, gen: Any) -> Generator[Any, Any, Any]:  # Any: as above
            came, give_up_s = None, time.monotonic() + within_s
            while True:
                try:
                    awaited = gen.send(came)
                except StopIteration as answer:
                    return answer.value
                came = yield awaited
                if came:
                    give_up_s = time.monotonic() + within_s
                elif time.monotonic() > give_up_s:
                    self.pgconn.finish()
                    raise driver.OperationalError(f"connection timeout: PostgreSQL was silent for {within_s:g} s")

    return Bounded
