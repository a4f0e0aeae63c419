"""Tests of the routes of dead letters and replays: rights, pages, requests with masks, progress, cancellation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_subscriptions import alert
from tests.notifying import notify_all
from tests.serving import Json, Served, table
from tests.store.test_subscriptions import counted_statements

from tocsin.flow.track.attempts import Finished, next_step
from tocsin.model.message import Attempt, Delivered, Outcome, OutcomeReason, Retry
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

PATH = "/events/deliveries"
SECRET = "canary-of-a-secret"
HOOK = {
    "category": "External",
    "type": "Webhook",
    "config": {
        "endpoint": f"https://hooks.example.org/services/{SECRET}-path?key={SECRET}-query",
        "secretKey": f"{SECRET}-key",
        "headers": {"X-Api-Key": f"{SECRET}-header"},
        "queryParams": {"token": f"{SECRET}-parameter"},
    },
}
LATER_MS = 9_000_000_000_000
BROKEN = Retry(OutcomeReason.SERVER_ERROR, 500, "the receiver's words")


class Outbox:
    """A worker that does as it is told."""

    def __init__(self, engine: Engine) -> None:
        self._messages = Messages(engine)
        Sessions(engine).begin("worker", lease_ms=10**9, now_ms=0)

    def end(self, outcome: Outcome = BROKEN) -> int:
        """Claim all that is due, replays as well, and end it so."""
        shares = dict.fromkeys(self._messages.due_destinations(LATER_MS, replayed=True), 100)
        claimed = self._messages.claim("worker", 100, now_ms=LATER_MS)
        claimed += self._messages.claim_replayed("worker", shares, now_ms=LATER_MS)
        for claimed_message in claimed:
            attempt = Attempt(claimed_message.id, claimed_message.attempt_count + 1, LATER_MS, 5, outcome)
            finished = Finished(claimed_message, attempt, next_step(attempt, retries=0, wait_s=0.0))
            self._messages.record("worker", [finished], now_ms=LATER_MS)
        return len(claimed)


@pytest.fixture
def outbox(sqlite_engine: Engine) -> Outbox:
    return Outbox(sqlite_engine)


@pytest.fixture
def letters(administrator: httpx.Client, orders: Json, sqlite_engine: Engine, outbox: Outbox) -> list[Json]:
    """Three dead letters of one alert."""
    response = administrator.post("/events/subscriptions", json=_alert("Hooks"))
    assert response.status_code == 201, response.text
    for name in ("one", "two", "three"):
        table(administrator, name)
    notify_all(sqlite_engine)
    assert outbox.end() == 3
    return messages_of(administrator)


def _alert(alert_name: str, **destination: Json) -> Json:
    guidance = {"severity": "Severity2", "runbook": "Ask the café."}
    destinations = [{**HOOK, **destination}]
    return alert(name=alert_name, filteringRules={"resources": ["table"]}, destinations=destinations, **guidance)


@pytest.fixture
def ana(served: Served) -> Iterator[httpx.Client]:
    _, client = served.person("ana")
    with client:
        yield client


def messages_of(client: httpx.Client, **query: Json) -> list[Json]:
    answer = client.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    messages: list[Json] = answer.json()["data"]
    return messages


def start_replay(client: httpx.Client, **selection: Json) -> Json:
    answer = client.post(f"{PATH}/replays", json=selection)
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"].endswith(f"{PATH}/replays/{answer.json()['id']}")
    return answer.json()


def test_they_are_listed_in_pages_and_by_what_is_asked(administrator: httpx.Client, letters: list[Json]) -> None:
    assert len(letters) == 3
    first = letters[0]
    assert (first["alert"]["name"], first["reason"], first["statusCode"]) == ("Hooks", "serverError", 500)
    assert (first["isDeadLetter"], first["notificationCount"], len(first["events"])) == (True, 1, 1)
    assert "the receiver's words" not in json.dumps(letters)
    page = administrator.get(PATH, params={"limit": 2}).json()
    next_page = administrator.get(PATH, params={"limit": 2, "after": page["paging"]["after"]}).json()
    assert [one["id"] for one in [*page["data"], *next_page["data"]]] == [one["id"] for one in letters]
    assert "after" not in next_page["paging"]
    assert (
        len(messages_of(administrator, alert="Hooks"))
        == len(messages_of(administrator, alert=first["alert"]["id"]))
        == 3
    )
    assert len(messages_of(administrator, destination=first["destination"]["id"], reason="serverError")) == 3
    assert messages_of(administrator, reason="timeout") == messages_of(administrator, until="2020-01-01") == []


def test_messages_of_a_deleted_alert_keep_its_name(administrator: httpx.Client, letters: list[Json]) -> None:
    assert "deleted" not in letters[0]["alert"]
    alert_id = letters[0]["alert"]["id"]
    assert administrator.delete(f"/events/subscriptions/{alert_id}?hardDelete=true").is_success
    (first, *_) = messages_of(administrator)
    assert first["alert"] == {"id": alert_id, "name": "Hooks", "deleted": True}
    assert administrator.get(f"{PATH}/{first['id']}").json()["alert"] == first["alert"]


@pytest.mark.parametrize(
    ("query", "word"),
    [({"reason": "severError"}, "serverError"), ({"since": "soon"}, "since"), ({"after": "1"}, "after")],
)
def test_a_wrong_filter_is_refused(administrator: httpx.Client, query: Json, word: str) -> None:
    answer = administrator.get(PATH, params=query)
    assert (answer.status_code, word in answer.json()["message"]) == (400, True)


def test_one_is_read_with_its_request_and_answers_and_without_secrets(
    administrator: httpx.Client, letters: list[Json]
) -> None:
    letter = administrator.get(f"{PATH}/{letters[0]['id']}").json()
    (attempt,) = letter["attempts"]
    assert (attempt["outcome"], attempt["detail"]) == ("retry", "the receiver's words")
    (request,) = letter["requests"]
    assert request["address"] == "https://hooks.example.org/services/*********?*********"
    assert request["headers"]["webhook-id"] == letters[0]["id"]
    assert request["headers"]["X-Tocsin-Severity"] == "Severity2"
    assert request["headers"]["X-Tocsin-Runbook"] == "UTF-8''Ask%20the%20caf%C3%A9."
    assert request["headers"]["X-Api-Key"] == request["headers"]["webhook-signature"] == "*********"
    assert json.loads(request["body"])["id"] == letters[0]["events"][0]["id"]
    assert SECRET not in json.dumps(letter)
    assert administrator.get(f"{PATH}/{letters[0]['events'][0]['id']}").status_code == 404


def test_a_replay_of_one_is_followed_to_its_end(
    administrator: httpx.Client, letters: list[Json], outbox: Outbox
) -> None:
    started_replay = start_replay(administrator, message=letters[0]["id"])
    path = f"{PATH}/replays/{started_replay['id']}"
    waiting = {"total": 1, "waiting": 1, "delivered": 0, "failed": 0, "takenBack": 0}
    assert (started_replay["state"], started_replay["progress"]) == ("sending", waiting)
    again = administrator.post(f"{PATH}/replays", json={"message": letters[0]["id"]})
    assert (again.status_code, "awaitingReplay" in again.json()["message"]) == (409, True)
    assert len(messages_of(administrator)) == 2
    assert outbox.end(Delivered(200)) == 1
    ended_replay = administrator.get(path).json()
    assert (ended_replay["state"], ended_replay["progress"]["delivered"]) == ("done", 1)
    assert administrator.get(f"{PATH}/{letters[0]['id']}").json()["status"] == "delivered"
    refusal = administrator.post(f"{PATH}/replays", json={"message": letters[0]["id"]})
    assert (refusal.status_code, "delivered: true" in refusal.json()["message"]) == (409, True)
    assert start_replay(administrator, message=letters[0]["id"], delivered=True)["progress"]["total"] == 1
    assert [one["id"] for one in administrator.get(f"{PATH}/replays").json()["data"]][-1] == started_replay["id"]


def test_a_replay_of_an_alert_is_cancelled(administrator: httpx.Client, letters: list[Json], outbox: Outbox) -> None:
    started = start_replay(administrator, alert="Hooks", since="2020-01-01")
    assert started["progress"]["total"] == 3
    cancelled = administrator.delete(f"{PATH}/replays/{started['id']}").json()
    assert (cancelled["state"], cancelled["progress"]["takenBack"]) == ("cancelled", 3)
    assert outbox.end() == 0
    assert {one["id"] for one in messages_of(administrator)} == {one["id"] for one in letters}


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "Say what"),
        ({"delivered": True}, "Say what"),
        ({"message": "x"}, "message"),
        ({"message": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001", "alert": "Hooks"}, "alert"),
        ({"alert": "Hooks", "delivered": True}, "delivered"),
        ({"alert": 1}, "alert"),
        ({"aler": "Hooks"}, "aler"),
        ({"destination": 1}, "destination"),
        ({"since": "soon"}, "since"),
    ],
)
def test_a_wrong_request_for_a_replay_is_refused(administrator: httpx.Client, body: Json, word: str) -> None:
    answer = administrator.post(f"{PATH}/replays", json=body)
    assert (answer.status_code, word in answer.json()["message"]) == (400, True)


def test_an_alert_that_there_is_not_is_answered_with_what_is_meant(
    administrator: httpx.Client, letters: list[Json]
) -> None:
    for answer in (
        administrator.get(PATH, params={"alert": "Hoks"}),
        administrator.post(f"{PATH}/replays", json={"alert": "Hoks"}),
    ):
        assert (answer.status_code, answer.json()["message"]) == (404, "alert Hoks not found; did you mean Hooks?")
    assert messages_of(administrator, alert=str(uuid4())) == []


def test_a_destination_is_named_by_its_id_or_name(
    administrator: httpx.Client, ana: httpx.Client, letters: list[Json], sqlite_engine: Engine, outbox: Outbox
) -> None:
    response = administrator.post("/events/subscriptions", json=_alert("Named", name="#data-alerts"))
    assert response.status_code == 201, response.text
    assert ana.post("/events/subscriptions", json=_alert("Anas", name="#anas-alerts")).status_code == 201
    table(administrator, "four")
    notify_all(sqlite_engine)
    outbox.end()
    (named_letter,) = messages_of(administrator, destination="#data-alerts")
    assert (named_letter["alert"]["name"], named_letter["destination"]["name"]) == ("Named", "#data-alerts")
    assert messages_of(administrator, destination=named_letter["destination"]["id"]) == [named_letter]
    assert messages_of(administrator, alert="Named", destination="#data-alerts") == [named_letter]
    assert len(messages_of(ana, destination="#anas-alerts")) == 1
    missing = [
        (administrator, {"destination": "#data-alert"}, "#data-alert not found; did you mean #data-alerts?"),
        (administrator, {"alert": "Hooks", "destination": "#data-alerts"}, "#data-alerts not found"),
        (ana, {"destination": "#data-alerts"}, "#data-alerts not found; did you mean #anas-alerts?"),
    ]
    for client, selection, words in missing:
        for answer in (client.get(PATH, params=selection), client.post(f"{PATH}/replays", json=selection)):
            assert (answer.status_code, answer.json()["message"]) == (404, f"destination {words}")
    replay = start_replay(administrator, destination="#data-alerts")
    assert (replay["destinations"], replay["progress"]["total"]) == ([named_letter["destination"]["id"]], 1)


def test_only_editors_of_the_alert_see_and_replay_its_messages(
    administrator: httpx.Client, ana: httpx.Client, letters: list[Json], sqlite_engine: Engine, outbox: Outbox
) -> None:
    message_id = letters[0]["id"]
    assert messages_of(ana) == []
    assert ana.get(PATH, params={"alert": "Hooks"}).status_code == 403
    assert ana.get(f"{PATH}/{message_id}").status_code == 403
    assert ana.post(f"{PATH}/replays", json={"message": message_id}).status_code == 403
    assert ana.post(f"{PATH}/replays", json={"alert": "Hooks"}).status_code == 403
    assert ana.post(f"{PATH}/replays", json={"since": "2020-01-01"}).json()["progress"]["total"] == 0
    started_replay = start_replay(administrator, message=message_id)
    assert ana.get(f"{PATH}/replays/{started_replay['id']}").status_code == 404
    assert ana.delete(f"{PATH}/replays/{started_replay['id']}").status_code == 404
    assert ana.post("/events/subscriptions", json=_alert("Anas")).status_code == 201
    table(administrator, "four")
    notify_all(sqlite_engine)
    outbox.end()
    (letter_of_ana,) = messages_of(ana)
    assert letter_of_ana["alert"]["name"] == "Anas"
    letter = ana.get(f"{PATH}/{letter_of_ana['id']}").json()
    assert "detail" not in letter["attempts"][0], "receivers' answers are for administrators"
    assert len(letter["requests"]) == 1
    assert start_replay(ana, alert="Anas")["progress"]["total"] == 1


def test_messages_about_what_may_not_be_seen_are_not_there(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine, outbox: Outbox
) -> None:
    ana_id, ana = served.person("ana")
    with ana:
        assert ana.post("/events/subscriptions", json=_alert("Anas")).status_code == 201
        table(administrator, "payroll")
        notify_all(sqlite_engine)
        outbox.end()
        (letter_of_ana,) = messages_of(ana)
        restrict(
            administrator, ana_id, {"effect": "deny", "resources": ["table"], "operations": ["ViewAll", "ViewBasic"]}
        )
        assert messages_of(ana) == []
        assert ana.get(f"{PATH}/{letter_of_ana['id']}").status_code == 404
        assert ana.post(f"{PATH}/replays", json={"message": letter_of_ana["id"]}).status_code == 404
        assert [one["id"] for one in messages_of(administrator)] == [letter_of_ana["id"]]


def test_forgotten_letters_are_none_and_say_who_wanted_that(
    administrator: httpx.Client, ana: httpx.Client, letters: list[Json], outbox: Outbox
) -> None:
    first, second, third = (one["id"] for one in letters)
    body = {"messages": [first, second], "reason": " the old hook is gone "}
    assert ana.post(f"{PATH}/forget", json=body).status_code == 403
    for wrong in ({**body, "reason": "  "}, {"reason": "x", "messages": []}, {**body, "messages": ["x"]}):
        assert administrator.post(f"{PATH}/forget", json=wrong).status_code == 400
    assert administrator.post(f"{PATH}/forget", json={**body, "messages": [str(uuid4())]}).status_code == 404
    assert administrator.post(f"{PATH}/forget", json=body).json() == {"forgotten": 2}
    assert administrator.post(f"{PATH}/forget", json=body).json() == {"forgotten": 0}
    assert [one["id"] for one in messages_of(administrator)] == [third]
    assert {one["id"] for one in messages_of(administrator, reason="forgotten")} == {first, second}
    last = administrator.get(f"{PATH}/{first}").json()["attempts"][-1]
    assert last["reason"] == "forgotten"
    assert last["detail"].endswith(": the old hook is gone")
    start_replay(administrator, message=first)
    assert outbox.end(Delivered()) == 1
    assert administrator.get(f"{PATH}/{first}").json()["status"] == "delivered"
    answer = administrator.post(f"{PATH}/forget", json={**body, "messages": [first]})
    assert (answer.status_code, "not given up" in answer.json()["message"]) == (409, True)


def test_many_messages_are_forgotten_by_as_many_statements_as_one(
    administrator: httpx.Client, letters: list[Json], sqlite_engine: Engine
) -> None:
    counts = []
    for portion in (letters[:1], letters[1:]):
        with counted_statements(sqlite_engine) as statements:
            body = {"messages": [one["id"] for one in portion], "reason": "old"}
            assert administrator.post(f"{PATH}/forget", json=body).json() == {"forgotten": len(portion)}
        counts.append(len(statements))
    assert counts[0] == counts[1] > 0


def test_a_destination_says_what_it_sent_and_how_long_that_took(
    administrator: httpx.Client, ana: httpx.Client, letters: list[Json], outbox: Outbox, sqlite_engine: Engine
) -> None:
    path = f"/events/subscriptions/{letters[0]['alert']['id']}/destinationFigures"
    (figures,) = administrator.get(path).json()["data"]
    assert (figures["sent"], figures["waiting"], figures["p95Seconds"]) == (0, 0, None)
    table(administrator, "four")
    table(administrator, "five")
    notify_all(sqlite_engine)
    assert administrator.get(path).json()["data"][0]["waiting"] == 2
    assert outbox.end(Delivered()) == 2
    (figures,) = administrator.get(path).json()["data"]
    assert figures["destinationId"] == letters[0]["destination"]["id"]
    assert (figures["sent"], figures["waiting"]) == (2, 0)
    assert figures["p95Seconds"] > 1_000_000, "the worker of this test lives in the far future"
    assert ana.get(path).status_code == 403
