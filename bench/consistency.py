"""Benchmark of bulk writes and fsck: a million writes, then the check of events and versions.

First some thousand writes by each path, for the rates: single, over HTTP, in bulk. Then the million, in
bulk, and ``tocsin fsck`` over all of it, which must find nothing. Next: ``src/tocsin/store/fsck``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import orjson
from sqlalchemy import Engine, select

from bench.measured import Measurement, Report, scale_count
from bench.running import open_store, serving, settings_in
from tocsin.catalogue.writes import BulkWrites, Writes
from tocsin.clock import SystemClock
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Written
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, entity_version
from tocsin.store.upkeep.fsck.inspection import inspect

WRITE_COUNT = 1_000_000
DOOR_COUNT = 4_000
TURNS = 20
_SCHEMA = "pg.store.public"
_AT_ONCE = 5_000

Send = Callable[[list[Document]], None]


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure the rate of each write path, make the writes, and prove that the store is sound."""
    count, few = scale_count(WRITE_COUNT, scale, least=TURNS * 50), scale_count(DOOR_COUNT, scale, least=TURNS * 10)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, password):
            _create_schema(engine)
            measurements = [_measure_requests("PUT one by one, Writes", _one_by_one(engine), "w", few)]
            with serving(settings, password) as server, httpx.Client(headers=server.headers, timeout=60) as client:
                measurements.append(_measure_requests("PUT one by one, HTTP", _over_http(client, server.url), "h", few))
                measurements.append(
                    _measure_requests("PUT in bulk, HTTP", _in_bulk_over_http(client, server.url), "b", few)
                )
            measurements.append(_measure_requests("PUT in bulk", _in_bulk(engine), "t", count, report))
            measurements += _proof(engine)
    return measurements


def _create_schema(engine: Engine) -> None:
    writes = Writes(SqlCatalogue(engine), SystemClock())
    writes.create("databaseService", {"name": "pg", "serviceType": "Postgres"}, actor=SYSTEM)
    writes.create("database", {"name": "store", "service": "pg"}, actor=SYSTEM)
    writes.create("databaseSchema", {"name": "public", "database": "pg.store"}, actor=SYSTEM)


def _measure_requests(
    name: str, send: Send, stem: str, count: int, report: Report = lambda _done, _all: None
) -> Measurement:
    """Send ``count`` writes by one path: a few tables created, then each changed repeatedly."""
    started_s, done_count = time.perf_counter(), 0
    for requests in _requests(stem, count):
        send(requests)
        done_count += len(requests)
        report(done_count, count)
    took_s = time.perf_counter() - started_s
    return Measurement("consistency", name, done_count / took_s, "events/s", None, done_count)


def _requests(stem: str, count: int) -> Iterator[list[Document]]:
    tables = count // TURNS
    for turn in range(TURNS):
        for start in range(0, tables, _AT_ONCE):
            yield [_table(f"{stem}{number:06}", turn) for number in range(start, min(start + _AT_ONCE, tables))]


def _table(name: str, turn: int) -> Document:
    columns = [{"name": f"c{at}", "dataType": "VARCHAR", "dataLength": 80} for at in range(6)]
    columns[turn % 6]["dataLength"] = 80 + turn
    description = f"What it holds, as written down for the {turn}th time."
    return {"name": name, "databaseSchema": _SCHEMA, "columns": columns, "description": description}


def _one_by_one(engine: Engine) -> Send:
    writes = Writes(SqlCatalogue(engine), SystemClock())

    def send(requests: list[Document]) -> None:
        for request in requests:
            _check(writes.upsert("table", request, actor=SYSTEM))

    return send


def _in_bulk(engine: Engine) -> Send:
    bulk = BulkWrites(SqlCatalogue(engine), SystemClock())

    def send(requests: list[Document]) -> None:
        for outcome in bulk.put("table", requests, actor=SYSTEM):
            _check(outcome)

    return send


def _over_http(client: httpx.Client, url: str) -> Send:
    def send(requests: list[Document]) -> None:
        for request in requests:
            client.put(f"{url}/api/v1/tables", content=orjson.dumps(request)).raise_for_status()

    return send


def _in_bulk_over_http(client: httpx.Client, url: str) -> Send:
    def send(requests: list[Document]) -> None:
        answer = client.put(f"{url}/api/v1/tables/bulk", content=orjson.dumps(requests)).raise_for_status().json()
        if answer["numberOfRowsFailed"]:
            raise AssertionError(f"{answer['numberOfRowsFailed']} rows were refused")

    return send


def _check(outcome: object) -> None:
    if not isinstance(outcome, Written) or outcome.event is None:
        raise AssertionError(f"a write made no event: {outcome}")


def _proof(engine: Engine) -> list[Measurement]:
    """Check the store, with and without rebuilding, against reading and parsing the same documents once."""
    floor, measurements = _parsed_per_s(engine), []
    for name, deep in (("fsck", False), ("fsck --deep", True)):
        started_s = time.perf_counter()
        inspection = inspect(engine, deep=deep)
        took_s = time.perf_counter() - started_s
        if inspection.counts:
            raise AssertionError(f"the store is not sound: {inspection.findings[:3]}")
        count = inspection.row_counts["change_event"]
        measurements.append(
            Measurement("consistency", f"{name}, whole store", count / took_s, "events/s", floor, count)
        )
        measurements.append(Measurement("consistency", f"{name}, time", took_s, "s", None, count))
    return measurements


def _parsed_per_s(engine: Engine) -> float:
    started_s, count = time.perf_counter(), 0
    with reading(engine) as connection:
        for table in (change_event, entity_version):
            documents = connection.execution_options(yield_per=5_000).execute(select(table.c.document))
            for (text,) in documents:
                orjson.loads(text)
                count += table is change_event
    return count / (time.perf_counter() - started_s)
