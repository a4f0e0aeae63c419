"""Tests of the relay with a real Pulsar: each event once, in order, whatever is killed, suspended or deleted."""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from pulsar import MessageId
from tests.acceptance.relay.conftest import NEEDS_JAVA, Office, new_office, reasons_in, wait_until_relayed
from tests.pulsarbroker import ROOT, Pulsar, assert_in_order, offsets_of, running_pulsar
from tests.suspended import suspend
from tests.waiting import until

from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.errors import LogDiverged
from tocsin.flow.eventlog.position import LogPosition
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.relay.broker import broker_of
from tocsin.relay.build import restart
from tocsin.relay.pulsar.options import pulsar_options_of
from tocsin.relay.pulsar.position_topic import WrittenLog
from tocsin.relay.pulsar.target import PulsarTarget
from tocsin.settings import Settings
from tocsin.store.database.tables import change_event, pipeline_progress
from tocsin.store.eventlog.log import EventLog

KILLS = 10

pytestmark = [
    NEEDS_JAVA,
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.xdist_group("pulsar"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def pulsar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pulsar]:
    with running_pulsar(tmp_path_factory.mktemp("pulsar")) as running:
        yield running


@pytest.fixture
def office(pulsar: Pulsar, tmp_path: Path) -> Iterator[Office]:
    with ExitStack() as stack:
        office = new_office(stack, tmp_path, Settings(pulsar_url=pulsar.url))
        pulsar.subscribe(office.topic)
        yield office


def test_each_event_of_the_log_is_a_message_in_the_format_of_the_setting(pulsar: Pulsar, office: Office) -> None:
    office.describe(5)
    with office.relaying():
        wait_until_relayed(office)
    messages = pulsar.read(office.topic)
    events = {one.offset: one.event for one in EventLog(office.engine).list_events(EventSelection(), limit=999)}
    assert offsets_of(messages) == sorted(events)
    for message, offset in zip(messages, offsets_of(messages), strict=True):
        event, properties = events[offset], message.properties()
        assert message.partition_key() == event.entity_id
        assert message.producer_name() == office.settings.relay_name
        assert orjson.loads(message.data()) == orjson.loads(orjson.dumps(EVENT_FORMATS["seed"](event.as_wire(), "")))
        assert properties["ce_id"] == properties["idempotencyKey"] == event.id
        assert properties["ce_type"] == f"org.open-metadata.{event.event_type}"


def test_the_program_of_the_page_gets_every_event(pulsar: Pulsar, office: Office) -> None:
    text = (ROOT / "docs" / "pulsar.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    program = program.replace("pulsar://localhost:6650", pulsar.url).replace("metadata-change-events", office.topic)
    handled_events: dict[str, dict[str, Any]] = {}

    def handle(event: dict[str, Any], key: str) -> None:
        handled_events[key] = event
        if len(handled_events) == office.end():
            raise EOFError

    with pulsar.client() as client:
        client.subscribe(f"persistent://public/default/{office.topic}", "my-consumer")
    office.describe(5)
    with office.relaying():
        names: dict[str, Any] = {"handle": handle}
        with pytest.raises(EOFError):
            exec(program, names)
        names["client"].close()
    events = EventLog(office.engine).list_events(EventSelection(), limit=999)
    assert handled_events.keys() == {one.event.id for one in events}


def test_lags_of_subscriptions_are_measured(pulsar: Pulsar, office: Office) -> None:
    with pulsar.client() as client:
        consumer = client.subscribe(f"persistent://public/default/{office.topic}", "half")
        with office.relaying():
            wait_until_relayed(office)
        reader = client.create_reader(f"persistent://public/default/{office.topic}", MessageId.earliest)
        for _ in range(2):
            consumer.acknowledge(consumer.receive(10_000))
        settings = office.settings.model_copy(update={"pulsar_admin_url": f"http://127.0.0.1:{pulsar.admin_port}"})
        measure = broker_of(settings).group_lags
        assert measure is not None
        until(lambda: [lag["eventCount"] for lag in measure()] == [office.end() - 2, office.end()], within_s=30)
        first, second = measure()
        assert reader.has_message_available(), "it is there, but the broker keeps nothing for it"
    assert [lag["reader"] for lag in (first, second)] == ["subscription half", "subscription tests"]
    assert {lag["kind"] for lag in (first, second)} == {"subscription"}
    assert 0 < time.time() * 1000 - second["oldestMs"] < 600_000


def test_a_relay_that_is_killed_loses_and_repeats_nothing(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 45."""
    rng = random.Random(7)
    for _ in range(KILLS):
        process, written = office.start(), office.progress()
        office.describe(10)
        until(lambda: office.progress() > written, within_s=60)  # noqa: B023  # asked at once
        office.describe(20)
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.wait()
    with office.relaying():
        wait_until_relayed(office)
    assert offsets_of(pulsar.read(office.topic)) == _offsets(office)


def test_a_relay_that_was_cut_off_while_it_wrote_repeats_nothing(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 45: events are stored, and the position behind them is not."""
    with office.relaying():
        wait_until_relayed(office)
    written = _position(office)
    office.describe(20)
    with office.relaying():
        wait_until_relayed(office)
    _note(office, WrittenLog(office.settings.relay_name, written, unfinished=_position(office)))
    office.describe(3)
    with office.relaying():
        wait_until_relayed(office)
    assert offsets_of(pulsar.read(office.topic)) == _offsets(office)


def test_a_relay_stands_by_and_takes_over_from_one_that_is_suspended(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 46."""
    first = office.start()
    office.describe(3)
    wait_until_relayed(office)
    second = office.start()
    suspend(first, office.engine)
    office.describe(3)
    wait_until_relayed(office)
    first.send_signal(signal.SIGCONT)
    office.describe(3)
    wait_until_relayed(office)
    assert first.poll() is second.poll() is None
    assert offsets_of(pulsar.read(office.topic)) == _offsets(office)


def test_a_broker_that_is_killed_is_waited_for(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 27."""
    with office.relaying():
        wait_until_relayed(office)
        office.describe(10)
        pulsar.kill()
        office.describe(5)
        pulsar.start()
        wait_until_relayed(office)
    assert offsets_of(pulsar.read(office.topic)) == _offsets(office)


def test_partitions_keep_the_order_of_each_entity(pulsar: Pulsar, office: Office) -> None:
    topic = f"{office.topic}-of-three"
    pulsar.ask("PUT", f"persistent/public/default/{topic}/partitions", 3).raise_for_status()
    pulsar.subscribe(topic)
    office.settings = office.settings.model_copy(update={"pulsar_topic": topic})
    with office.relaying():
        wait_until_relayed(office)
    written_position = _position(office)
    office.describe(5)
    office.company.put("team", {"name": "another", "teamType": "Group"})
    with office.relaying():
        wait_until_relayed(office)
    _note(office, WrittenLog(office.settings.relay_name, written_position, unfinished=_position(office)))
    with office.relaying():
        wait_until_relayed(office)
    messages = pulsar.read(topic)
    assert sorted(offsets_of(messages)) == _offsets(office)
    assert len({message.message_id().partition() for message in messages}) > 1
    assert_in_order(messages)


def test_entity_types_have_topics_of_their_own(pulsar: Pulsar, office: Office) -> None:
    pulsar.subscribe(f"{office.topic}.table")
    office.describe(3)
    selected_types = {"relay_entity_types": ("table",), "relay_event_types": ("entityUpdated",)}
    with office.relaying(pulsar_topic_per_entity_type=True, **selected_types):
        wait_until_relayed(office)
    values = [orjson.loads(one.data()) for one in pulsar.read(f"{office.topic}.table")]
    assert {(value["entityType"], value["eventType"]) for value in values} == {("table", "entityUpdated")}


def test_without_deduplication_the_relay_waits_and_says_how_to_turn_it_on(
    pulsar: Pulsar, office: Office, relay_log: list[MutableMapping[str, Any]]
) -> None:
    """Fault scenario 49."""
    namespace = f"public/{office.settings.relay_name}"
    pulsar.ask("PUT", f"namespaces/{namespace}").raise_for_status()
    pulsar.ask("POST", f"namespaces/{namespace}/deduplication", body=False).raise_for_status()
    pulsar.subscribe(office.topic, namespace)
    with office.relaying(pulsar_namespace=namespace):
        until(lambda: f"set-deduplication --enable {namespace}" in reasons_in(relay_log), within_s=30)
        assert pulsar.read(office.topic, namespace) == []
        pulsar.ask("POST", f"namespaces/{namespace}/deduplication", body=True).raise_for_status()
        wait_until_relayed(office)
    assert offsets_of(pulsar.read(office.topic, namespace)) == _offsets(office)


def test_a_position_that_is_deleted_is_found_by_the_last_messages(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 47."""
    office.describe(3)
    with office.relaying():
        wait_until_relayed(office)
    position = f"persistent/public/default/{office.settings.relay_name}-position"
    pulsar.ask("DELETE", f"{position}?force=true").raise_for_status()
    with office.engine.begin() as connection:  # as if the relay had been killed before it noted how far it is
        connection.execute(pipeline_progress.update().values(log_offset=1))
    office.describe(3)
    with office.relaying():
        wait_until_relayed(office)
    assert offsets_of(pulsar.read(office.topic)) == _offsets(office)


def test_after_a_restore_the_relay_says_so_and_goes_on_where_it_is_told(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 48: the offsets of the lost events are given to others, which are no repetitions."""
    office.describe(5)
    with office.relaying():
        wait_until_relayed(office)
    with office.engine.begin() as connection:  # what a backup from before does not hold
        connection.execute(change_event.delete().where(change_event.c.log_offset >= office.end() - 2))
    office.describe(1)
    with pytest.raises(LogDiverged, match="--restart-at"), office.relaying() as relaying:
        relaying.join(30)
    before = len(pulsar.read(office.topic))
    assert restart(office.settings, "end").offset == office.end()
    office.describe(2)
    with office.relaying():
        wait_until_relayed(office)
    offsets = offsets_of(pulsar.read(office.topic))
    assert offsets[before:] == _offsets(office)[-2:]
    restart(office.settings, "0")
    with office.relaying():
        until(lambda: len(pulsar.read(office.topic)) >= len(offsets) + len(_offsets(office)), within_s=60)
    assert offsets_of(pulsar.read(office.topic)) == offsets + _offsets(office)


def test_a_log_that_lost_what_was_being_written_is_noticed(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 48: the relay was cut off before it wrote the position."""
    with office.relaying():
        wait_until_relayed(office)
    written = _position(office)
    _note(office, WrittenLog(office.settings.relay_name, written, LogPosition(written.offset + 1, "lost")))
    office.describe(3)
    with pytest.raises(LogDiverged), office.relaying() as relaying:
        relaying.join(30)


def test_events_that_the_broker_would_drop_as_repeated_are_noticed(pulsar: Pulsar, office: Office) -> None:
    """Fault scenario 47: the position was lost, and so was what the topic last held."""
    with office.relaying():
        wait_until_relayed(office)
    _note(office, WrittenLog(office.settings.relay_name, LogPosition(0)))
    with pytest.raises(LogDiverged, match="position is lost"), office.relaying() as relaying:
        relaying.join(30)


def test_an_event_that_the_broker_refuses_for_its_size_is_waited_for_and_nothing_overtakes_it(
    pulsar: Pulsar, office: Office, relay_log: list[MutableMapping[str, Any]]
) -> None:
    """Fault scenario 49."""
    office.company.describe("orders", "x" * 6_000_000)
    office.describe(3)
    with office.relaying(relay_max_event_bytes=50_000_000):
        until(lambda: "TOCSIN_RELAY_MAX_EVENT_BYTES" in reasons_in(relay_log), within_s=60)
    with office.relaying():
        wait_until_relayed(office)
    messages = pulsar.read(office.topic)
    assert offsets_of(messages) == _offsets(office)
    assert any("ce_dataref" in message.properties() for message in messages)


def test_a_relay_stops_soon_while_no_broker_answers(office: Office, relay_log: list[MutableMapping[str, Any]]) -> None:
    with office.relaying(pulsar_url="pulsar://127.0.0.1:1"):
        until(lambda: "127.0.0.1:1" in reasons_in(relay_log), within_s=30)
        started_s = time.monotonic()
    assert time.monotonic() - started_s < 12


def test_the_position_topic_keeps_its_last_message_alone(pulsar: Pulsar, office: Office) -> None:
    topic = f"persistent/public/default/{office.settings.relay_name}-position"

    def backlog() -> int:
        subscriptions = pulsar.ask("GET", f"{topic}/stats").json()["subscriptions"]
        return int(subscriptions[office.settings.relay_name]["msgBacklog"])

    for _ in range(2):
        with office.relaying():
            office.describe(3)
            wait_until_relayed(office)
            until(lambda: backlog() == 1, within_s=10)


def _offsets(office: Office) -> list[int]:
    """Return the offsets of the log, in their order."""
    return [one.offset for one in EventLog(office.engine).list_events(EventSelection(), limit=99_999)]


def _position(office: Office) -> LogPosition:
    return EventLog(office.engine).position_at(office.progress())


def _note(office: Office, progress: WrittenLog) -> None:
    """Set what the position topic says."""
    target = PulsarTarget(pulsar_options_of(office.settings))
    target.begin()
    target._note(progress)
    target.close()
