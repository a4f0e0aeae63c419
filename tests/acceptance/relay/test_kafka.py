"""Tests of the relay with a real Kafka: each event once, in order, whatever is killed, suspended or deleted."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from tests.acceptance.relay.conftest import KILLED_ON, NEEDS_JAVA, Office, reasons_in, wait_until_relayed
from tests.company import SmallCompany
from tests.kafka import Kafka, assert_in_order, offsets_of
from tests.soak import SOAK
from tests.suspended import suspend
from tests.waiting import until

from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.errors import Conflict, InvalidInput, InvalidSetting, LogDiverged
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.relay.build import restart
from tocsin.relay.reader import NoReader, TopicReader
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event, pipeline_progress
from tocsin.store.eventlog.log import EventLog

KILLS = 30 if SOAK else 1

pytestmark = [NEEDS_JAVA, pytest.mark.slow, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]


def test_each_event_of_the_log_is_a_record_in_the_format_of_the_setting(kafka: Kafka, office: Office) -> None:
    office.describe(5)
    with office.relaying():
        wait_until_relayed(office)
    messages = kafka.read(office.topic)
    events = {
        logged_event.offset: logged_event.event
        for logged_event in EventLog(office.engine).list_events(EventSelection(), limit=999)
    }
    assert sorted(offsets_of(messages)) == sorted(events)
    assert_in_order(messages)
    for message, offset in zip(messages, offsets_of(messages), strict=True):
        event, headers = events[offset], dict(message.headers() or [])
        assert message.key() == event.entity_id.encode()
        assert orjson.loads(message.value() or b"") == orjson.loads(
            orjson.dumps(EVENT_FORMATS["seed"](event.as_wire(), ""))
        )
        assert headers["ce_id"] == headers["idempotencyKey"] == event.id.encode()
        assert headers["ce_type"] == f"org.open-metadata.{event.event_type}".encode()
        assert (headers["ce_specversion"], headers["content-type"]) == (b"1.0", b"application/json")


@pytest.mark.parametrize("place", KILLED_ON)
def test_a_relay_that_is_killed_loses_and_repeats_nothing(
    kafka: Kafka, make_office: Callable[[str | None], Office], place: str, request: pytest.FixtureRequest
) -> None:
    """Fault scenario 45."""
    office = make_office(None if place == "sqlite" else request.getfixturevalue(place))
    rng = random.Random(7)
    for _ in range(KILLS):
        process, progress_before = office.start(), office.progress()
        office.describe(10)
        until(lambda: office.progress() > progress_before, within_s=60)  # noqa: B023  # asked at once
        office.describe(20)
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.wait()
    with office.relaying():
        wait_until_relayed(office)
    messages = kafka.read(office.topic)
    assert sorted(offsets_of(messages)) == _offsets(office)
    assert_in_order(messages)


def test_a_relay_stands_by_and_takes_over_from_one_that_is_suspended(kafka: Kafka, office: Office) -> None:
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
    messages = kafka.read(office.topic)
    assert sorted(offsets_of(messages)) == _offsets(office)
    assert_in_order(messages)


def test_a_broker_that_is_killed_is_waited_for(kafka: Kafka, office: Office) -> None:
    """Fault scenario 27.

    The one broker of a cluster that is killed before the marks of a committed transaction are in all its partitions
    takes them for written when it starts, and consumers of committed records wait there. With a second broker, that one
    writes them.
    """
    with office.relaying():
        wait_until_relayed(office)
        until(lambda: len(kafka.read(office.topic)) == len(_offsets(office)), within_s=30)
        kafka.kill()
        office.describe(5)
        kafka.start()
        wait_until_relayed(office)
    # A broker that has just started may state an earlier end for a moment.
    until(lambda: len(kafka.read(office.topic)) >= len(_offsets(office)), within_s=30)
    messages = kafka.read(office.topic)
    assert sorted(offsets_of(messages)) == _offsets(office)
    assert_in_order(messages)


def test_a_topic_that_is_deleted_is_made_again_and_gets_what_comes_after(
    kafka: Kafka, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault scenario 47."""
    monkeypatch.setattr("tocsin.relay.kafka.target.TIMEOUT_S", 3.0)  # a client may wait so long for a topic that went
    with office.relaying():
        wait_until_relayed(office)
        end = office.end()
        kafka.admin.delete_topics([office.topic])[office.topic].result(30)
        office.describe(3)
        wait_until_relayed(office)
    assert sorted(offsets_of(kafka.read(office.topic))) == [one for one in _offsets(office) if one > end]


