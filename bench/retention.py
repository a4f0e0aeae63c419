"""Benchmark of retention: events that a dry run counts and a run removes per second, and what the store shrinks by.

Nine tenths of the events are expired updates of 1 kB, of which one in ten notified somebody in the app. The floor is
the bare deletion of rows, in portions of the same size. SQLite, and PostgreSQL if it is installed.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, delete, insert, select, text
from tests.postgres import binaries, running_cluster
from tests.store.large import store_bytes

from bench.measured import Measurement, Report, scale_count
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.flow.eventlog.retention import Expiry
from tocsin.store.database.engine import open_engine, writing
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, notification, pipeline_progress
from tocsin.store.eventlog.log import readable_end
from tocsin.store.upkeep.retention.events import PORTION, PREVIEW_PORTION, EventRemoval, LogPlan
from tocsin.store.upkeep.retention.progress import RetentionProgress
from tocsin.store.upkeep.retention.readers import readers_on

EVENT_COUNT, ENTITY_COUNT = 10_000_000, 20_000
_AT_ONCE = 5_000
_OLD_MS = 1_700_000_000_000
_FLOOR_SHARE = 20
"""The floor deletes this part of the events."""


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure on each store that is there."""
    count = scale_count(EVENT_COUNT, scale, least=5_000)
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        for store, url in _stores(stack):
            engine = open_engine(url)
            stack.callback(engine.dispose)
            migrate(engine)
            measurements += _measure_store(engine, store, count, report)
    return measurements


def _stores(stack: ExitStack) -> Iterator[tuple[str, str]]:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-bench-"))
    yield "SQLite", f"sqlite:///{folder}/store.db"
    if programs := binaries():
        cluster = stack.enter_context(running_cluster(programs, durable=True))
        cluster.run("CREATE DATABASE bench")
        yield "PostgreSQL", cluster.url("bench")


def _measure_store(engine: Engine, store: str, count: int, report: Report) -> list[Measurement]:
    chance = random.Random(1)  # no secret
    _fill(engine, count, chance, report)
    full_bytes = store_bytes(engine)
    floor_count = max(PORTION, count // _FLOOR_SHARE // PORTION * PORTION)
    floor = floor_count / _bare_s(engine, floor_count)
    with engine.connect() as connection:
        plan = LogPlan(
            (Expiry("entityUpdated", None, frozenset(), _OLD_MS + count),),
            tuple(readers_on(connection, needs_lake=False)),
        )
    began_s = time.perf_counter()
    for counts in EventRemoval(engine, portion=PREVIEW_PORTION).preview(plan):
        previewed_count = sum(counts.removed.values())
    preview_s = time.perf_counter() - began_s
    assert RetentionProgress(engine).claim("bench", now_ms=1)
    longest_s, removed, portion_count, began_s = 0.0, 0, 0, time.perf_counter()
    last_s = began_s
    for counts in EventRemoval(engine).remove(plan, "bench", lambda: 1):
        now_s = time.perf_counter()
        longest_s, last_s = max(longest_s, now_s - last_s), now_s
        removed, portion_count = sum(counts.removed.values()), counts.portions
    took_s = time.perf_counter() - began_s
    _vacuum(engine)
    name = f"{count:,} events, {store}"
    return [
        Measurement("retention", f"{name}: dry run", previewed_count / preview_s, "events/s", None, previewed_count),
        Measurement("retention", f"{name}: removed", removed / took_s, "events/s", floor, removed),
        Measurement(
            "retention", f"{name}: portions", portion_count / took_s, "portions/s", floor / PORTION, portion_count
        ),
        Measurement("retention", f"{name}: longest transaction", longest_s * 1000, "ms", None, portion_count),
        Measurement("retention", f"{name}: store before", full_bytes / 1e6, "MB", None, count),
        Measurement(
            "retention", f"{name}: store after a vacuum", store_bytes(engine) / 1e6, "MB", None, count - removed
        ),
    ]


def _fill(engine: Engine, count: int, chance: random.Random, report: Report) -> None:
    for start in range(0, count, _AT_ONCE):
        report(start, count)
        event_rows = log_rows(range(start, min(start + _AT_ONCE, count)), chance)
        with writing(engine) as connection:
            connection.execute(insert(change_event), event_rows)
            connection.execute(insert(notification), [_entry(row) for row in event_rows[1::10]])
    if engine.dialect.name == "postgresql":
        with writing(engine) as connection:
            connection.execute(text("SELECT setval('change_event_log_offset_seq', :last)"), {"last": count})
    with writing(engine) as connection:
        progress = {"query_name": MATCH_STREAM, "log_offset": readable_end(connection), "updated_at_ms": 1}
        connection.execute(insert(pipeline_progress), progress)


def log_rows(places: Iterable[int], chance: random.Random) -> list[dict[str, object]]:
    """Return rows of the log, one per place (its offset less one): changes of 20,000 tables."""
    return [_event(place, chance) for place in places]


def _event(place: int, chance: random.Random) -> dict[str, object]:
    event_id, entity_id = str(UUID(int=chance.getrandbits(128))), str(UUID(int=chance.randrange(ENTITY_COUNT)))
    document = {"id": event_id, "entityId": entity_id, "text": chance.randbytes(300).hex()}
    return {
        "log_offset": place + 1,
        "id": event_id,
        "event_type": "entityUpdated" if place % 10 else "entityCreated",
        "entity_type": "table",
        "entity_id": entity_id,
        "entity_fqn": "pg.store.public.orders",
        "user_name": "ana",
        "timestamp_ms": _OLD_MS + place,
        "document": json.dumps(document),
        "derived": json.dumps({"fieldsUpdated": ["description"], "tags": [], "owners": []}),
    }


def _entry(event: dict[str, object]) -> dict[str, object]:
    return {
        "id": str(UUID(str(event["id"])[::-1].replace("-", ""))),
        "event_id": event["id"],
        "log_offset": event["log_offset"],
        "channel": "ActivityFeed",
        "recipient": "ana",
        "recipient_id": event["entity_id"],
        "reasons": "[]",
        "due_at_ms": 1,
        "created_at_ms": 1,
    }


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
