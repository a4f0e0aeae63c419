"""Tests of the lags of consumer groups of a relay's topics, with a real Kafka."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Message, TopicPartition
from tests.acceptance.relay.conftest import NEEDS_JAVA, Office, wait_until_relayed
from tests.kafka import Kafka, offsets_of
from tests.waiting import until

from tocsin.clock import SystemClock
from tocsin.model.entity import Document
from tocsin.relay.build import measuring_groups
from tocsin.relay.group_lags import measure_groups
from tocsin.relay.kafka.groups import GroupLags
from tocsin.relay.kafka.options import kafka_options_of
from tocsin.store.eventlog.lag_states import ConsumerGroups
from tocsin.store.upkeep.lag import ReaderLags

pytestmark = [NEEDS_JAVA, pytest.mark.slow, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(300)]


def consume(kafka: Kafka, topic: str, group: str, count: int) -> list[int]:
    """Read and commit at most ``count`` records as a consumer does; return their offsets in the log."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.servers,
            "group.id": group,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    with closing(consumer):
        consumer.subscribe([topic])
        messages: list[Message[bytes, bytes]] = []
        until_s = time.monotonic() + 60
        while len(messages) < count and time.monotonic() < until_s:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                messages.append(message)
                consumer.commit(message=message, asynchronous=False)
    return offsets_of(messages)


def lags(office: Office) -> dict[str, Document]:
    return {one["reader"]: one for one in GroupLags(kafka_options_of(office.settings)).measure()}


def test_a_group_that_has_read_everything_has_no_lag_whatever_markers_follow(kafka: Kafka, office: Office) -> None:
    with office.relaying():
        wait_until_relayed(office)
        office.describe(4)
        wait_until_relayed(office)
    count, group = len(kafka.read(office.topic)), f"all-{office.settings.relay_name}"
    assert lags(office) == {}, "nobody has committed anything"
    consume(kafka, office.topic, group, count)
    assert lags(office) == {f"group {group}": {"reader": f"group {group}", "eventCount": 0}}
    before_ms = SystemClock().now_ms()
    with office.relaying():
        office.describe(3)
        wait_until_relayed(office)
    lag = lags(office)[f"group {group}"]
    assert lag["eventCount"] >= 3
    assert before_ms <= lag["oldestMs"] <= SystemClock().now_ms()
    assert lag["logOffset"] == office.end() - 3


def test_each_of_several_groups_is_measured_at_its_own_place(kafka: Kafka, office: Office) -> None:
    office.describe(4)
    with office.relaying():
        wait_until_relayed(office)
    count, name = len(kafka.read(office.topic)), office.settings.relay_name
    for group_count in (1, 2, count):
        consume(kafka, office.topic, f"read-{group_count}-{name}", group_count)
    lag_by_group = lags(office)
    assert lag_by_group.pop(f"group read-{count}-{name}")["eventCount"] == 0
    assert {"oldestMs", "logOffset"} <= set.intersection(*(set(lag) for lag in lag_by_group.values()))


def test_groups_of_other_topics_take_no_place(kafka: Kafka, office: Office) -> None:
    office.describe(1)
    with office.relaying():
        wait_until_relayed(office)
    name = office.settings.relay_name
    place = [TopicPartition(f"{name}-position", 0, 0)]
    for number in range(3):
        of_others = [ConsumerGroupTopicPartitions(f"{number}-{name}", place)]
        for answer in kafka.admin.alter_consumer_group_offsets(of_others).values():
            answer.result()
    consume(kafka, office.topic, f"our-{name}", 1)
    measured = GroupLags(kafka_options_of(office.settings), most_groups=1).measure()
    assert [lag["reader"] for lag in measured] == [f"group our-{name}"]


def test_groups_are_shown_beside_the_readers_of_the_log_and_so_is_why_they_are_not(
    kafka: Kafka, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.describe(2)
    with office.relaying():
        wait_until_relayed(office)
    group = f"some-{office.settings.relay_name}"
    consume(kafka, office.topic, group, 1)
    groups = ConsumerGroups(office.engine)
    with measuring_groups(office.settings):
        until(lambda: bool(groups.all()), within_s=60)
    measurement = ReaderLags(office.engine, has_relay=True).measure(now_ms=SystemClock().now_ms())
    assert measurement.missing == ()
    assert f"group {group}" in {lag.reader for lag in measurement.lags}
    elsewhere = kafka_options_of(office.settings.model_copy(update={"kafka_servers": "127.0.0.1:1"}))
    monkeypatch.setattr("tocsin.relay.kafka.groups.METADATA_TIMEOUT_S", 1.0)
    begun_s = time.monotonic()
    measure_groups(GroupLags(elsewhere).measure, office.engine, office.settings.relay_name, SystemClock())
    assert time.monotonic() - begun_s < 10
    (reason,) = ReaderLags(office.engine).measure(now_ms=SystemClock().now_ms()).missing
    assert "127.0.0.1:1" in reason


def test_a_relay_that_writes_no_event_reports_that_it_has_read_them(kafka: Kafka, office: Office) -> None:
    with office.relaying(relay_entity_types=("glossary",)):
        office.describe(3)
        until(lambda: office.progress() == office.end(), within_s=60)
