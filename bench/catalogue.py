"""Benchmark of a growing catalogue: bulk requests, single writes and lists at 10,000 to 1,000,000 tables.

One server over SQLite, filled by its own bulk requests; each figure is measured when the store has that
many tables, against bare SQL of the same shape in the same store. Next: ``bench/webhooks.py``.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import orjson
from sqlalchemy import Engine
from uuid_utils import uuid4, uuid7

from bench.api import CLIENT_COUNT, Call, bare_writes, load
from bench.measured import Measurement, Report, p95, scale_count
from bench.running import Served, open_store, serving, settings_in
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.cursors import cursor_of

SIZES = (10_000, 100_000, 1_000_000)
ROWS_PER_REQUEST, MEASURED_REQUESTS = 1_000, 10
DURATION_S, SHORTEST_S = 5.0, 1.0
PAGE_COUNT = 200
FIELDS = "owners,tags,columns,followers,domains"

_SCHEMA = "pg.store.public"
_CHANGED = CLIENT_COUNT * 4
_FLOOR = "floor"  # the type of rows that only bare SQL writes
_PAGE = (
    "SELECT fqn, document FROM entity WHERE entity_type = 'table' AND deleted = 0 AND fqn > ? ORDER BY fqn LIMIT 101",
    "SELECT count(*) FROM entity WHERE entity_type = 'table' AND deleted = 0",
)
_COLUMNS = {
    "entity": "id entity_type fqn name parent_id version_tenths updated_at_ms updated_by deleted document",
    "entity_version": "entity_id version_tenths updated_at_ms document",
    "change_event": "id event_type entity_type entity_id entity_fqn user_name timestamp_ms document derived",
}
"""The tables that a created entity has a row in, and their columns."""


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure at every size that the scale allows; the smallest one always."""
    sizes = [size for size in SIZES if size <= SIZES[-1] * scale] or [
        scale_count(SIZES[-1], scale, least=ROWS_PER_REQUEST)
    ]
    duration_s = max(SHORTEST_S, DURATION_S * scale)
    measurements: list[Measurement] = []
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, password), serving(settings, password) as server:
            _create_schema(engine)
            table_count = 0
            for size in sizes:
                rate = _fill(server, table_count, size, lambda done: report(done, sizes[-1]))
                table_count = size
                measurements += [_bulk(engine, size, rate), *_writes(engine, server, size, duration_s)]
                measurements.append(_lists(engine, server, size))
    return measurements


def _create_schema(engine: Engine) -> None:
    writes = Writes(SqlCatalogue(engine), SystemClock())
    writes.create("databaseService", {"name": "pg", "serviceType": "Postgres"}, actor=SYSTEM)
    writes.create("database", {"name": "store", "service": "pg"}, actor=SYSTEM)
    writes.create("databaseSchema", {"name": "public", "database": "pg.store"}, actor=SYSTEM)


def _table(number: int, turn: int = 0) -> Document:
    columns = [{"name": name, "dataType": "VARCHAR", "dataLength": 80 + turn} for name in ("id", "name", "place")]
    return {"name": f"t{number:07}", "databaseSchema": _SCHEMA, "columns": columns}


def _fill(served: Served, first: int, size: int, report: Any) -> float:  # Any: called with the count
    """Create the tables from ``first`` up to ``size``; return how many a second the last requests came to."""
    taken_s: list[float] = []
    with served.client() as client:
        for start in range(first, size, ROWS_PER_REQUEST):
            requests = [_table(number) for number in range(start, min(start + ROWS_PER_REQUEST, size))]
            body = orjson.dumps(requests)
            started_s = time.perf_counter()
            answer = client.put("/tables/bulk?async=false", content=body).raise_for_status().json()
            taken_s.append((time.perf_counter() - started_s) / len(requests))
            if answer["numberOfRowsPassed"] != len(requests):
                raise RuntimeError(f"rows failed: {answer['failedRequest'][:3]}")
            report(start)
    last = taken_s[-MEASURED_REQUESTS:]
    return len(last) / sum(last)


def _bulk(engine: Engine, size: int, rate: float) -> Measurement:
    counted = MEASURED_REQUESTS * ROWS_PER_REQUEST
    return Measurement(
        "catalogue", f"bulk PUT at {size:,} tables", rate, "entities/s", _bare_bulk(engine), counted, aim="10,000"
    )


