"""Benchmark of events in: changes by another system, from a Kafka topic and by requests, into the catalogue.

Each event makes a table. From the topic: a real broker and ``tocsin ingest``, on loopback; the rate is that of a
process that has applied its first events, so without its start. By requests: one client that sends lists to a server.
The floor writes the same tables in bulk, as many in a transaction.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import orjson
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from sqlalchemy import func, select
from tests.kafka import Kafka, running_kafka

from bench.measured import Measurement, Report, in_alternation, scale_count
from bench.running import running, serving, settings_in, tocsin_command
from tocsin.catalogue.writes import BulkWrites, Writes
from tocsin.clock import SystemClock
from tocsin.ingest.loop import BATCH
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.server.bootstrap import first_start
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine, reading
from tocsin.store.database.log_tables import ingested_event

EVENT_COUNT, COLUMN_COUNT, REQUEST_COUNT, ROUND_COUNT = 5_000, 10, 500, 3
_BOT, _SCHEMA = "feeder", "pg.store.public"
_POLL_S = 0.01
_COLUMNS: list[Document] = [{"name": f"column{number}", "dataType": "INT"} for number in range(COLUMN_COUNT)]


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure events per second, from the topic to the commit."""
    events = scale_count(EVENT_COUNT, scale, least=4 * BATCH)
    rounds = scale_count(ROUND_COUNT, scale, least=1)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-bench-")))
        kafka = stack.enter_context(running_kafka(folder / "kafka"))
        feed = _Feed(stack, folder, kafka)
        report(0, 2)
        times = in_alternation(lambda: feed.ingest(events), lambda: feed.floor(events), rounds=rounds, warm_ups=1)
        report(1, 2)
        with feed.sending() as send:
            sent_times = in_alternation(lambda: send(events), lambda: feed.floor(events), rounds=rounds, warm_ups=1)
    row_name = f"each a table of {COLUMN_COUNT} columns"
    return [
        times.rate("ingest", f"events from a topic, {row_name}", "events/s", events),
        sent_times.rate("ingest", f"events by requests of {REQUEST_COUNT}, {row_name}", "events/s", events),
    ]


class _Feed:
    """A catalogue into which each round brings new tables."""

    def __init__(self, stack: ExitStack, folder: Path, kafka: Kafka) -> None:
        self._kafka, self._names = kafka, (f"t{number}" for number in count())
        self._topics = (f"feed-{number}" for number in count())
        self._settings = settings_in(folder, kafka_servers=kafka.servers, ingest_bot=_BOT)
        self._engine = open_engine(self._settings.store_url(), synchronous="NORMAL")
        stack.callback(self._engine.dispose)
        self._password = first_start(self._engine, self._settings) or ""
        _make_place_and_bot(Writes(SqlCatalogue(self._engine), SystemClock()))

    def ingest(self, events: int) -> float:
        """Return how long so many events take a process that has applied its first ones."""
        topic = next(self._topics)
        self._kafka.admin.create_topics([NewTopic(topic, 1)])[topic].result(30)
        self._send(topic, events)
        before = self._applied_count()
        settings = self._settings.model_copy(update={"ingest_topic": topic, "ingest_group": topic})
        with running(tocsin_command("ingest"), settings, topic) as process:
            process.until(lambda: self._applied_count() > before, every_s=_POLL_S)
            started_s, start = time.perf_counter(), self._applied_count()
            process.until(lambda: self._applied_count() >= before + events, every_s=_POLL_S)
            taken_s = time.perf_counter() - started_s
        return taken_s * events / (before + events - start)

    @contextmanager
    def sending(self) -> Iterator[Callable[[int], float]]:
        """Run a server; yield what sends it so many events as the bot, and returns how long that takes."""
        with serving(self._settings, self._password) as server, server.client() as client:
            bot = client.get(f"/users/name/{_BOT}").raise_for_status().json()
            token = client.put(f"/users/generateToken/{bot['id']}").raise_for_status().json()["JWTToken"]
            client.headers["Authorization"] = f"Bearer {token}"

            def send(events: int) -> float:
                feed = list(self._events(events))
                started_s = time.perf_counter()
                for start in range(0, events, REQUEST_COUNT):
                    answer = client.post("/events/ingest", json=feed[start : start + REQUEST_COUNT])
                    counts = answer.raise_for_status().json()["counts"]
                    if counts["applied"] != len(feed[start : start + REQUEST_COUNT]):
                        raise AssertionError(f"not all events were applied: {counts}")
                return time.perf_counter() - started_s

            yield send

    def floor(self, events: int) -> float:
        """Return how long a bulk write of as many tables takes, in transactions of the same size."""
        bulk = BulkWrites(SqlCatalogue(self._engine), SystemClock())
        tables = list(self._tables(events))
        started_s = time.perf_counter()
        for start in range(0, events, BATCH):
            bulk.put("table", tables[start : start + BATCH], actor=SYSTEM)
        return time.perf_counter() - started_s

    def _send(self, topic: str, events: int) -> None:
        producer = Producer({"bootstrap.servers": self._kafka.servers})
        for event in self._events(events):
            producer.produce(topic, orjson.dumps(event))
        producer.flush()

    def _events(self, number: int) -> Iterator[Document]:
        for table in self._tables(number):
            yield {"id": table["name"], "eventType": "entityCreated", "entityType": "table", "entity": table}

    def _tables(self, number: int) -> Iterator[Document]:
        for _ in range(number):
            yield {"name": next(self._names), "databaseSchema": _SCHEMA, "columns": _COLUMNS}

    def _applied_count(self) -> int:
        with reading(self._engine) as connection:
            return connection.execute(select(func.count()).select_from(ingested_event)).scalar_one()


def _make_place_and_bot(writes: Writes) -> None:
    writes.create("databaseService", {"name": "pg", "serviceType": "Postgres"}, actor=SYSTEM)
    writes.create("database", {"name": "store", "service": "pg"}, actor=SYSTEM)
    writes.create("databaseSchema", {"name": "public", "database": "pg.store"}, actor=SYSTEM)
    rules = [{"name": "all", "effect": "allow", "resources": ["all"], "operations": ["All"]}]
    writes.create("policy", {"name": "Feed", "rules": rules}, actor=SYSTEM)
    writes.create("role", {"name": "Feed", "policies": [{"type": "policy", "name": "Feed"}]}, actor=SYSTEM)
    roles = [{"type": "role", "name": "Feed"}]
    request = {"name": _BOT, "email": f"{_BOT}@example.com", "isBot": True, "roles": roles}
    writes.create("user", request, actor=SYSTEM)
