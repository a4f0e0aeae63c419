"""Benchmark of fan-out: one change of a table with 100,000 and with 1,000,000 followers, to stored notifications.

The event goes through ``jobs/match_stream.notify`` like any other; everybody has in-app notifications. The floor writes
the same rows once more with one bare statement in one transaction. Then the same people follow another table and prefer
different things: the floor is the time without preferences. Memory is that of this process, Java and Spark's
Python workers, each at its own peak. Next: ``bench/page.py``.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
from sqlalchemy import Engine, delete, func, insert, select

from bench.backlog import size_at
from bench.estate import build_estate
from bench.measured import Measurement, Report, scale_count
from bench.running import family, open_store, peak_mib, settings_in
from bench.traffic import Row, Template, append, templates
from tocsin.clock import SystemClock
from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.jobs.match_stream import MatchStreamParts, build, notify, pipeline_engine, warm_up
from tocsin.model.preferences import Preferences
from tocsin.spark.log_columns import to_arrow
from tocsin.spark.schema import EVENTS
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.people_tables import notification_preference
from tocsin.store.database.tables import follow, notification, person

FOLLOWER_COUNTS, _AIMS = (100_000, 1_000_000), ("10", "1.15 x floor")
_ROWS_PER_STATEMENT = 10_000
_WARM_UP_COUNT = 2
_MOST_WORKERS_MIB = "1,024"
_PREFERENCES: tuple[dict[str, object], ...] = (
    {},
    {"kinds": {"description": {"ActivityFeed": "daily"}}, "timezone": "Asia/Kolkata"},
    {"kinds": {kind: {"ActivityFeed": "never"} for kind in ("description", "columns", "tag", "owner")}},
    {"frequency": "weekly", "quietHours": {"start": "22:00", "end": "08:00"}, "timezone": "America/New_York"},
    {"categories": {"tag": "daily"}, "kinds": {"columns": {"ActivityFeed": "hourly", "Email": "immediate"}}},
)
"""What the followers prefer in turns; one in five prefers nothing."""


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure one event that goes to all followers, and check that every one of them has it."""
    counts = [scale_count(count, scale, least=500) for count in FOLLOWER_COUNTS]
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as name, ExitStack() as stack:
        settings = settings_in(Path(name))
        engine, _password = stack.enter_context(open_store(settings))
        build_estate(engine, size_at(scale), follows=10)
        parts = build(settings, pipeline_engine(settings))
        stack.callback(parts.session.stop)
        tables = {one.row["entity_id"]: one for one in templates(engine) if one.row["entity_type"] == "table"}
        *popular_tables, choice_table, quiet = list(tables.values())[: len(counts) + 2]
        warm_up(parts)
        for _ in range(_WARM_UP_COUNT):  # of a copy that nobody follows
            _notify(parts, engine, quiet.copy_row(1, SystemClock().now_ms()))
        measurements = []
        for at, (count, aim, event) in enumerate(zip(counts, _AIMS, popular_tables, strict=True)):
            report(at, len(counts) + 1)
            measurements.append(_fan_out(parts, engine, event, count, aim))
        without_memory = _memory(counts[-1])
        report(len(counts), len(counts) + 1)
        measurements.append(_fan_out_by_preferences(parts, engine, choice_table, measurements[-1], counts[-1]))
        return [*measurements, *without_memory, *_memory(counts[-1], " with preferences", without_memory)]


def _fan_out(parts: MatchStreamParts, engine: Engine, template: Template, count: int, aim: str) -> Measurement:
    _add_followers(engine, count, template.row["entity_id"])
    event = template.copy_row(0, SystemClock().now_ms())
    notified_s = _notify(parts, engine, event)
    stored = _count_stored(engine, event["id"], count)
    floor_s = _bare_write_s(engine, event["id"])
    name = f"one event to {count:,} followers' stored notifications"
    return Measurement("fanout", name, notified_s, "s", floor_s, stored, aim)


