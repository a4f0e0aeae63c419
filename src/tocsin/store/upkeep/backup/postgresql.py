"""Backup of a PostgreSQL store: each table by COPY, all in one snapshot.

``pg_dump`` would have to be installed and at least as new as the server; COPY in a REPEATABLE READ transaction
needs neither that nor more rights than Tocsin has. Sequences are read after the snapshot was taken, so none can be
behind the rows in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from tocsin.errors import Conflict
from tocsin.private_files import private_file
from tocsin.store.database.schema import upgrade
from tocsin.store.database.tables import METADATA
from tocsin.store.upkeep.backup.manifest import Manifest, ReportProgress

FOLDER = "tables"
"""The folder of a backup with a file for each table."""

_WITHOUT_DESCRIPTION = ("search_words",)
_REVISION = "alembic_version"
_CHUNK = 1 << 20
_SEQUENCES = text(
    "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL"
)
_OTHERS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)


def copy_out(connection: Connection, folder: Path, report: ReportProgress) -> dict[str, list[str]]:
    """Write each table of the connection's snapshot into a file; return the columns of each."""
    columns = _columns(connection)
    sizes = {name: _size(connection, name) for name in columns}
    copied_size, total = 0, max(1, sum(sizes.values()))
    for name, of_table in columns.items():
        with (
            private_file(folder / name) as file,
            _copying(connection, f"{_table_and_columns(name, of_table)} TO STDOUT") as copy,
        ):
            for part in copy:
                file.write(part)
        copied_size += sizes[name]
        report(copied_size, total)
    return columns


def sequences(connection: Connection) -> dict[str, int]:
    """Return the current value of each sequence that was ever used."""
    return {name: int(last) for name, last in connection.execute(_SEQUENCES)}


def check_unused(connection: Connection) -> None:
    """Raise Conflict while others are connected to the database."""
    if connection_count := connection.execute(_OTHERS).scalar_one():
        raise Conflict(
            f"{connection_count} other connections to the database are open. Stop servers, pipeline and workers first."
        )


def copy_in(connection: Connection, folder: Path, manifest: Manifest, report: ReportProgress) -> None:
    """Put the tables of a backup in the place of the store's, in the connection's transaction."""
    for name in {*METADATA.tables, *_WITHOUT_DESCRIPTION, _REVISION}:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name} CASCADE")
    upgrade(connection, manifest.revision)
    total = max(1, sum((folder / name).stat().st_size for name in manifest.tables))
    copied_bytes = 0
    for name, columns in manifest.tables.items():
        connection.exec_driver_sql(f"DELETE FROM {name}")  # noqa: S608  # what the revision itself puts there
        with (
            (folder / name).open("rb") as file,
            _copying(connection, f"{_table_and_columns(name, columns)} FROM STDIN") as copy,
        ):
            while part := file.read(_CHUNK):
                copy.write(part)
                copied_bytes += len(part)
                report(copied_bytes, total)
    for name, last in manifest.sequences.items():
        connection.execute(text("SELECT setval(to_regclass(:name), :last)"), {"name": name, "last": last})


def _columns(connection: Connection) -> dict[str, list[str]]:
    inspector = inspect(connection)
    ours = sorted({*METADATA.tables, *_WITHOUT_DESCRIPTION} & set(inspector.get_table_names()))
    return {name: [column["name"] for column in inspector.get_columns(name)] for name in ours}


def _table_and_columns(name: str, columns: list[str]) -> str:
    quoted = ", ".join(f'"{column}"' for column in columns)
    return f'"{name}" ({quoted})'


def _size(connection: Connection, name: str) -> int:
    return int(connection.execute(text("SELECT pg_table_size(to_regclass(:name))"), {"name": name}).scalar_one())


@contextmanager
def _copying(
    connection: Connection, statement: str
) -> Iterator[Any]:  # Any: psycopg's own, inside SQLAlchemy's transaction
    driver: Any = connection.connection.dbapi_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {statement}") as copy:
        yield copy
