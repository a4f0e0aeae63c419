"""How is the store opened? One SQLAlchemy engine per process, tuned for SQLite or PostgreSQL.

Nothing is opened at import; each process calls ``open_engine`` once. Next: ``store/tables.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event


def open_engine(url: str, *, synchronous: str = "FULL", pool_size: int = 10) -> Engine:
    """Return an engine for the store at ``url`` (a SQLAlchemy address); the caller disposes of it."""
    if url.startswith("sqlite"):
        return _sqlite(url, synchronous)
    # Each statement must see what is committed when it begins: flow/eventlog/readable.py relies on it.
    return create_engine(
        url, pool_size=pool_size, max_overflow=pool_size, isolation_level="READ COMMITTED", hide_parameters=True
    )


def is_sqlite(connection: Connection) -> bool:
    """Say whether the connection is to SQLite."""
    return connection.dialect.name == "sqlite"


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield a connection inside a write transaction; commit at the end, roll back on an error.

    On SQLite the write lock is taken at the start, so that what is read inside stays true until the commit.
    """
    with engine.connect() as connection:
        if is_sqlite(connection):
            connection.execution_options(tocsin_begin="IMMEDIATE")
        with connection.begin():
            yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection for reads; nothing is kept."""
    with engine.connect() as connection:
        yield connection


def _sqlite(url: str, synchronous: str) -> Engine:
    # Errors name the statement, never what was in it: entities and secrets stay out of the logs.
    engine = create_engine(url, connect_args={"timeout": 30.0, "check_same_thread": False}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _prepare(raw: Any, _record: object) -> None:  # Any: the driver's own connection
        raw.isolation_level = None  # SQLAlchemy, not the driver, says when a transaction begins
        for pragma in ("journal_mode=WAL", f"synchronous={synchronous}", "busy_timeout=30000", "cache_size=-65536"):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        mode = connection.get_execution_options().get("tocsin_begin", "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {mode}")

    return engine
