"""Benchmark of the relay: events of the log into Kafka, and how long one takes from its commit to a consumer.

A real broker and ``tocsin relay``, on loopback. The rate is that of a relay that leads, so without its start; its floor
is a bare producer that writes the same records in transactions of the same size. The processor time of an event is that
of the relay's process, threads of the client's library included, and of the process of the bare producer: it says what
an event costs on a busy machine, too. The floor of the latency is a transaction of one record.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import orjson
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import NewTopic
from sqlalchemy import Engine, insert
from tests.kafka import Kafka, running_kafka
from uuid_utils import uuid7

from bench.measured import Measurement, Report, in_alternation, p50, p95, scale_count
from bench.running import Running, running, tocsin_command
from tocsin.clock import SystemClock
from tocsin.relay.build import restart
from tocsin.relay.kafka.topics import RECORD_OVERHEAD_BYTES
from tocsin.server.bootstrap import first_start
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine, writing
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.log import EventLog

EVENT_COUNT, EVENT_BYTES, ROUND_COUNT, LATENCY_COUNT = 60_000, 1_000, 3, 300
_BATCH = 2_000
_WITHIN_S = 120.0
_POLL_S = 0.002


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure events per second, and milliseconds until a consumer has one."""
    events = scale_count(EVENT_COUNT, scale, least=2 * _BATCH)
    rounds = scale_count(ROUND_COUNT, scale, least=1)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-bench-")))
        kafka = stack.enter_context(running_kafka(folder / "kafka"))
        log = _Log(stack, folder, kafka)
        report(0, 2)
        times = in_alternation(lambda: log.relay(events), lambda: log.floor(events), rounds=rounds, warm_ups=1)
        rate = times.rate("relay", "events of 1 kB from the log into Kafka", "events/s", events, aim="20,000")
        report(1, 2)
        latencies = log.latencies_ms(scale_count(LATENCY_COUNT, scale, least=10))
        floors = log.floor_latencies_ms(len(latencies))
    latency_rows = [
        Measurement(
            "relay", f"commit to consumer, {name}", rank(latencies), "ms", rank(floors), len(latencies), aim=aim
        )
        for name, rank, aim in (("p50", p50, "150"), ("p95", p95, "400"))
    ]
    processor = Measurement(
        "relay", "processor time of an event", median(log.costs_us), "µs", median(log.floor_costs_us), events
    )
    memory = Measurement("relay", "peak memory", max(log.peaks_mib), "MiB", None, rounds, aim="150")
    return [rate, processor, *latency_rows, memory]


