"""Benchmark of ``tocsin lake query`` beside a running pipeline: the whole command, from its start to its end.

The query is that of ``docs/lake.md``. The floor is ``tocsin lake status``: a command that only opens the store.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from bench.latency import create_place
from bench.measured import Measurement, Report, p50, p95, scale_count
from bench.running import open_store, running, settings_in, tocsin_command
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.jobs.match_stream import QUERY_NAME
from tocsin.model.people import SYSTEM
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.log import EventLog

EVENT_COUNT, QUERY_COUNT = 2_300, 20
WARMED_UP_AFTER_S = 20
_QUERY = (
    "SELECT entityFullyQualifiedName, userName, timestamp, changeDescription FROM change_events "
    "WHERE entityType = 'table' AND timestamp > '2024-01-01' ORDER BY timestamp DESC"
)


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure how long the command takes, and what it needs at least."""
    event_count, turns = scale_count(EVENT_COUNT, scale, least=10), scale_count(QUERY_COUNT, scale, least=2)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, _):
            create_place(engine, settings)
            _create_tables(Writes(SqlCatalogue(engine), SystemClock()), event_count)
            with running(tocsin_command("pipeline"), settings, "pipeline") as pipeline:
                pipeline.until(lambda: EventLog(engine).lag(QUERY_NAME) == 0, every_s=0.1)
                time.sleep(WARMED_UP_AFTER_S)
                first_s = _query_s(settings, event_count)
                rounds = []
                for turn in range(turns):
                    report(turn, turns)
                    rounds.append((_query_s(settings, event_count), _command_s(settings, "status")[0]))
    queries_ms, floors_ms = ([one * 1000 for one in some] for some in zip(*rounds, strict=True))
    name = f"query of {event_count:,} events"
    return [
        Measurement("lake", f"{name}, the first after 20 s", first_s * 1000, "ms", p50(floors_ms), 1, aim="2,000"),
        Measurement("lake", f"{name}, p50", p50(queries_ms), "ms", p50(floors_ms), turns, aim="2,000"),
        Measurement("lake", f"{name}, p95", p95(queries_ms), "ms", p95(floors_ms), turns, aim="2,000"),
    ]


def _create_tables(writes: Writes, count: int) -> None:
    for number in range(count):
        table = {"name": f"lake_{number}", "databaseSchema": "pg.store.public", "columns": []}
        writes.create("table", table, actor=SYSTEM)


def _query_s(settings: Settings, event_count: int) -> float:
    took_s, printed = _command_s(settings, "query", _QUERY)
    names = [row["entityFullyQualifiedName"] for row in json.loads(printed)]
    created = [name for name in names if name.startswith("pg.store.public.lake_")]
    if len(created) != event_count:
        raise AssertionError(f"the query gave {len(created)} of {event_count} events")
    return took_s


def _command_s(settings: Settings, *arguments: str) -> tuple[float, bytes]:
    """Return how long a command of ``tocsin lake`` takes, and what it prints."""
    started_s = time.perf_counter()
    with running(tocsin_command("lake", *arguments, "--json"), settings, "lake") as command:
        ended = command.process.wait(timeout=120)
        took_s = time.perf_counter() - started_s
    if ended:
        raise RuntimeError(f"tocsin lake {arguments[0]} ended with code {ended}: {command.text()}")
    return took_s, command.printed.read_bytes()
