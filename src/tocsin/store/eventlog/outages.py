"""Outages that the pipeline's queries wait out, with cause and start time, shown by the health check.

They are in the store, and in a file next to it while the store accepts no writes. The file is in the data folder, which
a server on the same machine reads, too. Its disk space is allocated at the start and overwritten in place, which works
on a full disk.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, delete, select

from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.log_tables import pipeline_wait
from tocsin.store.database.tables import pipeline_progress

NOTES_FILE = "pipeline.waits"
"""The file in the data folder."""

_ROOM = 4096


class Wait(NamedTuple):
    """What a query waits for, and since when (epoch milliseconds)."""

    fault: str
    since_ms: int


class WaitNotes:
    """The notes in one folder; what cannot be noted or read is passed over."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / NOTES_FILE
        self._writing = threading.Lock()

    def make_room(self) -> None:
        """Make the file, with nothing noted, where there is none of its size."""
        with suppress(OSError):
            if not self._file.is_file() or self._file.stat().st_size < _ROOM:
                self._file.touch(mode=0o600)
                self._file.write_bytes(_pad({}))

    def begin(self, query_name: str, wait: Wait) -> None:
        """Note that a query waits."""
        with self._writing:
            self._write(self.all() | {query_name: wait})

    def end(self, query_name: str) -> None:
        """Note that a query works."""
        with self._writing:
            noted = self.all()
            if noted.pop(query_name, None) is not None:
                self._write(noted)

    def all(self) -> dict[str, Wait]:
        """Return what is noted, by query."""
        try:
            noted = json.loads(self._file.read_text())
            return {str(name): Wait(str(fault), int(since_ms)) for name, (fault, since_ms) in noted.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, noted: dict[str, Wait]) -> None:
        content = _pad(noted)
        with suppress(OSError), self._file.open("r+b", buffering=0) as file:
            if len(content) == _ROOM:
                file.write(content)
                os.fsync(file.fileno())


def _pad(noted: dict[str, Wait]) -> bytes:
    return json.dumps(noted).encode().ljust(_ROOM)


@dataclass(frozen=True)
class QueryHealth:
    """Progress of a query, the time of its last report, and its wait, if any, with its start."""

    query_name: str
    log_offset: int
    updated_at_ms: int
    waits_for: str | None
    waits_since_ms: int | None


class Waits:
    """The waits in one store, and in the notes file next to it, if there are any."""

    def __init__(self, engine: Engine, notes: WaitNotes | None = None) -> None:
        self._engine, self._notes = engine, notes

    def begin(self, query_name: str, fault: str, *, since_ms: int) -> None:
        """Note that a query waits for a fault to pass."""
        if self._notes is not None:
            self._notes.begin(query_name, Wait(fault, since_ms))
        row = {"query_name": query_name, "fault": fault, "since_ms": since_ms}
        with writing(self._engine) as connection:
            insert = insert_into(connection, pipeline_wait).values(row)
            connection.execute(insert.on_conflict_do_update(index_elements=["query_name"], set_=row))

    def end(self, query_name: str) -> None:
        """Note that a query works."""
        with writing(self._engine) as connection:
            connection.execute(delete(pipeline_wait).where(pipeline_wait.c.query_name == query_name))
        if self._notes is not None:
            self._notes.end(query_name)

    def health(self) -> list[QueryHealth]:
        """Return how each streaming query that ever ran fares, by name."""
        progress, wait = pipeline_progress.c, pipeline_wait.c
        query = (
            select(progress.query_name, progress.log_offset, progress.updated_at_ms, wait.fault, wait.since_ms)
            .join_from(pipeline_progress, pipeline_wait, progress.query_name == wait.query_name, isouter=True)
            .where(progress.query_name.like("%\\_stream", escape="\\"))  # others note there how far they are, too
            .order_by(progress.query_name)
        )
        with reading(self._engine) as connection:
            states = [QueryHealth(*row) for row in connection.execute(query)]
        waits_by_query = self._notes.all() if self._notes is not None else {}
        return [one if one.waits_for else _with_wait(one, waits_by_query.get(one.query_name)) for one in states]


def _with_wait(health: QueryHealth, wait: Wait | None) -> QueryHealth:
    return health if wait is None else replace(health, waits_for=wait.fault, waits_since_ms=wait.since_ms)
