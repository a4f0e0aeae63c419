"""Tests of the waits for a broker: each reason is logged once, and again after minutes."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from tocsin.relay.kafka.client import Connection
from tocsin.relay.waits import LONGEST_WAIT_S, SAID_EVERY_S, BrokerWaits

AWAY, FULL = OSError("the broker is away\nat the second line"), OSError("the disk is full")


class Stop(threading.Event):
    """A sign to stop that never comes, and takes note of who waits for it how long."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_s: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits_s.append(timeout)
        return False


class Watch:
    """A clock that runs while somebody waits."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop

    def __call__(self) -> float:
        return sum(wait_s or 0.0 for wait_s in self._stop.waits_s)


def test_a_reason_is_logged_once_and_again_while_it_lasts() -> None:
    stop = Stop()
    waits = BrokerWaits("relay.waits", steady=Watch(stop))
    with capture_logs() as logged:
        while sum(wait_s or 0.0 for wait_s in stop.waits_s) < 2.5 * SAID_EVERY_S:
            waits.wait(AWAY, stop)
    assert len(stop.waits_s) > 70
    first, *later = logged
    assert first == {"event": "relay.waits", "reason": "the broker is away", "log_level": "warning"}
    assert [entry["reason"] for entry in later] == [first["reason"]] * 2
    assert all(0 <= entry["for_s"] / number - SAID_EVERY_S < 11 for number, entry in enumerate(later, 1))


def test_waits_grow_until_an_attempt_was_successful() -> None:
    stop = Stop()
    waits = BrokerWaits("relay.waits", first_s=1.0, steady=Watch(stop))
    with capture_logs() as logged:
        for _ in range(6):
            waits.wait(AWAY, stop)
        waits.end()
        waits.wait(AWAY, stop)
    assert stop.waits_s == [1.0, 2.0, 4.0, 8.0, LONGEST_WAIT_S, LONGEST_WAIT_S, 1.0]
    assert len(logged) == 2, "what is away again is said again"


def test_another_reason_is_logged_at_once() -> None:
    stop = Stop()
    waits = BrokerWaits("ingest.waits", steady=Watch(stop))
    with capture_logs() as logged:
        for error in (AWAY, FULL, FULL, AWAY):
            waits.wait(error, stop)
    assert [entry["reason"] for entry in logged] == ["the broker is away", "the disk is full", "the broker is away"]


def test_a_broker_that_is_away_is_the_same_reason_each_time() -> None:
    connection = Connection("relay", {"bootstrap.servers": "127.0.0.1:1"})
    reasons = set()
    for state in ("(after 0ms in state CONNECT)", "(after 12ms in state CONNECT, 30 identical error(s) suppressed)"):
        connection.config()["error_cb"](KafkaError(KafkaError._TRANSPORT, f"127.0.0.1:1: Connection refused {state}"))
        with pytest.raises(Exception, match="refused") as raised, connection.guard("topics cannot be listed"):
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "Failed to get metadata"))
        reasons.add(str(raised.value))
    assert reasons == {"topics cannot be listed at 127.0.0.1:1: 127.0.0.1:1: Connection refused"}
