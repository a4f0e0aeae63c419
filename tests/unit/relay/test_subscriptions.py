"""Tests of the lags of Pulsar's subscriptions, by the answers of an administration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.small_server import SmallServer, listening

from tocsin.model.entity import Document
from tocsin.relay.pulsar.client import PulsarOptions
from tocsin.relay.pulsar.subscriptions import SubscriptionLags
from tocsin.relay.target import BrokerUnavailable

PATH = "/admin/v2/persistent/public/default"


@pytest.fixture
def administration() -> Iterator[SmallServer]:
    small = SmallServer()
    with listening(small):
        yield small


def lags(administration: SmallServer, *topics: str, token: str | None = "secret") -> list[Document]:
    options = PulsarOptions(
        "relay", "pulsar://127.0.0.1:1", "public/default", topics, token=token, admin_url=administration.url
    )
    return SubscriptionLags(options).measure()


def backlog(count: int, oldest_ms: int = -1, **fields: object) -> Document:
    return {"msgBacklog": count, "earliestMsgPublishTimeInBacklog": oldest_ms, **fields}


def test_topics_and_partitions_of_a_subscription_are_one_reader(administration: SmallServer) -> None:
    names = ["events-partition-0", "events-partition-1", "events-partition-x", "others"]
    administration.answer("GET", PATH, [f"persistent://public/default/{name}" for name in names])
    of_first = {"a": backlog(2, 500), "b": backlog(0), "gone": backlog(9, durable=False)}
    administration.answer("GET", f"{PATH}/events-partition-0/stats", {"subscriptions": of_first})
    administration.answer("GET", f"{PATH}/events-partition-1/stats", {"subscriptions": {"a": backlog(3, 400)}})
    assert lags(administration, "events", "missing") == [
        {"reader": "subscription a", "kind": "subscription", "eventCount": 5, "oldestMs": 400},
        {"reader": "subscription b", "kind": "subscription", "eventCount": 0},
    ]
    assert {request.headers["Authorization"] for request in administration.requests} == {"Bearer secret"}
    assert len(administration.requests) == 3


def test_another_broker_that_has_the_answer_is_asked(administration: SmallServer) -> None:
    owner = SmallServer()
    with listening(owner):
        administration.headers["Location"] = f"{owner.url}{PATH}"
        administration.answer("GET", PATH, None, status=307)
        owner.answer("GET", PATH, [])
        assert lags(administration, "events") == []
        assert [request.headers["Authorization"] for request in owner.requests] == ["Bearer secret"]


def test_the_token_is_not_sent_on_by_another_scheme(administration: SmallServer) -> None:
    administration.headers["Location"] = f"https://127.0.0.1:1{PATH}"
    administration.answer("GET", PATH, None, status=307)
    with pytest.raises(BrokerUnavailable, match="sends on to https: set pulsar_admin_url to it"):
        lags(administration, "events")


def test_a_place_on_the_same_broker_is_asked(administration: SmallServer) -> None:
    administration.headers["Location"] = "/elsewhere"
    administration.answer("GET", PATH, None, status=307)
    with pytest.raises(BrokerUnavailable):
        lags(administration, "events")
    assert administration.requests[-1].path == "/elsewhere"


@pytest.mark.parametrize(("status", "body"), [(401, {}), (500, {}), (200, None)])
def test_what_is_no_answer_says_why(administration: SmallServer, status: int, body: object) -> None:
    """Fault scenario 66."""
    administration.answer("GET", PATH, body, status=status)
    with pytest.raises(BrokerUnavailable, match="subscriptions cannot be read at http"):
        lags(administration, "events", token=None)


def test_brokers_that_send_each_other_the_question_end(administration: SmallServer) -> None:
    """Fault scenario 66."""
    administration.headers["Location"] = f"{administration.url}{PATH}"
    administration.answer("GET", PATH, None, status=307)
    with pytest.raises(BrokerUnavailable, match="status 307"):
        lags(administration, "events")
