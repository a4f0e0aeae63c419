"""PostgreSQL databases of the tests, emptied after each test and used again, with the connections to them.

A new database costs more than most tests do with it: its files are copied, and each new connection reads its tables'
definitions anew. What emptying does not undo, or may not, ends a database: it is dropped and the next test gets a copy
of the template. So it is with one whose catalogue has changed (a migration, an index, statistics), to which somebody
is still connected, or from which much was deleted, because PostgreSQL keeps what is deleted until a vacuum.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import psycopg
from psycopg.sql import SQL, Composed, Identifier
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import Pool, QueuePool
from tests.postgres import Cluster

from tocsin.store.database.engine import open_engine

_DELETED_ROWS = 2_000
_USES = 50
_CONNECTIONS = 40
_LEFT_WITHIN_S = 0.1
_CATALOGUE = ("class", "attribute", "index", "constraint", "proc", "trigger", "type", "namespace", "statistic")
_DEFINITION = " UNION ALL ".join(f"SELECT count(*), max(xmin::text::bigint) FROM pg_{name}" for name in _CATALOGUE)
"""How many rows each table of the catalogue has, and which transaction wrote the newest."""
_TABLES = SQL("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
_SEQUENCES = SQL("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'")
_CONNECTED = SQL(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
)


@dataclass
class Database:
    """A copy of the template, and the connections that its tests use one after the other."""

    name: str
    url: str
    pool: Pool
    uses: int = 0
    deleted_rows: int = 0
    definition: list[tuple[Any, ...]] = field(default_factory=list)
    non_empty: Composed | None = None
    first_rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    sequences: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def remember(self) -> None:
        """Note what a database that nobody has used yet has in it."""
        with self.connection() as connection:
            ask = connection.execute
            self.definition = ask(_DEFINITION.encode()).fetchall()
            tables = [name for (name,) in ask(_TABLES)]
            is_there = [
                SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(name, Identifier(name)) for name in tables
            ]
            self.non_empty = SQL(" UNION ALL ").join(is_there)
            for (name,) in ask(self.non_empty).fetchall():
                self.first_rows[name] = ask(SQL("SELECT * FROM {}").format(Identifier(name))).fetchall()
            for (name,) in ask(_SEQUENCES).fetchall():
                self.sequences[name] = ask(
                    SQL("SELECT last_value, is_called FROM {}").format(Identifier(name))
                ).fetchall()[0]

    def can_be_used_again(self) -> bool:
        """Make it empty; return whether that brings back what was there at first."""
        if self.uses >= _USES or cast(QueuePool, self.pool).checkedout():
            return False
        with self.connection() as connection:
            if not self._is_left(connection) or connection.execute(_DEFINITION.encode()).fetchall() != self.definition:
                return False
            self._make_empty(connection)
        return self.deleted_rows < _DELETED_ROWS

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        """Yield one of the connections, on which each statement is a transaction by itself."""
        pooled = self.pool.connect()
        connection = cast(psycopg.Connection, pooled.driver_connection)
        connection.autocommit = True
        try:
            yield connection
            connection.autocommit = False
        finally:
            pooled.close()

    def _is_left(self, connection: psycopg.Connection) -> bool:
        """Return whether nothing but the pool is connected, or soon after."""
        expected, give_up_s = 1 + cast(QueuePool, self.pool).checkedin(), time.monotonic() + _LEFT_WITHIN_S
        while connection.execute(_CONNECTED).fetchone() != (expected,):
            if time.monotonic() > give_up_s:
                return False
            time.sleep(0.005)
        return True

    def _make_empty(self, connection: psycopg.Connection) -> None:
        assert self.non_empty is not None
        ask = connection.execute
        with connection.transaction():
            ask("SET LOCAL session_replication_role = replica")  # every table is emptied, so no row asks for others
            for (name,) in ask(self.non_empty).fetchall():
                self.deleted_rows += ask(SQL("DELETE FROM {}").format(Identifier(name))).rowcount
            for name, first_rows in self.first_rows.items():
                values = SQL(", ").join(SQL("%s") for _ in first_rows[0])
                for row in first_rows:
                    ask(SQL("INSERT INTO {} VALUES ({})").format(Identifier(name), values), row)
            for name, state in self.sequences.items():
                ask("SELECT setval(%s::regclass, %s, %s)", (name, *state))


class Databases:
    """The databases of one cluster; ``administrator`` is the connection over which they are made and dropped."""

    def __init__(self, cluster: Cluster, administrator: psycopg.Connection, template: str) -> None:
        by_file = " STRATEGY FILE_COPY" if administrator.info.server_version >= 150_000 else ""  # quicker in memory
        self._cluster, self._administrator, self._copy = cluster, administrator, f"TEMPLATE {template}{by_file}"
        self._numbers = itertools.count(1)
        self._in_use: dict[str, Database] = {}
        self._empty: list[Database] = []

    def take(self) -> str:
        """Return the address of a migrated, empty database that no other test has."""
        database = self._empty.pop() if self._empty else self._make()
        database.uses += 1
        self._in_use[database.url] = database
        return database.url

    def give_back(self, url: str) -> None:
        """Make the database at ``url`` empty again, or drop it."""
        database = self._in_use.pop(url)
        with suppress(psycopg.Error, SQLAlchemyError):  # a test has ended the connections, or the whole cluster
            if database.can_be_used_again():
                self._empty.append(database)
                return
        database.pool.dispose()
        self._administrator.execute(f"DROP DATABASE {database.name} WITH (FORCE)".encode())

    def share_pool(self, engine: Engine, url: str) -> None:
        """Let ``engine`` use the connections that engines of earlier tests have opened."""
        engine.pool = self._in_use[url].pool

    def close(self) -> None:
        """Close all connections; the databases end with their cluster."""
        for database in (*self._empty, *self._in_use.values()):
            database.pool.dispose()

    def _make(self) -> Database:
        name = f"tocsin_{next(self._numbers)}"
        self._administrator.execute(f"CREATE DATABASE {name} {self._copy}".encode())
        url = self._cluster.url(name)
        database = Database(name, url, open_engine(url, most_connections=_CONNECTIONS).pool)
        database.remember()
        return database
