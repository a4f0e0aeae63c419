"""Tests of the settings of a relay: what is selected, how it connects, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from tocsin.errors import InvalidSetting
from tocsin.model.change import EventType
from tocsin.relay.broker import broker_of, check_broker
from tocsin.relay.build import selection_of
from tocsin.relay.kafka.options import kafka_options_of
from tocsin.relay.pulsar.options import pulsar_options_of
from tocsin.settings import Settings


def test_without_a_broker_the_relay_says_what_to_set() -> None:
    with pytest.raises(InvalidSetting, match="TOCSIN_KAFKA_SERVERS"):
        check_broker(Settings())


def test_two_brokers_are_refused_and_say_how_to_run_a_relay_for_each() -> None:
    with pytest.raises(InvalidSetting, match="TOCSIN_RELAY_NAME"):
        check_broker(Settings(kafka_servers="a:1", pulsar_url="pulsar://b:2"))


def test_unknown_types_are_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidSetting, match="entityUpdated"):
        selection_of(Settings(relay_event_types=("entityUpdatd",)))
    with pytest.raises(InvalidSetting, match="table"):
        selection_of(Settings(relay_entity_types=("tabel",)))


def test_types_of_events_and_entities_are_both_needed() -> None:
    assert selection_of(Settings()).kinds is None
    selection = selection_of(Settings(relay_event_types=("entityCreated",), relay_entity_types=("table", "topic")))
    assert selection.kinds == {EventType.ENTITY_CREATED: frozenset({"table", "topic"})}
    by_entity = selection_of(Settings(relay_entity_types=("table",))).kinds
    assert by_entity == dict.fromkeys(EventType, frozenset({"table"}))


def test_a_connection_has_what_its_protocol_needs_and_nothing_else() -> None:
    plain = kafka_options_of(Settings(kafka_servers="a:1,b:2", kafka_user="dana", kafka_password=SecretStr("secret")))
    assert plain.connection == {"bootstrap.servers": "a:1,b:2", "security.protocol": "plaintext"}
    settings = Settings(
        kafka_servers="a:1",
        kafka_security="sasl_ssl",
        kafka_ca_file=Path("ca.pem"),
        kafka_user="dana",
        kafka_password=SecretStr("secret"),
    )
    assert kafka_options_of(settings).connection == {
        "bootstrap.servers": "a:1",
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": "ca.pem",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "dana",
        "sasl.password": "secret",
    }


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(pulsar_url="pulsar://a:1", pulsar_certificate_file=Path("a.pem")), "set together"),
        (Settings(pulsar_url="pulsar://a:1", pulsar_ca_file=Path("missing.pem")), "missing.pem"),
        (Settings(pulsar_url="pulsar://a:1", pulsar_topic="x-position", relay_name="x"), "the relay's position"),
    ],
)
def test_settings_of_pulsar_that_cannot_work_are_refused(settings: Settings, words: str) -> None:
    with pytest.raises(InvalidSetting, match=words):
        broker_of(settings)


def test_the_token_of_pulsar_is_not_in_what_is_printed() -> None:
    settings = Settings(pulsar_url="pulsar+ssl://a:1", pulsar_token=SecretStr("secret-token"))
    options = pulsar_options_of(settings)
    assert options.token == "secret-token"
    assert "secret-token" not in f"{settings!r} {options!r}"


@pytest.mark.parametrize("url", ["pulsar://user:secret@a:1", "http://a:1", "pulsar://a:1/path", "a:1"])
def test_an_address_of_pulsar_is_one_of_brokers_without_a_password(url: str) -> None:
    with pytest.raises(ValueError, match="pulsar_url"):
        Settings(pulsar_url=url)
