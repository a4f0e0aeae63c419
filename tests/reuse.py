"""PostgreSQL databases of the tests, emptied after each test and used again, with the connections to them.

A new database costs more than most tests do with it: its files are copied, and each new connection reads its tables'
definitions anew. What emptying does not undo, or may not, ends a database: it is dropped and the next test gets a copy
of the template. So it is with one whose catalogue has changed (a migration, an index, statistics), to which somebody
is still connected, or from which much was deleted, because PostgreSQL keeps what is deleted until a vacuum.
"""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.sql import SQL, Composed, Identifier
from sqlalchemy import Engine
from sqlalchemy.pool import QueuePool
from tests.postgres import Cluster

_DELETED_ROWS = 2_000
_USES = 50
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
    """A copy of the template, the connection that empties it, and the pool that engines of its tests share."""

    name: str
    url: str
    connection: psycopg.Connection
    pool: QueuePool | None = None
    uses: int = 0
    deleted_rows: int = 0
    definition: list[tuple[Any, ...]] = field(default_factory=list)
    non_empty: Composed | None = None
    first_rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    sequences: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def remember(self) -> None:
        """Note what a database that nobody has used yet has in it."""
        ask = self.connection.execute
        self.definition = self._read_definition()
        tables = [name for (name,) in ask(_TABLES)]
        is_there = [SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(name, Identifier(name)) for name in tables]
        self.non_empty = SQL(" UNION ALL ").join(is_there)
        for (name,) in ask(self.non_empty).fetchall():
            self.first_rows[name] = ask(SQL("SELECT * FROM {}").format(Identifier(name))).fetchall()
        for (name,) in ask(_SEQUENCES).fetchall():
            state = ask(SQL("SELECT last_value, is_called FROM {}").format(Identifier(name))).fetchone()
            assert state is not None
            self.sequences[name] = state

    def is_left(self) -> bool:
        """Return whether nobody but this and the idle connections of the pool is connected, or soon after."""
        if self.pool is not None and self.pool.checkedout():
            return False
        expected, give_up_s = 1 + (self.pool.checkedin() if self.pool else 0), time.monotonic() + _LEFT_WITHIN_S
        while self.connection.execute(_CONNECTED).fetchone() != (expected,):
            if time.monotonic() > give_up_s:
                return False
            time.sleep(0.005)
        return True

    def is_as_defined(self) -> bool:
        """Return whether the tables are as they were at first."""
        return self._read_definition() == self.definition

    def make_empty(self) -> None:
        """Bring back the rows that were there at first, and no others."""
        assert self.non_empty is not None
        ask = self.connection.execute
        with self.connection.transaction():
            ask("SET LOCAL session_replication_role = replica")  # every table is emptied, so no row asks for others
            for (name,) in ask(self.non_empty).fetchall():
                self.deleted_rows += ask(SQL("DELETE FROM {}").format(Identifier(name))).rowcount
            for name, rows in self.first_rows.items():
                values = SQL(", ").join(SQL("%s") for _ in rows[0])
                for row in rows:
                    ask(SQL("INSERT INTO {} VALUES ({})").format(Identifier(name), values), row)
            for name, state in self.sequences.items():
                ask("SELECT setval(%s::regclass, %s, %s)", (name, *state))

    def _read_definition(self) -> list[tuple[Any, ...]]:
        return self.connection.execute(_DEFINITION.encode()).fetchall()

    def close(self) -> None:
        """Close all connections that were kept."""
        if self.pool is not None:
            self.pool.dispose()
        self.connection.close()


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
        with suppress(psycopg.Error):  # a test has ended all connections
            if database.uses < _USES and database.is_left() and database.is_as_defined():
                database.make_empty()
                if database.deleted_rows < _DELETED_ROWS:
                    self._empty.append(database)
                    return
        database.close()
        self._administrator.execute(f"DROP DATABASE {database.name} WITH (FORCE)".encode())

    def share_pool(self, engine: Engine, url: str) -> None:
        """Let ``engine`` use the connections that engines of earlier tests have opened."""
        database = self._in_use[url]
        if database.pool is None:
            assert isinstance(engine.pool, QueuePool)
            database.pool = engine.pool
        engine.pool = database.pool

    def close(self) -> None:
        """Close all connections; the databases end with their cluster."""
        for database in (*self._empty, *self._in_use.values()):
            database.close()

    def _make(self) -> Database:
        name = f"tocsin_{next(self._numbers)}"
        self._administrator.execute(f"CREATE DATABASE {name} {self._copy}".encode())
        database = Database(name, self._cluster.url(name), self._cluster.connect(name))
        database.remember()
        return database