def test_a_position_that_is_deleted_is_found_by_the_last_records(kafka: Kafka, office: Office) -> None:
    """Fault scenario 47."""
    office.describe(3)
    with office.relaying():
        wait_until_relayed(office)
    position = f"{office.settings.relay_name}-position"
    kafka.admin.delete_topics([position])[position].result(30)
    with office.engine.begin() as connection:  # as if the relay had been killed before it noted how far it is
        connection.execute(pipeline_progress.update().values(log_offset=1))
    office.describe(3)
    with office.relaying():
        wait_until_relayed(office)
    assert sorted(offsets_of(kafka.read(office.topic))) == _offsets(office)


def test_what_its_reader_may_not_view_is_not_written(kafka: Kafka, office: Office) -> None:
    with office.relaying():
        wait_until_relayed(office)
        before = office.end()
        _hide_tables(office)
        office.describe(2)
        office.company.put("team", {"name": "seen", "teamType": "Group"})
        wait_until_relayed(office)
    after = [one for one in kafka.read(office.topic) if offsets_of([one])[0] > before]
    values = [orjson.loads(one.value() or b"") for one in after]
    assert "seen" in {value["entityFullyQualifiedName"] for value in values}
    assert not [value for value in values if value["entityType"] == "table"]
    assert all(b"orders" not in (one.value() or b"") for one in after)


def test_entity_types_have_topics_of_their_own_and_only_those_of_the_settings(kafka: Kafka, office: Office) -> None:
    selected_types = {"relay_entity_types": ("table",), "relay_event_types": ("entityUpdated",)}
    office.describe(4)
    with office.relaying(kafka_topic_per_entity_type=True, **selected_types):
        wait_until_relayed(office)
    topics = kafka.admin.list_topics(timeout=30).topics
    assert [name for name in topics if name.startswith(office.topic)] == [f"{office.topic}.table"]
    values = [orjson.loads(one.value() or b"") for one in kafka.read(f"{office.topic}.table")]
    assert {(value["entityType"], value["eventType"]) for value in values} == {("table", "entityUpdated")}


def test_an_event_that_is_too_large_goes_without_its_entity_and_says_where_it_is(kafka: Kafka, office: Office) -> None:
    office.company.describe("orders", "x" * 12_000)
    with office.relaying(relay_max_event_bytes=10_000):
        wait_until_relayed(office)
    thin = [one for one in kafka.read(office.topic) if "ce_dataref" in dict(one.headers() or [])]
    assert thin
    for message in thin:
        headers = dict(message.headers() or [])
        reference, event_id = headers["ce_dataref"], headers["ce_id"]
        assert isinstance(reference, bytes)
        assert isinstance(event_id, bytes)
        assert reference.endswith(b"/api/v1/events/" + event_id)
        assert "entity" not in orjson.loads(message.value() or b"")
        assert len(message.value() or b"") <= 10_000


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        (("cleanup.policy", "compact"), "delete", "removes events before anybody has read them"),
        (("max.message.bytes", "2000"), "2000000", "takes messages of 2000 bytes"),
    ],
)
def test_a_topic_that_would_lose_events_is_waited_for_until_somebody_mends_it(
    kafka: Kafka,
    office: Office,
    wrong: tuple[str, str],
    right: str,
    words: str,
    relay_log: list[MutableMapping[str, Any]],
) -> None:
    """Fault scenario 49."""
    kafka.admin.create_topics([NewTopic(office.topic, 1, config=dict([wrong]))])[office.topic].result(30)
    with office.relaying():
        until(lambda: words in reasons_in(relay_log), within_s=30)
        assert kafka.read(office.topic) == []
        entry = ConfigEntry(wrong[0], right, incremental_operation=AlterConfigOpType.SET)
        mended = ConfigResource("topic", office.topic, incremental_configs=[entry])
        kafka.admin.incremental_alter_configs([mended])[mended].result(30)
        wait_until_relayed(office)
    assert sorted(offsets_of(kafka.read(office.topic))) == _offsets(office)


def test_after_a_restore_the_relay_says_so_and_goes_on_where_it_is_told(kafka: Kafka, office: Office) -> None:
    """Fault scenario 48."""
    office.describe(5)
    with office.relaying():
        wait_until_relayed(office)
    with office.engine.begin() as connection:  # what a backup from before does not hold
        connection.execute(change_event.delete().where(change_event.c.log_offset == office.end()))
    office.describe(1)
    with pytest.raises(LogDiverged, match="--restart-at"), office.relaying() as relaying:
        relaying.join(30)
    before = len(kafka.read(office.topic))
    assert restart(office.settings, "end").offset == office.end()
    office.describe(2)
    with office.relaying():
        wait_until_relayed(office)
        with pytest.raises(Conflict, match="stop it first"):
            restart(office.settings, "end")
    assert len(kafka.read(office.topic)) == before + 2
    with pytest.raises(InvalidInput, match="the log ends at"):
        restart(office.settings, str(office.end() + 1))


