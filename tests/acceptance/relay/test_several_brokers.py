"""Test of the relay with three brokers and replicated topics, of which one is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.acceptance.relay.conftest import NEEDS_JAVA, Office, wait_until_relayed
from tests.kafka import FILES, Kafka, assert_in_order, offsets_of, running_kafka

from tocsin.cli.ports import any_free_port
from tocsin.relay.kafka.dev_broker import DevBroker

pytestmark = [NEEDS_JAVA, pytest.mark.soak, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]

_REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "broker.session.timeout.ms": "3000",
}


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[list[Kafka]]:
    """The broker that is also the controller, and two more."""
    with ExitStack() as stack:
        first = stack.enter_context(running_kafka(tmp_path / "broker-1", _REPLICATED))
        followers = [Kafka(DevBroker(FILES, tmp_path / f"broker-{node}", any_free_port(), 0)) for node in (2, 3)]
        for node, kafka in enumerate(followers, start=2):
            role = {
                "process.roles": "broker",
                "node.id": str(node),
                "listeners": f"PLAINTEXT://{kafka.servers}",
                "controller.quorum.voters": f"1@127.0.0.1:{first.broker.control_port}",
            }
            kafka.broker.prepare(_REPLICATED | role)
            kafka.start()
            stack.callback(kafka.kill)
        yield [first, *followers]


def test_a_broker_that_is_killed_stops_nothing(
    brokers: list[Kafka], make_office: Callable[[str | None], Office]
) -> None:
    office = make_office(None)
    office.describe(20)
    with office.relaying(kafka_servers=",".join(kafka.servers for kafka in brokers)):
        wait_until_relayed(office)
        brokers[1].kill()
        office.describe(20)
        wait_until_relayed(office)
    messages = brokers[0].read(office.topic)
    assert sorted(offsets_of(messages)) == list(range(1, office.end() + 1))
    assert_in_order(messages)