class _Log:
    """A log of which each round relays new events, to a topic and by a relay of its own."""

    def __init__(self, stack: ExitStack, folder: Path, kafka: Kafka) -> None:
        self._kafka = kafka
        self._settings = Settings(data_dir=folder, kafka_servers=kafka.servers)
        self._engine = open_engine(self._settings.store_url(), synchronous="NORMAL")
        stack.callback(self._engine.dispose)
        first_start(self._engine, self._settings)
        self._names = (f"relay-{number}" for number in count())
        self.peaks_mib: list[float] = []
        self.costs_us: list[float] = []
        self.floor_costs_us: list[float] = []

    def relay(self, events: int) -> float:
        """Return how long new events take a relay that has written its first transaction."""
        first = EventLog(self._engine).readable_end()
        _append(self._engine, events)
        name, end = next(self._names), first + events
        with self._relaying(name, restart_at=str(first)) as relay:
            relay.until(lambda: self._offset_of(name) > first, every_s=_POLL_S)
            started_s, start, before_s = time.perf_counter(), self._offset_of(name), relay.processor_s()
            relay.until(lambda: self._offset_of(name) >= end, every_s=_POLL_S)
            taken_s = time.perf_counter() - started_s
            self.costs_us.append((relay.processor_s() - before_s) * 1e6 / (end - start))
        return taken_s * events / (end - start)

    def _offset_of(self, name: str) -> int:
        return EventLog(self._engine).progress(f"relay {name}")

    def floor(self, events: int) -> float:
        """Return how long a bare producer takes for as many records."""
        producer = Producer(
            {
                "bootstrap.servers": self._kafka.servers,
                "transactional.id": str(uuid4()),
                "compression.type": "gzip",
                "message.max.bytes": EVENT_BYTES + RECORD_OVERHEAD_BYTES,
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        topic = self._topic("floor")
        values = [(str(uuid4()), orjson.dumps(_document(str(uuid7())))) for _ in range(events)]
        started_s, before_s = time.perf_counter(), time.process_time()
        producer.init_transactions()
        for start in range(0, events, _BATCH):
            producer.begin_transaction()
            for key, value in values[start : start + _BATCH]:
                producer.produce(topic, value=value, key=key)
            producer.commit_transaction()
        self.floor_costs_us.append((time.process_time() - before_s) * 1e6 / events)
        return time.perf_counter() - started_s

    def latencies_ms(self, times: int) -> list[float]:
        """Return how long each of some events, written one by one, takes from its commit to a consumer."""
        name = next(self._names)
        first = EventLog(self._engine).readable_end()
        with self._relaying(name, restart_at=str(first)), self._consuming(name) as consumer:
            _append(self._engine, 1)
            _next_record(consumer)
            return [self._latency_ms(consumer) for _ in range(times)]

    def floor_latencies_ms(self, times: int) -> list[float]:
        """Return how long each of some transactions of one record takes to a consumer."""
        producer = Producer(
            {"bootstrap.servers": self._kafka.servers, "transactional.id": str(uuid4()), "linger.ms": 0}
        )
        producer.init_transactions()
        topic = self._topic("single")
        taken_ms = []
        with self._consuming("single") as consumer:
            for _ in range(times + 1):
                started_s = time.perf_counter()
                producer.begin_transaction()
                producer.produce(topic, value=b"{}")
                producer.commit_transaction()
                _next_record(consumer)
                taken_ms.append((time.perf_counter() - started_s) * 1000)
        return taken_ms[1:]

    def _latency_ms(self, consumer: Consumer) -> float:
        _append(self._engine, 1)
        started_s = time.perf_counter()
        _next_record(consumer)
        return (time.perf_counter() - started_s) * 1000

    def _topic(self, name: str) -> str:
        if name not in self._kafka.admin.list_topics(timeout=30).topics:
            self._kafka.admin.create_topics([NewTopic(name, 3)])[name].result(30)
        return name

    @contextmanager
    def _relaying(self, name: str, *, restart_at: str) -> Iterator[Running]:
        settings = self._settings.model_copy(update={"relay_name": name, "kafka_topic": name})
        restart(settings, restart_at)
        with running(tocsin_command("relay"), settings, name) as relay:
            yield relay
            self.peaks_mib.append(relay.peak_mib())

    @contextmanager
    def _consuming(self, topic: str) -> Iterator[Consumer]:
        consumer = Consumer(
            {
                "bootstrap.servers": self._kafka.servers,
                "group.id": str(uuid4()),
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 10,
                "topic.metadata.refresh.interval.ms": 200,
            }
        )
        consumer.subscribe([self._topic(topic)])
        try:
            yield consumer
        finally:
            consumer.close()


def _next_record(consumer: Consumer) -> Message:
    deadline_s = time.monotonic() + _WITHIN_S
    while time.monotonic() < deadline_s:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            return message
    raise AssertionError(f"no record came within {_WITHIN_S:.0f} seconds")


def _append(engine: Engine, events: int) -> None:
    """Append events of 1 kB about as many tables to the log, as a write of each would leave it."""
    for start in range(0, events, _BATCH):
        with writing(engine) as connection:
            connection.execute(insert(change_event), [_row() for _ in range(min(_BATCH, events - start))])


def _row() -> dict[str, Any]:  # Any: column values
    event_id = str(uuid7())
    document = _document(event_id)
    return {
        "id": event_id,
        "event_type": document["eventType"],
        "entity_type": document["entityType"],
        "entity_id": document["entityId"],
        "entity_fqn": document["entityFullyQualifiedName"],
        "user_name": document["userName"],
        "timestamp_ms": document["timestamp"],
        "document": orjson.dumps(document).decode(),
        "derived": "{}",
    }


def _document(event_id: str) -> dict[str, Any]:  # Any: JSON values
    change = {"name": "description", "oldValue": "o" * 220, "newValue": "n" * 220}
    document: dict[str, Any] = {  # Any: JSON values
        "id": event_id,
        "eventType": "entityUpdated",
        "entityType": "table",
        "entityId": str(uuid4()),
        "entityFullyQualifiedName": "warehouse.sales.public.orders",
        "previousVersion": 0.1,
        "currentVersion": 0.2,
        "userName": "dana",
        "timestamp": SystemClock().now_ms(),
        "changeDescription": {"fieldsAdded": [], "fieldsUpdated": [change], "fieldsDeleted": []},
    }
    document["changeDescription"]["previousVersion"] = 0.1
    return document
