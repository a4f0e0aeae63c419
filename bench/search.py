"""Benchmark of search latency: a mix of queries over synthetic catalogues of growing size, on each store.

One server process, one client, one query after the other, hits, total and documents included. The floor is a bare
full-text query of the store for ten matching entries: no order, no total, no documents.
Next: ``bench/corpus.py``.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import Connection, Engine, insert, select, text
from tests.postgres import binaries, running_cluster

from bench.corpus import corpus, queries
from bench.measured import Measurement, Report, p50, p95
from bench.running import Served, open_store, serving, settings_in
from tocsin.model.entity import Document
from tocsin.search.parse import parse
from tocsin.settings import Settings
from tocsin.store.catalogue.search.matching import match_of
from tocsin.store.catalogue.search.writes import Entry, SearchWrites
from tocsin.store.database.documents import to_text
from tocsin.store.database.engine import is_sqlite, reading, writing
from tocsin.store.database.search_tables import NUMBER, search_words
from tocsin.store.database.tables import entity

SIZES = (10_000, 200_000, 1_000_000)
LARGEST_AT_FULL_SCALE = 200_000
QUERY_COUNT, WARM_UP_COUNT = 300, 20
_ROWS_PER_BATCH = 10_000


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure on SQLite, and on PostgreSQL if its programs are here, at every size that the scale allows."""
    largest = LARGEST_AT_FULL_SCALE * scale
    sizes = [size for size in SIZES if size <= largest] or [max(500, round(largest))]
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        for store, settings in _stores(stack):
            with open_store(settings) as (engine, password):
                for size in sizes:
                    _fill(engine, size, lambda done: report(done, sizes[-1]))
                    with serving(settings, password) as served:
                        measurements += _measure_store(engine, served, store, size)
    return measurements


def _stores(stack: ExitStack) -> Iterator[tuple[str, Settings]]:
    def folder() -> Path:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-bench-")))

    yield "SQLite", settings_in(folder(), sqlite_synchronous="NORMAL")
    if programs := binaries():
        cluster = stack.enter_context(running_cluster(programs))
        cluster.run("CREATE DATABASE bench")
        yield "PostgreSQL", settings_in(folder(), database_url=cluster.url("bench"))


def _fill(engine: Engine, size: int, report: Callable[[int], None]) -> None:
    """Bring the store to ``size`` entities: their rows in the catalogue, and their entries."""
    writes = SearchWrites(engine)
    entry_count = writes.count()
    entity_rows = itertools.islice(corpus(size), entry_count, None)
    while batch := list(itertools.islice(entity_rows, _ROWS_PER_BATCH)):
        report(entry_count)
        with writing(engine) as connection:
            connection.execute(insert(entity), [_row(entry, document) for entry, document in batch])
        writes.renew([entry for entry, _ in batch])
        entry_count += len(batch)
    with engine.connect() as connection:
        if not is_sqlite(connection):
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM ANALYZE"))


def _row(entry: Entry, document: Document) -> dict[str, object]:
    return {
        "id": entry["entity_id"],
        "entity_type": entry["entity_type"],
        "fqn": entry["fqn"],
        "name": document["name"],
        "version_tenths": 1,
        "updated_at_ms": entry["updated_at_ms"],
        "updated_by": "bench",
        "deleted": entry["deleted"],
        "document": to_text(document),
    }


def _measure_store(engine: Engine, served: Served, store: str, size: int) -> list[Measurement]:
    taken_ms: list[float] = []
    parameter_sets = queries(QUERY_COUNT)
    with served.client() as client:
        for parameters in [*parameter_sets[:WARM_UP_COUNT], *parameter_sets]:
            started_s = time.perf_counter()
            client.get("/search/query", params=parameters).raise_for_status()
            taken_ms.append((time.perf_counter() - started_s) * 1000)
    taken_ms = taken_ms[WARM_UP_COUNT:]
    with reading(engine) as connection:
        floor_ms = [_bare_ms(connection, parameters["q"]) for parameters in parameter_sets]
    name = f"a query over {size:,} entities, {store}"
    return [
        Measurement("search", f"{name}, {which}", percentile(taken_ms), "ms", percentile(floor_ms), len(taken_ms))
        for which, percentile in (("p50", p50), ("p95", p95))
    ]


def _bare_ms(connection: Connection, q: str) -> float:
    """Return how long the index of words takes to name ten entries that answer."""
    condition = match_of(connection, parse(q).node)
    query = select(NUMBER).select_from(search_words).limit(10)
    query = query if condition.words is None else query.where(condition.words)
    started_s = time.perf_counter()
    connection.execute(query).all()
    return (time.perf_counter() - started_s) * 1000
