"""Tests of ``client.consume`` and ``tocsin events consume`` on a topic that a relay writes, with a real broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from tests.acceptance.relay.conftest import NEEDS_JAVA, Office, new_office, wait_until_relayed
from tests.kafka import Kafka

from tocsin.client import AsyncClient, Client, EventBatch, KafkaSource
from tocsin.errors import Unavailable
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.settings import Settings
from tocsin.store.eventlog.log import EventLog

pytestmark = [NEEDS_JAVA, pytest.mark.slow, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]

NOWHERE = "http://127.0.0.1:1"
"""The client's server, which consumers of Kafka do not need."""


def ids(office: Office) -> list[str]:
    """Return the ids of all events, in log order."""
    return [one.event.id for one in EventLog(office.engine).list_events(EventSelection(), limit=9_999)]


def keys(batches: list[EventBatch]) -> list[str]:
    return [change.idempotency_key for batch in batches for change in batch.changes]


def source(kafka: Kafka, office: Office, group: str, **fields: object) -> KafkaSource:
    ended: dict[str, object] = {"stop_at_end": True, "settings": {"fetch.wait.max.ms": "20"}, **fields}
    return KafkaSource(kafka.servers, group, [office.topic], **ended)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.client.consume.kafka_source.POLL_S", 0.05)
    monkeypatch.setattr("tocsin.client.consume.loop.LONGEST_WAIT_S", 0.1)


@pytest.fixture(scope="module")
def relayed_office(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """An office whose events are in its topic, for all tests: each reads it as a group of its own."""
    with ExitStack() as stack:
        office = new_office(stack, tmp_path_factory.mktemp("office"), Settings(kafka_servers=kafka.servers))
        office.describe(40)
        with office.relaying():
            wait_until_relayed(office)
        yield office


def test_every_event_comes_once_by_type_and_in_order(kafka: Kafka, relayed_office: Office) -> None:
    batches: list[EventBatch] = []
    with Client(NOWHERE) as client:
        client.consume(batches.append, source(kafka, relayed_office, "types"), batch_size=10, group_by="entityType")
        assert Counter(keys(batches)) == Counter(ids(relayed_office))
        assert all({one.entity_type for one in batch.changes} == {batch.entity_type} for batch in batches)
        by_entity: dict[str, list[str]] = {}
        for batch in batches:
            for change in batch.changes:
                by_entity.setdefault(change.entity_id, []).append(change.idempotency_key)
        log_order = {event_id: number for number, event_id in enumerate(ids(relayed_office))}
        assert all(one == sorted(one, key=log_order.__getitem__) for one in by_entity.values())
        count = len(batches)
        client.consume(batches.append, source(kafka, relayed_office, "types"))
        assert len(batches) == count


async def test_a_failed_batch_comes_again_and_so_do_events_behind_it(kafka: Kafka, relayed_office: Office) -> None:
    batches: list[EventBatch] = []

    async def fail_third(batch: EventBatch) -> None:
        if len(batches) == 2:
            raise ValueError("away")
        batches.append(batch)

    async with AsyncClient(NOWHERE) as client:
        with pytest.raises(ValueError, match="away"):
            await client.consume(fail_third, source(kafka, relayed_office, "failing"), batch_size=10, retries=1)
        await client.consume(batches.append, source(kafka, relayed_office, "failing"), batch_size=10)
    assert Counter(keys(batches)) == Counter(ids(relayed_office))


def test_two_consumers_of_a_group_share_the_topic(kafka: Kafka, relayed_office: Office) -> None:
    batches: list[EventBatch] = []

    def consume() -> None:
        with Client(NOWHERE) as client:
            client.consume(batches.append, source(kafka, relayed_office, "shared"), batch_size=5)

    threads = [threading.Thread(target=consume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert set(keys(batches)) == set(ids(relayed_office))


def test_a_consumer_that_is_killed_before_it_commits_gets_the_batch_again(
    kafka: Kafka, relayed_office: Office, tmp_path: Path
) -> None:
    program = tmp_path / "handle.py"
    program.write_text(
        "import json, os, signal, sys, pathlib\n"
        "keys = [one['idempotencyKey'] for one in json.load(sys.stdin)]\n"
        "open('keys', 'a').write(json.dumps(keys) + '\\n')\n"
        "if len(open('keys').readlines()) == 2: os.kill(os.getppid(), signal.SIGKILL)\n"
    )
    options = [
        "--kafka-servers",
        kafka.servers,
        "--kafka-group",
        f"killed-{uuid4()}",
        "--kafka-topic",
        relayed_office.topic,
    ]
    config = tmp_path / "kafka.properties"
    config.write_text("# a dead consumer is noticed soon\nsession.timeout.ms=1500\nheartbeat.interval.ms=300\n")
    options += ["--kafka-config", str(config), "--batch-size", "15", "--once", "--exec", f"{sys.executable} {program}"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src"), "TOCSIN_SERVER": NOWHERE}
    codes = []
    for _ in range(2):
        words = [sys.executable, "-m", "tocsin", "events", "consume", *options]
        codes.append(subprocess.run(words, cwd=tmp_path, env=environment, timeout=120, check=False).returncode)
    assert codes == [-9, 0]
    handled_keys = [key for line in (tmp_path / "keys").read_text().splitlines() for key in json.loads(line)]
    assert set(handled_keys) == set(ids(relayed_office))
    assert max(Counter(handled_keys).values()) == 2


def test_a_topic_or_broker_that_is_not_there_is_named(
    kafka: Kafka, relayed_office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = KafkaSource(kafka.servers, "missing", ["no-such-topic"])
    with Client(NOWHERE) as client, pytest.raises(Unavailable, match="no topic no-such-topic"):
        client.consume(lambda _: None, missing)
    monkeypatch.setattr("tocsin.client.consume.kafka_source.REACHED_WITHIN_S", 0.5)
    with (
        Client(NOWHERE) as client,
        pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 cannot be reached: Failed .*\(_TRANSPORT\)$"),
    ):
        client.consume(lambda _: None, KafkaSource("127.0.0.1:1", "away"))


def test_a_consumer_that_takes_too_long_does_not_stop(kafka: Kafka, relayed_office: Office) -> None:
    batches: list[EventBatch] = []
    pause = threading.Event()

    def handle(batch: EventBatch) -> None:
        batches.append(batch)
        if len(batches) == 1:
            pause.wait(1.5)

    slow = source(kafka, relayed_office, "slow", handle_seconds=1)
    with Client(NOWHERE) as client:
        client.consume(handle, slow, batch_size=10)
    assert set(keys(batches)) == set(ids(relayed_office))