def test_a_relay_that_begins_again_has_not_read_what_it_writes_again(kafka: Kafka, office: Office) -> None:
    office.describe(5)
    with office.relaying():
        wait_until_relayed(office)
    written_count = len(kafka.read(office.topic))
    earlier = office.end() - 3
    restart(office.settings, str(earlier))
    assert office.progress() == earlier, "what retention and lag go by"
    with office.relaying():
        wait_until_relayed(office)
    assert len(kafka.read(office.topic)) == written_count + 3


def test_a_relay_begins_without_the_records_of_others(kafka: Kafka, office: Office) -> None:
    with office.relaying():
        wait_until_relayed(office)
    office.settings = office.settings.model_copy(update={"relay_name": f"{office.settings.relay_name}-second"})
    with office.relaying():
        wait_until_relayed(office)
    assert sorted(offsets_of(kafka.read(office.topic))) == sorted(2 * _offsets(office))


def test_events_that_are_large_together_go_in_several_transactions(kafka: Kafka, office: Office) -> None:
    for number in range(30):
        office.company.describe("orders", f"{number} " + "x" * 400_000)
    with office.relaying():
        wait_until_relayed(office)
    assert sorted(offsets_of(kafka.read(office.topic))) == _offsets(office)


def test_without_its_bot_the_relay_waits_and_then_goes_on(
    kafka: Kafka, office: Office, relay_log: list[MutableMapping[str, Any]]
) -> None:
    """Fault scenario 50."""
    with office.relaying():
        wait_until_relayed(office)
        writes, reader = office.company.writes, Key.by_name(office.settings.relay_reader)
        bot = writes.delete("user", reader, actor=SYSTEM).document
        office.describe(2)
        until(lambda: "is missing" in reasons_in(relay_log), within_s=30)
        writes.restore("user", bot["id"], actor=SYSTEM)
        wait_until_relayed(office)
    assert sorted(offsets_of(kafka.read(office.topic))) == _offsets(office)


def test_a_person_is_no_reader_and_a_store_without_policies_has_none(
    office: Office, tmp_path: Path, relay_log: list[MutableMapping[str, Any]]
) -> None:
    with office.relaying(relay_reader="ana"):
        until(lambda: "is a person" in reasons_in(relay_log), within_s=30)
    engine = open_engine(f"sqlite:///{tmp_path / 'never-served.db'}")
    migrate(engine)
    SmallCompany(engine).put("user", {"name": "robot", "email": "robot@example.com", "isBot": True})
    with pytest.raises(NoReader, match="no policies"):
        TopicReader(engine, "robot").check()
    engine.dispose()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kafka_security": "ssl", "kafka_ca_file": Path("missing.pem")}, "refuses its settings"),
        ({"kafka_security": "sasl_ssl"}, "TOCSIN_KAFKA_USER"),
        ({"kafka_topic": "same-position", "relay_name": "same"}, "the relay's position"),
    ],
)
def test_a_setting_that_cannot_work_ends_the_relay_with_what_is_wrong(
    office: Office, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidSetting, match=words), office.relaying(**changes) as relaying:
        relaying.join(30)


def test_a_relay_stops_soon_while_no_broker_answers(
    office: Office, relay_log: list[MutableMapping[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.relay.kafka.topics.METADATA_TIMEOUT_S", 1.0)
    with office.relaying(kafka_servers="127.0.0.1:1"):
        until(lambda: "127.0.0.1:1" in reasons_in(relay_log), within_s=30)
        started_s = time.monotonic()
    assert time.monotonic() - started_s < 5, "a request to the broker and no more"


def _offsets(office: Office) -> list[int]:
    """Return the offsets of the log, in their order."""
    return [one.offset for one in EventLog(office.engine).list_events(EventSelection(), limit=99_999)]


def _hide_tables(office: Office) -> None:
    """Deny the reader of the topic to view tables."""
    rule = {"name": "hide", "effect": "deny", "operations": ["ViewAll", "ViewBasic"], "resources": ["table"]}
    policy = office.company.put("policy", {"name": "hidden-tables", "rules": [rule]})
    blind = office.company.put("role", {"name": "blind", "policies": [policy["name"]]})
    bots = SqlCatalogue(office.engine).get("role", Key.by_name("IngestionBotRole"))
    roles = [{"id": role["id"], "type": "role"} for role in (blind, bots)]
    reader = Key.by_name(office.settings.relay_reader)
    office.company.writes.patch("user", reader, [{"op": "add", "path": "/roles", "value": roles}], actor=SYSTEM)
