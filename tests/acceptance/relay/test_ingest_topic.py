"""Tests of the events of a topic with a real Kafka: each applied once, whatever is killed, refused or sent twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import orjson
import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import NewTopic
from sqlalchemy import func, select, text
from tests.acceptance.relay.conftest import KILLED_ON, NEEDS_JAVA, Office, reasons_in, wait_until_relayed
from tests.kafka import Kafka
from tests.soak import SOAK
from tests.waiting import until

from tocsin.errors import InvalidSetting
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.ingest.build import check_settings, measuring_lag, topic_ingest_of
from tocsin.ingest.loop import TopicIngest
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.log_tables import ingested_event
from tocsin.store.eventlog.lag_states import ConsumerGroups
from tocsin.store.eventlog.log import EventLog
from tocsin.threads import run_beside

pytestmark = [NEEDS_JAVA, pytest.mark.slow, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]

BOT = "feeder"
ORDERS = "pg.store.public.orders"
DONE_WITHIN_S = 60
KILLS = 8 if SOAK else 1
_MISSED_SOON = """
from tocsin.cli.main import main
from tocsin.ingest import topic

topic.MISSED_AFTER_S = 1.5
main()
"""
"""Program of a member whose partitions others get soon after it was killed."""

Headers = Sequence[tuple[str, bytes]]


@dataclass
class Feed:
    """A topic with events of another system, and those who apply them to an office's store."""

    kafka: Kafka
    office: Office
    settings: Settings
    processes: ExitStack

    @property
    def topic(self) -> str:
        """Return the name of the topic."""
        return self.settings.ingest_topic or ""

    def send(self, *events: Any, headers: Headers = (), key: str = "k", partition: int = 0) -> None:
        """Write records: bytes as they are, None as a tombstone, anything else as JSON."""
        producer = Producer({"bootstrap.servers": self.kafka.servers})
        for event in events:
            value = event if event is None or isinstance(event, bytes) else orjson.dumps(event)
            producer.produce(self.topic, value, key, partition=partition, headers=[*headers])
        assert producer.flush(30) == 0

    @contextmanager
    def ingesting(self, **changes: object) -> Iterator[None]:
        """Apply the events in a thread until the block ends."""
        with (
            topic_ingest_of(self.settings.model_copy(update=changes)) as topic_ingest,
            run_beside(topic_ingest.run, "topic ingest"),
        ):
            yield

    def start(self) -> subprocess.Popen[bytes]:
        """Start ``tocsin ingest`` as a process; it is killed at the end of the test."""
        names = ("data_dir", "database_url", "kafka_servers", "ingest_topic", "ingest_group", "ingest_bot")
        settings = {f"TOCSIN_{name.upper()}": getattr(self.settings, name) for name in names}
        environment = os.environ | {name: str(value) for name, value in settings.items() if value is not None}
        process = subprocess.Popen([sys.executable, "-c", _MISSED_SOON, "ingest"], env=environment)
        self.processes.callback(process.wait)
        self.processes.callback(process.kill)
        return process

    def events(self) -> list[ChangeEvent]:
        """Return the events of the log that the bot has made."""
        entries = EventLog(self.office.engine).list_events(EventSelection(user_name=BOT), limit=9_999)
        return [logged.event for logged in entries]

    def dead_letters(self) -> list[Message]:
        """Return the records of the dead-letter topic."""
        return self.kafka.read(f"{self.topic}-dead-letters")

    def applied_count(self) -> int:
        """Return how many events the store knows as applied."""
        with reading(self.office.engine) as connection:
            return connection.execute(select(func.count()).select_from(ingested_event)).scalar_one()

    def wait_for(self, count: int) -> None:
        """Wait until so many events are applied."""
        until(lambda: self.applied_count() >= count, within_s=DONE_WITHIN_S)


def make_bot(office: Office, **rule: Any) -> None:
    writes = office.company.writes
    rules = [{"name": "all", "effect": "allow", "resources": ["all"], "operations": ["All"], **rule}]
    writes.create("policy", {"name": "Feed", "rules": rules}, actor=SYSTEM)
    writes.create("role", {"name": "Feed", "policies": [{"type": "policy", "name": "Feed"}]}, actor=SYSTEM)
    request = {"name": BOT, "email": f"{BOT}@example.com", "isBot": True, "roles": [{"type": "role", "name": "Feed"}]}
    writes.create("user", request, actor=SYSTEM)


@pytest.fixture(autouse=True)
def read_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.ingest.loop.POLL_S", 0.05)


@pytest.fixture
def make_feed(kafka: Kafka, make_office: Callable[[str | None], Office]) -> Iterator[Callable[[str | None], Feed]]:
    with ExitStack() as stack:

        def make(database_url: str | None = None) -> Feed:
            office = make_office(database_url)
            make_bot(office)
            topic = f"feed-{uuid4().hex[:8]}"
            for future in kafka.admin.create_topics([NewTopic(topic, 4)]).values():
                future.result(30)
            changes: dict[str, object] = {"ingest_topic": topic, "ingest_group": f"group-{topic}", "ingest_bot": BOT}
            changes |= {"relay_max_event_bytes": 65_536}
            return Feed(kafka, office, office.settings.model_copy(update=changes), stack)

        yield make


