"""Benchmark of write throughput over HTTP: 16 clients, one server with several processes, each store.

Every write is complete: entity, version, change event, and the response. The floor writes the same three rows with
bare SQL, one transaction each, from one thread, into the same store. Next: ``bench/catalogue.py``.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
from sqlalchemy import Engine, RowMapping, select
from tests.postgres import binaries, running_cluster
from uuid_utils import uuid7

from bench.measured import Measurement, Report
from bench.running import Served, open_store, serving, settings_in
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, entity

CLIENT_COUNT, TABLES_PER_CLIENT = 16, 4
DURATION_S, SHORTEST_S = 8.0, 1.0
_PATCH_TYPE = {"Content-Type": "application/json-patch+json"}

Call = tuple[str, str, Any, dict[str, str]]  # Any: JSON. Method, path, body, headers
Ask = Callable[[int, int, str], Call]
"""What to send: given a table's number, a number that never comes again, and the table's id."""

_WARM_UP_S = 1.0
_PUT = "PUT of a changed table"
_AIMS = {"SQLite FULL": "1,500", "PostgreSQL": "900"}
_STATEMENTS = (
    "UPDATE entity SET version_tenths = ?, updated_at_ms = ?, document = ? WHERE id = ?",
    "INSERT INTO entity_version (entity_id, version_tenths, updated_at_ms, document) VALUES (?, ?, ?, ?)",
    "INSERT INTO change_event (id, event_type, entity_type, entity_id, entity_fqn, user_name, timestamp_ms, document,"
    " derived) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
)
"""The rows that a PATCH of a table leaves behind."""
_EVENT_COLUMNS = (
    "event_type",
    "entity_type",
    "entity_id",
    "entity_fqn",
    "user_name",
    "timestamp_ms",
    "document",
    "derived",
)


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure PUT and PATCH on SQLite with full and normal syncs, and on PostgreSQL if its programs are here."""
    duration_s = max(SHORTEST_S, DURATION_S * scale)
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        stores = list(_stores(stack))
        for number, (name, settings) in enumerate(stores):
            report(number, len(stores))
            measurements += _measure_store(name, settings, duration_s)
    return measurements


def _stores(stack: ExitStack) -> Iterator[tuple[str, Settings]]:
    def folder() -> Path:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-bench-")))

    yield "SQLite FULL", settings_in(folder())
    yield "SQLite NORMAL", settings_in(folder(), sqlite_synchronous="NORMAL")
    if programs := binaries():
        cluster = stack.enter_context(running_cluster(programs, durable=True))
        cluster.run("CREATE DATABASE bench")
        yield "PostgreSQL", settings_in(folder(), database_url=cluster.url("bench"))


def _measure_store(store: str, settings: Settings, duration_s: float) -> list[Measurement]:
    with open_store(settings) as (engine, password):
        tables = _create_tables(engine)
        with serving(settings, password) as served:
            puts = asyncio.run(load(served, tables, put, duration_s))
            patches = asyncio.run(load(served, tables, _patch, duration_s))
        floor = bare_writes(engine, duration_s / 2)
    named_counts = ((_PUT, puts), ("PATCH of a description", patches))
    return [
        Measurement("api", f"{name}, {store}", count / duration_s, "writes/s", floor, count, _AIMS.get(store, ""))
        for name, count in named_counts
    ]


def _create_tables(engine: Engine) -> list[str]:
    """Make the tables that change; return their ids."""
    writes = Writes(SqlCatalogue(engine), SystemClock())
    writes.create("databaseService", {"name": "pg", "serviceType": "Postgres"}, actor=SYSTEM)
    writes.create("database", {"name": "store", "service": "pg"}, actor=SYSTEM)
    writes.create("databaseSchema", {"name": "public", "database": "pg.store"}, actor=SYSTEM)
    creations = (
        writes.create("table", _table(number, 0), actor=SYSTEM) for number in range(CLIENT_COUNT * TABLES_PER_CLIENT)
    )
    return [written.document["id"] for written in creations]


def _table(number: int, turn: int) -> Document:
    columns = [{"name": f"c{at}", "dataType": "VARCHAR", "dataLength": 80} for at in range(12)]
    columns[turn % 12]["dataLength"] = 80 + turn
    return {"name": f"t{number:03}", "databaseSchema": "pg.store.public", "columns": columns}


def put(number: int, turn: int, _table_id: str) -> Call:
    return "PUT", "/tables", _table(number, turn), {}


def _patch(_number: int, turn: int, table_id: str) -> Call:
    operation = {"op": "add", "path": "/description", "value": f"What it holds, as written down for the {turn}th time."}
    return "PATCH", f"/tables/{table_id}", [operation], _PATCH_TYPE


async def load(served: Served, tables: list[str], ask: Ask, duration_s: float) -> int:
    """Let all clients write, each its own tables one after the other; return how many writes were answered in time."""
    turns = itertools.count(1)
    connector = aiohttp.TCPConnector(limit=CLIENT_COUNT)
    async with aiohttp.ClientSession(connector=connector, headers=served.headers) as session:

        async def write_until(end_s: float, client: int) -> int:
            own_numbers = itertools.cycle(range(client, len(tables), CLIENT_COUNT))
            for done_count in itertools.count():
                number = next(own_numbers)
                method, path, body, headers = ask(number, next(turns), tables[number])
                async with session.request(method, f"{served.url}/api/v1{path}", json=body, headers=headers) as answer:
                    answer.raise_for_status()
                    await answer.read()
                if time.perf_counter() > end_s:
                    return done_count
            raise AssertionError("unreachable")

        async def run(for_s: float) -> int:
            end_s = time.perf_counter() + for_s
            return sum(await asyncio.gather(*(write_until(end_s, client) for client in range(CLIENT_COUNT))))

        await run(_WARM_UP_S)
        return await run(duration_s)


def bare_writes(engine: Engine, duration_s: float) -> float:
    """Return how many transactions a second one thread does that write what the last PATCH wrote."""
    model = _last_event(engine)
    mark = "?" if is_sqlite(engine) else "%s"
    statements = [statement.replace("?", mark) for statement in _STATEMENTS]
    connection = engine.raw_connection()
    try:
        started_s, count = time.perf_counter(), 0
        while time.perf_counter() < started_s + duration_s:
            count += 1
            if is_sqlite(engine):
                connection.cursor().execute("BEGIN IMMEDIATE")
            _write_rows(connection.cursor(), statements, model, 10_000_000 + count)
            connection.commit()
        return count / (time.perf_counter() - started_s)
    finally:
        connection.close()


def _write_rows(cursor: Any, statements: list[str], model: RowMapping, version: int) -> None:  # Any: either driver's
    change, add_version, add_event = statements
    entity_id, now_ms = model["entity_id"], model["timestamp_ms"]
    cursor.execute(change, (version, now_ms, model["state"], entity_id))
    cursor.execute(add_version, (entity_id, version, now_ms, model["state"]))
    cursor.execute(add_event, (str(uuid7()), *(model[column] for column in _EVENT_COLUMNS)))


def _last_event(engine: Engine) -> RowMapping:
    """Return the last event, with the document of its entity as ``state``."""
    query = select(change_event, entity.c.document.label("state")).join(entity, entity.c.id == change_event.c.entity_id)
    with reading(engine) as connection:
        return connection.execute(query.order_by(change_event.c.log_offset.desc()).limit(1)).mappings().one()


def is_sqlite(engine: Engine) -> bool:
    return engine.dialect.name == "sqlite"
