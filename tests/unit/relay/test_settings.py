"""Tests of the settings of a relay: what is selected, how it connects, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from tocsin.errors import InvalidSetting
from tocsin.model.change import EventType
from tocsin.relay.build import kafka_options_of, selection_of
from tocsin.settings import Settings


def test_without_a_broker_the_relay_says_what_to_set() -> None:
    with pytest.raises(InvalidSetting, match="TOCSIN_KAFKA_SERVERS"):
        kafka_options_of(Settings())


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