@pytest.fixture
def feed(make_feed: Callable[[str | None], Feed]) -> Feed:
    return make_feed(None)


def description(new: str, old: str | None = None, fqn: str = ORDERS, **fields: Any) -> Document:
    """Return a change event of another system."""
    field_change = {"name": "description", "newValue": new} | ({"oldValue": old} if old else {})
    key = "fieldsUpdated" if old else "fieldsAdded"
    event = {"eventType": "entityUpdated", "entityType": "table", "entityFullyQualifiedName": fqn, "userName": "cem"}
    return event | {"changeDescription": {key: [field_change]}, **fields}


def table(number: int) -> Document:
    """Return an event of a new table."""
    name = f"t{number}"
    columns = [{"name": "id", "dataType": "INT"}]
    entity = {"name": name, "databaseSchema": "pg.store.public", "columns": columns}
    return {"id": f"e{number}", "eventType": "entityCreated", "entityType": "table", "entity": entity}


def facts_of(letter: Message) -> dict[str, bytes | None]:
    return {str(header[0]): header[1] for header in letter.headers() or ()}  # type: ignore[misc]


def test_events_in_all_modes_are_applied_by_the_bot(feed: Feed) -> None:
    feed.send(description("First."))
    envelope = {"specversion": "1.0", "id": "1", "source": "x", "type": "y", "data": description("Second.", "First.")}
    feed.send(envelope, headers=[("content-type", b"application/cloudevents+json")])
    attributes = {name: str(envelope[name]).encode() for name in ("specversion", "source", "type")} | {"id": b"2"}
    feed.send(description("Third.", "Second."), headers=[(f"ce_{name}", value) for name, value in attributes.items()])
    feed.send(None)
    with feed.ingesting():
        feed.wait_for(3)
    texts = [event.change_description.fields_updated for event in feed.events() if event.change_description]
    assert [one[0].new_value for one in texts if one] == ["Second.", "Third."]
    assert {event.user_name for event in feed.events()} == {BOT}
    assert feed.dead_letters() == []


def test_what_is_wrong_is_a_dead_letter_once_and_blocks_nothing(feed: Feed) -> None:
    """Fault scenario 52."""
    headers = [("trace", b"\xff\x00")]
    poison = [b"\xff\xfe", b"{", b"[]", b"", {"eventType": "policyViolation"}, description("x", "y")]
    feed.send(*poison, headers=headers, key="poison")
    feed.send(description("No.", fqn="pg.store.public.gone"), b'{"a": "\\u0000"}', b"[" * 100)
    feed.send(table(1))
    with feed.ingesting():
        feed.wait_for(1)
    letters = feed.dead_letters()
    assert [letter.value() for letter in letters[:4]] == poison[:4]
    assert {letter.key() for letter in letters[:6]} == {b"poison"}
    facts = [facts_of(letter) for letter in letters]
    assert [one["tocsin-dead-reason"] for one in facts] == [
        *[b"INVALID_INPUT"] * 4,
        b"NOT_INGESTED",
        b"CONFLICT",
        b"NOT_FOUND",
        *[b"INVALID_INPUT"] * 2,
    ]
    assert facts[0]["trace"] == b"\xff\x00"
    places = [(one["tocsin-dead-topic"], one["tocsin-dead-offset"]) for one in facts]
    assert places == [(feed.topic.encode(), str(number).encode()) for number in range(9)]
    with feed.ingesting():
        feed.send(b"x" * 80_000, table(2), key="large")
        feed.wait_for(2)
    *_, letter = letters = feed.dead_letters()
    assert (len(letters), letter.key(), letter.value()) == (10, b"large", None)
    assert facts_of(letter)["tocsin-dead-value"] == b"left out: too large"


@pytest.mark.parametrize("place", KILLED_ON)
def test_processes_that_are_killed_apply_each_event_once(
    make_feed: Callable[[str | None], Feed], place: str, request: pytest.FixtureRequest
) -> None:
    """Fault scenario 51."""
    feed = make_feed(None if place == "sqlite" else request.getfixturevalue(place))
    sent_count = 0
    for _ in range(KILLS):
        first, second = feed.start(), feed.start()
        for partition in range(4):
            feed.send(
                *(table(number) for number in range(sent_count + partition, sent_count + 200, 4)), partition=partition
            )
        sent_count += 200
        until(lambda: feed.applied_count() > sent_count - 200, within_s=DONE_WITHIN_S)  # noqa: B023  # asked at once
        first.send_signal(signal.SIGKILL)
        second.send_signal(signal.SIGKILL)
        first.wait()
        second.wait()
    with feed.ingesting():
        feed.wait_for(sent_count)
    names = sorted(event.entity_fully_qualified_name or "" for event in feed.events())
    assert names == sorted(f"pg.store.public.t{number}" for number in range(sent_count))
    assert feed.dead_letters() == []


