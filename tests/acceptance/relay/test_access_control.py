"""Test of the relay at a broker with TLS, SASL and access control: a password of the store, the rights of the docs."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from tests.acceptance.relay.conftest import NEEDS_JAVA, Office, reasons_in, wait_until_relayed
from tests.kafka import PASSWORD, Kafka, offsets_of
from tests.waiting import until

from tocsin.store.upkeep.stored_settings import store_secret

pytestmark = [NEEDS_JAVA, pytest.mark.slow, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]

_TOPIC_RIGHTS = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")


def test_the_rights_of_the_page_are_enough_and_the_password_comes_from_the_store(
    kafka: Kafka,
    sasl_port: int,
    certificate: Path,
    make_office: Callable[[str | None], Office],
    relay_log: list[MutableMapping[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tocsin.relay.kafka.topics.METADATA_TIMEOUT_S", 1.0)  # so long does a wrong password take
    office = make_office(None)
    office.describe(3)
    settings: dict[str, object] = {
        "kafka_servers": f"127.0.0.1:{sasl_port}",
        "kafka_security": "sasl_ssl",
        "kafka_ca_file": certificate.with_name("public.pem"),
        "kafka_sasl_mechanism": "PLAIN",
        "kafka_user": "relay",
    }
    store_secret(office.engine, "kafka_password", "wrong")
    with office.relaying(**settings):
        until(lambda: "uthentication failed" in reasons_in(relay_log), within_s=60)
    store_secret(office.engine, "kafka_password", PASSWORD)
    with office.relaying(**settings):
        until(lambda: "uthorization failed" in reasons_in(relay_log), within_s=60)
        _grant(kafka, office)
        wait_until_relayed(office)
    messages = kafka.read(office.topic)
    assert len(set(offsets_of(messages))) == len(messages) >= 3
    assert PASSWORD not in str(relay_log)


def _grant(kafka: Kafka, office: Office) -> None:
    """Give the relay's user the rights that ``docs/kafka.md`` lists."""
    name = office.settings.relay_name
    position = f"{name}-position"
    rights = [
        *((ResourceType.TOPIC, topic, right) for topic in (office.topic, position) for right in _TOPIC_RIGHTS),
        (ResourceType.TRANSACTIONAL_ID, name, "DESCRIBE"),
        (ResourceType.TRANSACTIONAL_ID, name, "WRITE"),
        (ResourceType.GROUP, position, "READ"),
    ]
    bindings = [
        AclBinding(
            kind,
            resource,
            ResourcePatternType.LITERAL,
            "User:relay",
            "*",
            AclOperation[right],
            AclPermissionType.ALLOW,
        )
        for kind, resource, right in rights
    ]
    for grant in kafka.admin.create_acls(bindings).values():
        grant.result(30)
