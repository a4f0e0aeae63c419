"""Benchmark of fan-out: one change of a table with 100,000 followers, from the micro-batch to stored notifications.

The event goes through ``jobs/match_stream.notify`` like any other; everybody has in-app notifications. The floor writes
the same rows once more with one bare statement in one transaction. Next: ``bench/page.py``.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
from sqlalchemy import Engine, delete, func, insert, select

from bench.backlog import size_at
from bench.estate import build_estate
from bench.measured import Measurement, Report, scaled
from bench.running import opened, settings_in
from bench.traffic import Row, append, templates
from tocsin.clock import SystemClock
from tocsin.jobs.match_stream import Parts, build, notify, warm_up
from tocsin.spark.schema import EVENTS
from tocsin.spark.sources import to_arrow
from tocsin.store.engine import reading, writing
from tocsin.store.tables import follow, notification, person

FOLLOWER_COUNT = 100_000
_AIM = "10"
_ROWS_PER_STATEMENT = 10_000
_WARM_UP_COUNT = 2


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure one event that goes to all followers, and check that every one of them has it."""
    count = scaled(FOLLOWER_COUNT, scale, least=500)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name, ExitStack() as stack:
        settings = settings_in(Path(name))
        engine, _password = stack.enter_context(opened(settings))
        build_estate(engine, size_at(scale), follows=10)
        parts = build(settings)
        stack.callback(parts.session.stop)
        followed, quiet = [one for one in templates(engine) if one.row["entity_type"] == "table"][:1] * 2
        _add_followers(engine, count, followed.row["entity_id"])
        warm_up(parts)
        for _ in range(_WARM_UP_COUNT):  # of a copy that nobody follows
            _notify(parts, engine, quiet.copied(1, SystemClock().now_ms()))
        report(1, 2)
        event = followed.copied(0, SystemClock().now_ms())
        notified_s = _notify(parts, engine, event)
        stored = _stored(engine, event["id"], count)
        floor_s = _again(engine, event["id"])
    name = "one event to its followers' stored notifications"
    return [Measurement("fanout", name, notified_s, "s", floor_s, stored, _AIM)]


def _add_followers(engine: Engine, count: int, entity_id: str) -> None:
    ids = [f"00000000-0000-4000-9000-{number:012}" for number in range(count)]
    people = [{"user_id": one, "name": f"follower{one[-6:]}", "email": f"f{one[-6:]}@example.com"} for one in ids]
    follows = [{"entity_id": entity_id, "user_id": one, "entity_type": "table"} for one in ids]
    with writing(engine) as connection:
        for start in range(0, count, _ROWS_PER_STATEMENT):
            connection.execute(insert(person), people[start : start + _ROWS_PER_STATEMENT])
            connection.execute(insert(follow), follows[start : start + _ROWS_PER_STATEMENT])


def _notify(parts: Parts, engine: Engine, row: Row) -> float:
    """Return how long a micro-batch of this one event takes."""
    (offset,) = append(engine, [row])
    logged = to_arrow([(offset, row["document"], row["derived"])])
    batch = parts.session.createDataFrame(pa.Table.from_batches([logged]), schema=EVENTS)
    started_s = time.perf_counter()
    notify(batch, parts)
    return time.perf_counter() - started_s


def _stored(engine: Engine, event_id: str, count: int) -> int:
    """Return how many notifications the event gave; raise if a follower has none."""
    of_event = notification.c.event_id == event_id
    with reading(engine) as connection:
        rows = int(connection.scalar(select(func.count()).where(of_event)) or 0)
        query = select(func.count(func.distinct(notification.c.recipient_id))).where(of_event)
        notified = int(
            connection.scalar(query.where(notification.c.recipient_id.like("00000000-0000-4000-9000-%"))) or 0
        )
    if notified != count:
        raise AssertionError(f"{notified} of {count} followers were notified")
    return rows


def _again(engine: Engine, event_id: str) -> float:
    """Return how long the same notifications take to be written with one bare statement."""
    of_event = notification.c.event_id == event_id
    with reading(engine) as connection:
        rows = [dict(row) for row in connection.execute(select(notification).where(of_event)).mappings()]
    with writing(engine) as connection:
        connection.execute(delete(notification).where(of_event))
    started_s = time.perf_counter()
    with writing(engine) as connection:
        connection.execute(insert(notification), rows)
    return time.perf_counter() - started_s