def test_a_commit_that_is_lost_after_the_write_repeats_nothing(feed: Feed) -> None:
    """Fault scenario 51."""
    feed.send(*(table(number) for number in range(5)))
    losses = [OSError("killed here")]

    class _Lossy:
        def __init__(self, topic: Any) -> None:
            self.read, self.close, self._topic = topic.read, topic.close, topic

        def finish(self, *parts: Any) -> None:
            if losses:
                raise losses.pop()
            self._topic.finish(*parts)

    stop = threading.Event()
    with topic_ingest_of(feed.settings) as wired_ingest:
        topic_ingest = TopicIngest(wired_ingest._parts, lambda: _Lossy(wired_ingest._connect()))
        thread = threading.Thread(target=topic_ingest.run, args=(stop,))
        thread.start()
        until(lambda: not losses, within_s=DONE_WITHIN_S)
        feed.send(table(5))
        feed.wait_for(6)
        stop.set()
        thread.join()
    assert len(feed.events()) == 6


def test_events_that_the_relay_wrote_come_to_rest(feed: Feed) -> None:
    """Fault scenario 54: the relay writes to the topic that is read."""
    feed.office.describe(3)
    office = feed.office
    with office.relaying(kafka_topic=feed.topic), feed.ingesting():
        wait_until_relayed(office)
        feed.send(table(1))
        feed.wait_for(1)
        wait_until_relayed(office)
        feed.send(table(2))
        feed.wait_for(2)
        wait_until_relayed(office)
    assert len(feed.events()) == 2
    assert feed.applied_count() == 2
    assert feed.dead_letters() == []


def test_without_a_bot_that_may_ingest_the_events_stay_in_the_topic(
    feed: Feed, relay_log: list[MutableMapping[str, Any]]
) -> None:
    feed.send(table(1))
    with feed.ingesting(ingest_bot="nobody"):
        until(lambda: "Bot 'nobody' is missing" in reasons_in(relay_log), within_s=30)
    with feed.ingesting(ingest_bot="cem"):
        until(lambda: "'cem' is a person" in reasons_in(relay_log), within_s=30)
    writes, catalogue = feed.office.company.writes, SqlCatalogue(feed.office.engine)
    rules = [{"name": "all", "effect": "allow", "resources": ["all"], "operations": ["EditAll"]}]
    policy = catalogue.get("policy", Key.by_name("Feed"))
    operations = [{"op": "replace", "path": "/rules", "value": rules}]
    writes.patch("policy", Key.by_id(policy["id"]), operations, actor=SYSTEM)
    with feed.ingesting():
        until(lambda: "allows Ingest" in reasons_in(relay_log), within_s=30)
        assert feed.applied_count() == 0
        rules[0]["operations"] = ["All"]
        writes.patch("policy", Key.by_id(policy["id"]), operations, actor=SYSTEM)
        feed.wait_for(1)
    assert feed.dead_letters() == []


def test_a_store_that_is_locked_is_waited_for(feed: Feed) -> None:
    """Fault scenario 53."""
    with feed.ingesting():
        with writing(feed.office.engine) as connection:
            connection.execute(text("UPDATE scheduled_job SET seen_at_ms = 0 WHERE name = 'none'"))
            feed.send(table(1))
            threading.Event().wait(1)
        feed.wait_for(1)
    assert feed.dead_letters() == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"ingest_topic": None}, "ingest_topic"),
        ({"kafka_servers": None}, "kafka_servers"),
        ({"ingest_dead_letter_topic": "feed"}, "ingest_dead_letter_topic"),
    ],
)
def test_settings_that_are_missing_or_exclude_each_other_are_told(changes: dict[str, Any], field: str) -> None:
    settings = Settings(kafka_servers="localhost:9", ingest_topic="feed").model_copy(update=changes)
    with pytest.raises(InvalidSetting) as refused:
        check_settings(settings)
    assert refused.value.field == field


def test_the_lag_of_its_group_is_measured(make_feed: Callable[..., Feed]) -> None:
    feed = make_feed()
    group = feed.settings.ingest_group
    events = [{"id": str(number), "eventType": "entityUpdated"} for number in range(5)]
    feed.send(events[0], b"no JSON", headers=[("tocsin-offset", b"7")])
    with feed.ingesting():
        until(lambda: len(feed.dead_letters()) == 2, within_s=DONE_WITHIN_S)
    feed.send(*events[1:], headers=[("tocsin-offset", b"7")])
    with measuring_lag(feed.settings):
        until(lambda: f"ingest {group}" in ConsumerGroups(feed.office.engine).all(), within_s=DONE_WITHIN_S)
    _, document = ConsumerGroups(feed.office.engine).all()[f"ingest {group}"]
    (lag,) = document["groups"]
    assert lag.keys() == {"reader", "eventCount", "oldestMs"}, "offsets of another log mean nothing here"
    assert (lag["reader"], lag["eventCount"]) == (f"group {group}", 4)
