"""Benchmark of the end of the pipeline: what one task does with an event of many followers, on both stores.

The task runs in this process, without Spark: look up, resolve, schedule and store. The floor is a bare bulk insert of
as many of the same rows, in turns: COPY into the table itself on PostgreSQL, one prepared statement on SQLite.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid5

import pyarrow as pa
from sqlalchemy import Engine, insert, select
from tests.postgres import binaries, running_cluster

from bench.measured import Measurement, Report, in_alternation, scale_count
from tocsin.flow.pipeline import AlertFacts
from tocsin.flow.resolve.recipient_rules import RecipientRule
from tocsin.jobs.resolving import Notify, StoreAddress
from tocsin.model.notification import NAMESPACE, ReasonKind
from tocsin.model.preferences import DefaultPreferences
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import open_engine, reading, writing
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, follow, notification, person
from tocsin.store.outbox.preferences import SqlPreferences

FOLLOWER_COUNT, ROUND_COUNT, WARM_UP_COUNT = 100_000, 5, 1
_ASSET, _ALERT, _DESTINATION = (str(uuid5(NAMESPACE, name)) for name in ("asset", "alert", "destination"))
_ROWS_PER_STATEMENT = 10_000
_EVENT = {"event_type": "entityUpdated", "entity_type": "table", "entity_fqn": "a", "user_name": "somebody"}


@dataclass(frozen=True)
class Here:
    """The alerts, which need not be sent anywhere."""

    value: AlertFacts


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure notification rows per second on each store."""
    followers = scale_count(FOLLOWER_COUNT, scale, least=500)
    rounds = scale_count(ROUND_COUNT, scale, least=2)
    measurements: list[Measurement] = []
    with ExitStack() as stack:
        for name, url, aim in _stores(stack):
            report(len(measurements), 2)
            engine = open_engine(url, synchronous="NORMAL")
            stack.callback(engine.dispose)
            task = Task(engine, url, followers)
            times = in_alternation(task.run, task.floor, rounds=rounds, warm_ups=WARM_UP_COUNT)
            measurements.append(
                times.rate("sink", f"one event's recipients to stored rows, {name}", "rows/s", followers, aim=aim)
            )
    return measurements


def _stores(stack: ExitStack) -> Iterator[tuple[str, str, str]]:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-bench-"))
    yield "SQLite", f"sqlite:///{Path(folder) / 'tocsin.db'}", "40,000"
    programs = binaries()
    if programs is not None:
        cluster = stack.enter_context(running_cluster(programs, durable=True))
        cluster.run("CREATE DATABASE sink")
        yield "PostgreSQL", cluster.url("sink"), "60,000"


class Task:
    """A task that gets one event after the other."""

    def __init__(self, engine: Engine, url: str, followers: int) -> None:
        migrate(engine)
        SqlPreferences(engine).put_defaults(DefaultPreferences(), now_ms=0)  # nobody prefers anything
        self._engine, self._followers, self._numbers = engine, followers, count(1)
        rule = RecipientRule(_ALERT, "alert", _DESTINATION, Channel.ACTIVITY_FEED, ReasonKind.FOLLOWER)
        self._work = Notify(StoreAddress(url, "NORMAL"), Here(AlertFacts({_ALERT: (rule,)}, {})), 1)
        ids = [_id(f"follower {number}") for number in range(followers)]
        with writing(engine) as connection:
            for start in range(0, followers, _ROWS_PER_STATEMENT):
                user_ids = ids[start : start + _ROWS_PER_STATEMENT]
                connection.execute(insert(person), [{"user_id": one, "name": one, "email": one} for one in user_ids])
                follows = [{"entity_id": _ASSET, "user_id": one, "entity_type": "table"} for one in user_ids]
                connection.execute(insert(follow), follows)

    def run(self) -> float:
        """Return how long the next event takes."""
        event_id = _id(f"event {next(self._numbers)}")
        row = {"id": event_id, "entity_id": _ASSET, "timestamp_ms": 1, "document": "{}", "derived": "{}", **_EVENT}
        with writing(self._engine) as connection:
            connection.execute(insert(change_event), [row])
            offset = connection.scalar(select(change_event.c.log_offset).where(change_event.c.id == event_id))
        match = {"log_offset": offset, "event_id": event_id, "entity_id": _ASSET, "user_id": "somebody"}
        batch = pa.RecordBatch.from_pylist(
            [match | {"part_of": None, "timestamp_ms": 1, "subscription_id": _ALERT, "asked": 1}]
        )
        started_s = time.perf_counter()
        (counts,) = self._work(iter([batch]))
        took_s = time.perf_counter() - started_s
        if counts.to_pylist()[0]["notified"] != self._followers:
            raise AssertionError(f"{counts.to_pylist()} of {self._followers} followers were notified")
        return took_s

    def floor(self) -> float:
        """Return how long as many rows take, of which the first event's are the pattern, with one bare statement."""
        number = next(self._numbers)
        names = [column.name for column in notification.c]
        with reading(self._engine) as connection:
            query = select(notification).limit(self._followers)
            pattern_rows = [dict(row) for row in connection.execute(query).mappings()] or self._invent_rows()
        tuples = [
            tuple({**row, "id": _id(f"{number}/{at}")}[name] for name in names) for at, row in enumerate(pattern_rows)
        ]
        tuples.sort()
        started_s = time.perf_counter()
        with writing(self._engine) as connection:
            _bare(connection.connection.cursor(), names, tuples, is_sqlite=connection.dialect.name == "sqlite")
        return time.perf_counter() - started_s

    def _invent_rows(self) -> list[dict[str, Any]]:  # Any: a column's value
        pattern = {"event_id": _ASSET, "log_offset": 0, "channel": "ActivityFeed", "recipient": _ASSET}
        return [
            {
                **dict.fromkeys(column.name for column in notification.c),
                **pattern,
                "recipient_id": _id(f"follower {at}"),
            }
            | {"reasons": "[]", "due_at_ms": 1, "created_at_ms": 1}
            for at in range(self._followers)
        ]


def _bare(cursor: Any, names: list[str], tuples: list[tuple[Any, ...]], *, is_sqlite: bool) -> None:  # Any: a driver's
    columns = ", ".join(names)
    if is_sqlite:
        cursor.executemany(f"INSERT INTO notification ({columns}) VALUES ({', '.join('?' * len(names))})", tuples)
        return
    with cursor.copy(f"COPY notification ({columns}) FROM STDIN") as sink:
        for row in tuples:
            sink.write_row(row)


def _id(name: str) -> str:
    return str(uuid5(NAMESPACE, name))
