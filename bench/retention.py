"""Benchmark of retention: events that a dry run counts and a run removes per second, and what the store shrinks by.

Nine tenths of the events are expired updates of 1 kB, of which one in ten notified somebody in the app. The floor is
the bare deletion of rows, in portions of the same size. SQLite, and PostgreSQL if it is installed.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from sqlalchemy import Engine, delete, insert, select
from tests.store.large import store_bytes

from bench.filling import FIRST_MS, fill_log
from bench.measured import Measurement, Report, scale_count
from bench.running import empty_stores
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.eventlog.retention import Expiry
from tocsin.store.database.engine import open_engine, writing
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, pipeline_progress
from tocsin.store.eventlog.log import readable_end
from tocsin.store.upkeep.retention.events import PORTION, PREVIEW_PORTION, EventRemoval, LogPlan
from tocsin.store.upkeep.retention.progress import RetentionProgress
from tocsin.store.upkeep.retention.readers import readers_on

EVENT_COUNT = 10_000_000
_FLOOR_SHARE = 20
"""The floor deletes this part of the events."""


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure on each store that is there."""
    count = scale_count(EVENT_COUNT, scale, least=5_000)
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        for store, url in empty_stores(stack):
            engine = open_engine(url)
            stack.callback(engine.dispose)
            migrate(engine)
            measurements += _measure_store(engine, store, count, report)
    return measurements


def _measure_store(engine: Engine, store: str, count: int, report: Report) -> list[Measurement]:
    _fill(engine, count, report)
    full_bytes = store_bytes(engine)
    floor_count = max(PORTION, count // _FLOOR_SHARE // PORTION * PORTION)
    floor = floor_count / _bare_s(engine, floor_count)
    with engine.connect() as connection:
        plan = LogPlan(
            (Expiry("entityUpdated", None, frozenset(), FIRST_MS + count),),
            tuple(readers_on(connection, needs_lake=False)),
        )
    began_s = time.perf_counter()
    for counts in EventRemoval(engine, portion=PREVIEW_PORTION).preview(plan):
        previewed_count = sum(counts.removed.values())
    preview_s = time.perf_counter() - began_s
    assert RetentionProgress(engine).claim("bench", now_ms=1)
    longest_s, event_count, portion_count, began_s = 0.0, 0, 0, time.perf_counter()
    last_s = began_s
    for counts in EventRemoval(engine).remove(plan, "bench", lambda: 1):
        now_s = time.perf_counter()
        longest_s, last_s = max(longest_s, now_s - last_s), now_s
        event_count, portion_count = sum(counts.removed.values()), counts.portions
    took_s = time.perf_counter() - began_s
    _vacuum(engine)
    name = f"{count:,} events, {store}"
    return [
        Measurement("retention", f"{name}: dry run", previewed_count / preview_s, "events/s", None, previewed_count),
        Measurement("retention", f"{name}: removed", event_count / took_s, "events/s", floor, event_count),
        Measurement(
            "retention", f"{name}: portions", portion_count / took_s, "portions/s", floor / PORTION, portion_count
        ),
        Measurement("retention", f"{name}: longest transaction", longest_s * 1000, "ms", None, portion_count),
        Measurement("retention", f"{name}: store before", full_bytes / 1e6, "MB", None, count),
        Measurement(
            "retention", f"{name}: store after a vacuum", store_bytes(engine) / 1e6, "MB", None, count - event_count
        ),
    ]


def _fill(engine: Engine, count: int, report: Report) -> None:
    fill_log(engine, 0, count, report, with_entries=True)
    with writing(engine) as connection:
        progress = {"query_name": MATCH_STREAM, "log_offset": readable_end(connection), "updated_at_ms": 1}
        connection.execute(insert(pipeline_progress), progress)


def _bare_s(engine: Engine, count: int) -> float:
    """Return how long the bare deletion of the first events takes, in portions; their notifications stay."""
    offset, began_s = change_event.c.log_offset, time.perf_counter()
    for _ in range(count // PORTION):
        with writing(engine) as connection:
            portion = list(connection.execute(select(offset).order_by(offset).limit(PORTION)).scalars())
            connection.execute(delete(change_event).where(offset.in_(portion)))
    return time.perf_counter() - began_s


def _vacuum(engine: Engine) -> None:
    """Give free pages back, as an administrator would."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection  # Any: the driver's own connection
            raw.execute("VACUUM")
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM FULL")