def _fan_out_by_preferences(
    parts: MatchStreamParts, engine: Engine, template: Template, without: Measurement, count: int
) -> Measurement:
    """Let all followers follow another table, and prefer different things; the floor is the time without."""
    _add_followers(engine, count, template.row["entity_id"])
    _add_preferences(engine, count)
    event = template.copy_row(0, SystemClock().now_ms())
    notified_s = _notify(parts, engine, event)
    stored_count = _count_stored(engine, event["id"], count)
    of_event = notification.c.event_id == event["id"]
    with reading(engine) as connection:
        waiting_count = connection.scalar(
            select(func.count()).where(of_event, notification.c.due_at_ms > event["timestamp_ms"] + 60_000)
        )
        never_count = connection.scalar(select(func.count()).where(of_event, notification.c.due_at_ms == NEVER_MS))
    if not waiting_count and not never_count:
        raise AssertionError("nobody's preferences made a difference")
    name = f"the same to {count:,} followers with mixed preferences"
    return Measurement("fanout", name, notified_s, "s", without.figure, stored_count, "1.5 x floor")


def _add_preferences(engine: Engine, count: int) -> None:
    documents = [json.dumps(Preferences.model_validate(one).to_stored()) for one in _PREFERENCES]
    with writing(engine) as connection:
        for start in range(0, count, _ROWS_PER_STATEMENT):
            numbers = range(start, min(start + _ROWS_PER_STATEMENT, count))
            turns = [(number, number % len(documents)) for number in numbers]
            preferring = [
                {"user_id": _follower_id(number), "document": documents[turn], "updated_at_ms": 1}
                for number, turn in turns
                if turn
            ]
            connection.execute(insert(notification_preference), preferring)


def _memory(count: int, suffix: str = "", floors: Sequence[Measurement] = ()) -> list[Measurement]:
    """Return what Java and the Python workers held at their peaks; the floors are those of before."""
    started = [pid for pid in family(os.getpid()) if pid != os.getpid()]
    java = {pid for pid in started if Path(f"/proc/{pid}/comm").read_text().strip() == "java"}
    parts = {"Java": (java, ""), "Python workers": (set(started) - java, _MOST_WORKERS_MIB)}
    floor_by_name = {one.name: one.figure for one in floors}
    return [
        Measurement(
            *("fanout", f"memory, {name}{suffix}", sum(map(peak_mib, pids)), "MiB"),
            *(floor_by_name.get(f"memory, {name}"), count, aim),
        )
        for name, (pids, aim) in parts.items()
    ]


def _follower_id(number: int) -> str:
    return f"00000000-0000-4000-9000-{number:012}"


def _add_followers(engine: Engine, count: int, entity_id: str) -> None:
    ids = [_follower_id(number) for number in range(count)]
    with writing(engine) as connection:
        for start in range(0, count, _ROWS_PER_STATEMENT):
            user_ids = ids[start : start + _ROWS_PER_STATEMENT]
            people = [{"user_id": one, "name": f"f{one[-7:]}", "email": f"f{one[-7:]}@example.com"} for one in user_ids]
            follows = [{"entity_id": entity_id, "user_id": one, "entity_type": "table"} for one in user_ids]
            connection.execute(insert_into(connection, person).on_conflict_do_nothing(), people)
            connection.execute(insert(follow), follows)


def _notify(parts: MatchStreamParts, engine: Engine, row: Row) -> float:
    """Return how long a micro-batch of this one event takes."""
    (offset,) = append(engine, [row])
    logged = to_arrow([(offset, row["document"], row["derived"])])
    batch = parts.session.createDataFrame(pa.Table.from_batches([logged]), schema=EVENTS)
    started_s = time.perf_counter()
    notify(batch, parts)
    return time.perf_counter() - started_s


def _count_stored(engine: Engine, event_id: str, count: int) -> int:
    """Return how many notifications the event gave; raise if a follower has none."""
    of_event = notification.c.event_id == event_id
    with reading(engine) as connection:
        notification_count = int(connection.scalar(select(func.count()).where(of_event)) or 0)
        query = select(func.count(func.distinct(notification.c.recipient_id))).where(of_event)
        notified = int(
            connection.scalar(query.where(notification.c.recipient_id.like("00000000-0000-4000-9000-%"))) or 0
        )
    if notified != count:
        raise AssertionError(f"{notified} of {count} followers were notified")
    return notification_count


def _bare_write_s(engine: Engine, event_id: str) -> float:
    """Return how long the same notifications take to be written with one bare statement."""
    of_event = notification.c.event_id == event_id
    with reading(engine) as connection:
        notifications = [dict(row) for row in connection.execute(select(notification).where(of_event)).mappings()]
    with writing(engine) as connection:
        connection.execute(delete(notification).where(of_event))
    started_s = time.perf_counter()
    with writing(engine) as connection:
        connection.execute(insert(notification), notifications)
    return time.perf_counter() - started_s