def _writes(engine: Engine, served: Served, size: int, duration_s: float) -> Iterator[Measurement]:
    numbers = random.Random(size).sample(range(size), _CHANGED)

    def put(at: int, turn: int, _table_id: str) -> Call:
        return "PUT", "/tables", _table(numbers[at], turn), {}

    count = asyncio.run(load(served, [""] * _CHANGED, put, duration_s))
    floor = bare_writes(engine, duration_s / 2)
    yield Measurement(
        "catalogue", f"PUT one by one at {size:,} tables", count / duration_s, "writes/s", floor, count, aim="1,000"
    )


def _lists(engine: Engine, served: Served, size: int) -> Measurement:
    """Measure pages of 100 that begin anywhere; the floor reads the same page and the same total."""
    rng = random.Random(size)
    starts = [f"{_SCHEMA}.t{rng.randrange(size):07}" for _ in range(PAGE_COUNT)]
    with served.client() as client, closing(engine.raw_connection()) as connection:
        taken_ms = [_taken_ms(lambda start=start: _read(client, start)) for start in starts]
        cursor = connection.cursor()
        floor_ms = [_taken_ms(lambda start=start: _bare_read(cursor, start)) for start in starts]
    name = f"list of 100 with fields, p95, at {size:,} tables"
    return Measurement("catalogue", name, p95(taken_ms), "ms", p95(floor_ms), PAGE_COUNT)


def _read(client: httpx.Client, start: str) -> None:
    parameters: dict[str, str | int] = {"limit": 100, "fields": FIELDS, "after": cursor_of(start)}
    client.get("/tables", params=parameters).raise_for_status()


def _bare_read(cursor: Any, start: str) -> None:  # Any: the driver's cursor
    page, total = _PAGE
    documents = [orjson.loads(text) for _, text in cursor.execute(page, (start,)).fetchall()]
    orjson.dumps({"data": documents, "paging": {"total": cursor.execute(total).fetchone()[0]}})


def _taken_ms(work: Any) -> float:  # Any: what to do
    started_s = time.perf_counter()
    work()
    return (time.perf_counter() - started_s) * 1000


def _bare_bulk(engine: Engine) -> float:
    """Return how many entities a second bare SQL creates, a transaction for each request's worth."""
    with closing(engine.raw_connection()) as pooled:
        connection: Any = pooled.driver_connection  # Any: sqlite3's own
        _remove_floor(connection)
        models = {table: _model(connection, table) for table in _COLUMNS}
        started_s = time.perf_counter()
        for _ in range(MEASURED_REQUESTS):
            _create(connection, models)
        taken_s = time.perf_counter() - started_s
        _remove_floor(connection)
    return MEASURED_REQUESTS * ROWS_PER_REQUEST / taken_s


def _create(connection: sqlite3.Connection, models: dict[str, dict[str, Any]]) -> None:  # Any: column values
    rows_by_table: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _COLUMNS}
    for _ in range(ROWS_PER_REQUEST):
        entity = {"id": str(uuid7()), "entity_type": _FLOOR, "fqn": f"floor.{uuid4()}"}
        entity_id = entity["id"]
        values_by_table = {
            "entity": entity,
            "entity_version": {"entity_id": entity_id},
            "change_event": {"id": str(uuid7()), "entity_type": _FLOOR, "entity_id": entity_id},
        }
        for table, values in values_by_table.items():
            rows_by_table[table].append(tuple((models[table] | values).values()))
    connection.execute("BEGIN IMMEDIATE")
    for table, columns in _COLUMNS.items():
        names = columns.split()
        marks = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows_by_table[table])
    connection.execute("COMMIT")


def _model(connection: sqlite3.Connection, table: str) -> dict[str, Any]:  # Any: column values
    """Return a row as Tocsin writes it."""
    columns = _COLUMNS[table].split()
    row = connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()
    return dict(zip(columns, row, strict=True))


def _remove_floor(connection: sqlite3.Connection) -> None:
    ids = f"SELECT id FROM entity WHERE entity_type = '{_FLOOR}'"
    for statement in (
        f"DELETE FROM entity_version WHERE entity_id IN ({ids})",
        f"DELETE FROM change_event WHERE entity_type = '{_FLOOR}'",
        f"DELETE FROM entity WHERE entity_type = '{_FLOOR}'",
    ):
        connection.execute(statement)
