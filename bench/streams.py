"""Benchmark of live streams: 5,000 people have one open on one server, and one event tells all of them, or one.

A push takes from the commit of the notifications until the entry has arrived at its client, all on this machine. The
floor is a bare server that writes the same bytes to as many connections. Memory is what the server's processes hold
more than without streams. Next: ``bench/latency.py``.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import urlsplit
from uuid import uuid5

from sqlalchemy import Engine, insert, select

from bench.latency import create_place
from bench.measured import Measurement, Report, p50, p95, scale_count
from bench.running import Served, family, open_store, resident_mib, serving, settings_in
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM, Person
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.server.login.tokens import Tokens
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import change_event, notification, person

STREAM_COUNT, TO_ALL_COUNT, TO_ONE_COUNT = 5_000, 3, 100
_OPENED_AT_ONCE, _BETWEEN_S, _WITHIN_S = 50, 0.1, 120.0
_LIFETIME_S = 86_400.0
_AIM = "1,000"
_EVENT_ID = re.compile(rb'"eventId": ?"([^"]{36})"')


@dataclass
class Listener:
    """One open connection: when each entry has arrived, by the id of its event."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    arrived_s: dict[str, float] = field(default_factory=dict)

    async def listen(self) -> None:
        """Note each entry as it arrives, until the connection ends."""
        with suppress(ConnectionError):
            while line := await self.reader.readline():
                if line.startswith(b"data: {") and (match := _EVENT_ID.search(line)):
                    self.arrived_s.setdefault(match[1].decode(), time.perf_counter())


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure pushes to all and to one of the open streams, and the memory of a stream."""
    count = scale_count(STREAM_COUNT, scale, least=50)
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        connection_count = count + 100
        settings = settings_in(
            Path(folder), streams=count, connections=connection_count, connections_per_source=connection_count
        )
        with open_store(settings) as (engine, password):
            table_id = create_place(engine, settings).table_id
            people, tokens = _create_people(engine, count)
            report(1, 2)
            with serving(settings, password) as server:
                before_mib = _held_mib(server)
                return asyncio.run(
                    _measure(engine, server, table_id, list(zip(people, tokens, strict=True)), before_mib)
                )


async def _measure(
    engine: Engine, server: Served, table_id: str, people: Sequence[tuple[str, str]], before_mib: float
) -> list[Measurement]:
    listeners = await _open_all(server, people)
    tasks = [asyncio.create_task(one.listen()) for one in listeners]
    memory_kib = (_held_mib(server) - before_mib) * 1024 / len(people)
    ids = [user_id for user_id, _ in people]
    await _push(engine, table_id, "warm-up", listeners, ids)  # streams begin to listen after they have opened
    to_all_ms: list[float] = []
    for number in range(TO_ALL_COUNT):
        to_all_ms += await _push(engine, table_id, f"to all {number}", listeners, ids)
    to_one_ms, rng = list[float](), Random(3)
    for number in range(scale_count(TO_ONE_COUNT, len(people) / STREAM_COUNT, least=10)):
        at = rng.randrange(len(ids))
        to_one_ms += await _push(engine, table_id, f"to one {number}", [listeners[at]], [ids[at]])
        await asyncio.sleep(_BETWEEN_S)
    for task, listener in zip(tasks, listeners, strict=True):
        task.cancel()
        listener.writer.close()
    floor_ms = await _bare_push_ms(len(people))
    prefix = f"push to each of {len(people):,} streams of one event"
    return [
        Measurement("streams", f"{prefix}, p50", p50(to_all_ms), "ms", p50(floor_ms), len(to_all_ms)),
        Measurement("streams", f"{prefix}, p95", p95(to_all_ms), "ms", p95(floor_ms), len(to_all_ms), _AIM),
        Measurement("streams", "push to one of them, p95", p95(to_one_ms), "ms", None, len(to_one_ms), _AIM),
        Measurement("streams", "memory of a stream", memory_kib, "KiB", None, len(people)),
    ]


async def _open_all(server: Served, people: Sequence[tuple[str, str]]) -> list[Listener]:
    listeners: list[Listener] = []
    for start in range(0, len(people), _OPENED_AT_ONCE):
        part = people[start : start + _OPENED_AT_ONCE]
        listeners += await asyncio.gather(*(_open(server.url, *one) for one in part))
    return listeners


async def _open(url: str, user_id: str, token: str) -> Listener:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**20)
    path = f"/api/v1/users/{user_id}/notifications/stream"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    status = await reader.readline()
    if b" 200 " not in status:
        raise AssertionError(f"a stream was refused: {(status + await reader.read()).decode()}")
    while b": open" not in await reader.readline():
        pass
    return Listener(reader, writer)


async def _push(
    engine: Engine, table_id: str, text: str, listeners: Sequence[Listener], user_ids: Sequence[str]
) -> list[float]:
    """Notify people of a change; return when (milliseconds) it has arrived at each."""
    event = await asyncio.to_thread(_change, engine, table_id, text)
    await asyncio.to_thread(_notify, engine, event, user_ids)
    committed_s = time.perf_counter()
    event_id = str(event["id"])
    deadline_s = committed_s + _WITHIN_S
    while not all(event_id in one.arrived_s for one in listeners):
        if time.perf_counter() > deadline_s:
            missing = sum(event_id not in one.arrived_s for one in listeners)
            raise TimeoutError(f"{missing} streams have not got an entry within {_WITHIN_S:g} s")
        await asyncio.sleep(0.01)
    return [(one.arrived_s[event_id] - committed_s) * 1000 for one in listeners]


def _change(engine: Engine, table_id: str, text: str) -> Document:
    writes = Writes(SqlCatalogue(engine), SystemClock())
    patch = [{"op": "add", "path": "/description", "value": text}]
    written = writes.patch("table", Key.by_id(table_id), patch, actor=SYSTEM)
    if written.event is None:
        raise AssertionError("the change made no event")
    with reading(engine) as connection:
        place = select(change_event.c.log_offset).where(change_event.c.id == written.event.id)
        return {"id": written.event.id, "offset": connection.scalar(place)}


def _notify(engine: Engine, event: Document, user_ids: Sequence[str]) -> None:
    now_ms = SystemClock().now_ms()
    shared = {"event_id": event["id"], "log_offset": event["offset"], "channel": Channel.ACTIVITY_FEED.value}
    shared |= {"reasons": "[]", "due_at_ms": now_ms, "created_at_ms": now_ms}
    entries = [
        {**shared, "id": str(uuid5(NAMESPACE, f"{event['id']} {user}")), "recipient": user, "recipient_id": user}
        for user in user_ids
    ]
    with writing(engine) as connection:
        connection.execute(insert(notification), entries)


def _create_people(engine: Engine, count: int) -> tuple[list[str], list[str]]:
    """Make so many people who are logged in; return their ids and tokens."""
    ids = [f"00000000-0000-4000-9000-{number:012}" for number in range(count)]
    people = [Person(one, f"p{number}") for number, one in enumerate(ids)]
    tokens = Tokens(People(engine), SystemClock(), lifetime_s=_LIFETIME_S)
    with writing(engine) as connection:
        connection.execute(insert(person), [{"user_id": one.id, "name": one.name} for one in people])
    return ids, [tokens.issue(one).text for one in people]


def _held_mib(server: Served) -> float:
    return sum(map(resident_mib, family(server.running.process.pid)))


async def _bare_push_ms(count: int) -> list[float]:
    """Return how long a bare server takes to write an entry of 2 kB to each of so many connections."""
    writers: list[asyncio.StreamWriter] = []
    payload = b"data: " + b"x" * 2_000 + b"\n"

    def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]

    async def arrival_s(reader: asyncio.StreamReader) -> float:
        await reader.readline()
        return time.perf_counter()

    arrivals = [asyncio.create_task(arrival_s(reader)) for reader, _ in connections]
    await asyncio.sleep(0)
    started_s = time.perf_counter()
    for writer in writers:
        writer.write(payload)
    times_ms = [(one - started_s) * 1000 for one in await asyncio.gather(*arrivals)]
    for _, writer in connections:
        writer.close()
    server.close()
    return times_ms
