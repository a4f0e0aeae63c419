"""Tests of the processes that ``tocsin up`` starts, by settings, and of their shared settings."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

from tocsin.cli.ports import any_free_port, check_free, free_port, is_free
from tocsin.cli.processes import check_relay, serve
from tocsin.cli.up import (
    DevReceiver,
    answers_at,
    dev_receiver_of,
    has_started,
    local_url,
    parts_of,
    with_broker,
    with_dev_receiver,
)
from tocsin.delivery.transport.egress import egress_of
from tocsin.errors import Conflict, InvalidInput, InvalidSetting, MissingExtra
from tocsin.settings import Settings

SETTINGS = Settings(port=4711, data_dir=Path("kept"))


def test_the_worker_gets_the_mail_address_of_the_dev_receiver() -> None:
    parts = {part.name: part for part in parts_of(SETTINGS, DevReceiver(1, 2), has_started())}
    assert list(parts) == ["dev receiver", "server", "pipeline", "worker"]
    assert parts["worker"].environment["TOCSIN_SMTP_PORT"] == "2"
    assert parts["dev receiver"].command[-4:] == ("--http-port", "1", "--smtp-port", "2")


def test_webhooks_may_reach_the_dev_receiver_and_nothing_else_on_this_machine() -> None:
    settings = with_dev_receiver(SETTINGS, DevReceiver(8586, 2))
    for part in parts_of(settings, DevReceiver(8586, 2), has_started())[1:]:
        egress = egress_of(json.loads(part.environment["TOCSIN_EGRESS_ALLOW"]))
        assert egress.permits("127.0.0.1", 8586)
        assert not egress.permits("127.0.0.1", 8585)
        assert not egress.permits("127.0.0.2", 8586)
    assert Settings().egress_allow == with_dev_receiver(SETTINGS, None).egress_allow == ()


def test_with_a_mail_server_there_is_no_dev_receiver() -> None:
    assert dev_receiver_of(Settings(smtp_host="mail.example.com")) is None
    parts = {part.name: part for part in parts_of(SETTINGS, None, has_started())}
    assert list(parts) == ["server", "pipeline", "worker"]
    assert "TOCSIN_SMTP_HOST" not in parts["worker"].environment


def test_a_relay_is_started_if_a_broker_is_set_or_started_too() -> None:
    settings = Settings(kafka_servers="kafka:9092")
    (relay,) = (part for part in parts_of(settings, None, has_started()) if part.name == "relay")
    assert relay.environment["TOCSIN_KAFKA_SERVERS"] == "kafka:9092"
    assert relay.after is None
    assert with_broker(SETTINGS, is_wanted=False) == (SETTINGS, None)
    settings, broker = with_broker(SETTINGS, is_wanted=True)
    assert broker
    assert broker.command[-3:-1] == ("broker", "--port")
    assert settings.kafka_servers == f"127.0.0.1:{broker.command[-1]}"


def test_what_uses_the_development_broker_starts_once_it_is_ready() -> None:
    settings, broker = with_broker(SETTINGS.model_copy(update={"ingest_topic": "feed"}), is_wanted=True)
    parts = parts_of(settings, None, has_started(), broker)
    assert {part.name for part in parts if part.after == broker} == {"relay", "ingest"}
    assert broker in parts


def test_events_of_a_topic_are_applied_if_topic_and_broker_are_set() -> None:
    topic = SETTINGS.model_copy(update={"ingest_topic": "feed"})
    assert not any(part.name == "ingest" for part in parts_of(topic, None, has_started()))
    settings = topic.model_copy(update={"kafka_servers": "kafka:9092"})
    (ingest,) = (part for part in parts_of(settings, None, has_started()) if part.name == "ingest")
    assert ingest.environment["TOCSIN_KAFKA_SERVERS"] == "kafka:9092"


def test_a_relay_is_started_if_pulsar_is_set_and_then_no_kafka_besides() -> None:
    settings = Settings(pulsar_url="pulsar://pulsar:6650")
    (relay,) = (part for part in parts_of(settings, None, has_started()) if part.name == "relay")
    assert "TOCSIN_KAFKA_SERVERS" not in relay.environment
    with pytest.raises(InvalidInput, match="pulsar:6650"):
        with_broker(settings, is_wanted=True)


def test_two_brokers_are_refused_before_anything_starts() -> None:
    with pytest.raises(InvalidSetting, match="both set"):
        check_relay(Settings(kafka_servers="kafka:9092", pulsar_url="pulsar://pulsar:6650"))


def test_all_parts_share_the_port_and_the_folder() -> None:
    for part in parts_of(SETTINGS, None, has_started()):
        assert part.environment["TOCSIN_PORT"] == "4711"
        assert Path(part.environment["TOCSIN_DATA_DIR"]).is_absolute()


def test_a_server_that_listens_everywhere_is_called_on_this_machine() -> None:
    assert local_url(Settings(host="0.0.0.0", port=80)) == "http://127.0.0.1:80"
    assert local_url(SETTINGS) == "http://127.0.0.1:4711"


def test_a_taken_port_is_said_and_replaced_where_it_may_be() -> None:
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        port = taken_socket.getsockname()[1]
        with pytest.raises(Conflict, match=f"Port {port} on 127.0.0.1 is already in use"):
            check_free("127.0.0.1", port, option="--port")
        free = free_port(port)
        assert free != port
        assert is_free("127.0.0.1", free)
    assert free_port(port) == port


@pytest.mark.parametrize(
    ("command", "option"), [("serve", "--port"), ("receive", "--http-port"), ("receive", "--smtp-port")]
)
def test_a_part_that_is_started_alone_says_that_its_port_is_taken(run: Run, command: str, option: str) -> None:
    other_options = ["--http-port", "0"] if option == "--smtp-port" else []
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        port = taken_socket.getsockname()[1]
        ended = run(command, *other_options, option, str(port))
    assert ended.code == 5
    ways = f"{option} or TOCSIN_PORT" if command == "serve" else option
    assert ended.err == f"tocsin: Port {port} on 127.0.0.1 is already in use; choose another with {ways}.\n"


async def test_a_part_is_ready_once_its_address_answers_well(small_server: SmallServer) -> None:
    small_server.answer("GET", "/ready", {})
    small_server.answer("GET", "/ill", {}, status=503)
    assert await answers_at(f"{small_server.url}/ready")()
    assert not await answers_at(f"{small_server.url}/ill")()


async def test_a_part_that_does_not_listen_yet_is_not_ready() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert not await answers_at(f"http://127.0.0.1:{bound.getsockname()[1]}/")()


def test_ports_that_are_asked_for_at_once_differ_and_none_is_of_those_for_connections_going_out() -> None:
    ports = {any_free_port() for _ in range(20)}
    assert len(ports) > 15
    assert all(10_000 <= port < 32_000 and is_free("127.0.0.1", port) for port in ports)


def test_a_missing_extra_is_reported_before_a_taken_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "tocsin.server.app", raising=False)
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        with pytest.raises(MissingExtra, match="needs uvicorn"):
            serve(port=taken_socket.getsockname()[1])
