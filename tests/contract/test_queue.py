"""Tests of the routes of queues: claims, acknowledgements, rights, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine, update
from tests.contract.test_access import restrict, send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served
from typer.testing import CliRunner

from tocsin.cli.app import app_of
from tocsin.client import Client
from tocsin.model.message import OutcomeReason
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import message

ALERTS = "/events/subscriptions"
QUEUE = {"category": "External", "type": "GovernanceWorkflowChangeEvent"}


def body(**fields: Json) -> Json:
    plain = {"name": "Words", "alertType": "GovernanceWorkflowChangeEvent", "destinations": [QUEUE]}
    return {**plain, "filteringRules": {"resources": ["domain"], "rules": []}, **fields}


def create_alert(client: httpx.Client, **fields: Json) -> Json:
    answer = client.post(ALERTS, json=body(**fields))
    assert answer.status_code == 201, answer.text
    return answer.json()


def events(client: httpx.Client, *names: str) -> None:
    for name in names:
        answer = client.post("/domains", json={"name": name, "domainType": "Aggregate", "description": "A domain."})
        assert answer.status_code == 201, answer.text


def act(client: httpx.Client, alert: Json, action: str, **request: Json) -> Json:
    answer = client.post(f"{ALERTS}/{alert['id']}/queue/{action}", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def leases_of(items: list[Json]) -> list[Json]:
    return [{"id": one["id"], "lease": one["lease"]} for one in items]


def outcomes(answer: Json) -> list[str]:
    return [one["state"] for one in answer["data"]]


@pytest.fixture
def queue(administrator: httpx.Client, sqlite_engine: Engine) -> Json:
    """An alert with three events in its queue."""
    alert = create_alert(administrator)
    events(administrator, "One", "Two", "Three")
    notify_all(sqlite_engine)
    return alert


@pytest.fixture
def ana(served: Served) -> Iterator[httpx.Client]:
    _, client = served.person("ana")
    with client:
        yield client


def test_events_are_claimed_in_log_order_and_acknowledged_once(
    administrator: httpx.Client, queue: Json, sqlite_engine: Engine
) -> None:
    first = act(administrator, queue, "claim", limit=2, leaseSeconds=60)
    names = [one["event"]["entityFullyQualifiedName"] for one in first["data"]]
    assert (names, first["hasMore"]) == (["One", "Two"], True)
    assert {one["reasons"][0]["subscriptionName"] for one in first["data"]} == {"Words"}
    (third,) = act(administrator, queue, "claim", limit=100)["data"]
    assert act(administrator, queue, "claim", limit=100) == {"data": [], "hasMore": False}

    items = leases_of(first["data"])
    assert outcomes(act(administrator, queue, "acknowledge", items=items)) == ["acknowledged"] * 2
    assert outcomes(act(administrator, queue, "acknowledge", items=items)) == ["acknowledged"] * 2
    wrong = [{"id": third["id"], "lease": str(uuid4())}, {"id": str(uuid4()), "lease": third["lease"]}]
    assert outcomes(act(administrator, queue, "acknowledge", items=wrong)) == ["leaseLost", "notFound"]
    assert outcomes(act(administrator, queue, "release", items=[*leases_of([third]), *items[:1]])) == [
        "released",
        "acknowledged",
    ]
    (again,) = act(administrator, queue, "claim")["data"]
    assert (again["id"], again["lease"] != third["lease"]) == (third["id"], True)


def test_an_event_comes_back_after_its_lease_unless_that_is_extended(
    administrator: httpx.Client, queue: Json, sqlite_engine: Engine
) -> None:
    first, second = act(administrator, queue, "claim", limit=2)["data"]
    (extended,) = act(administrator, queue, "extend", items=leases_of([second]), leaseSeconds=3600)["data"]
    assert extended["leaseExpiresAt"] > second["leaseExpiresAt"]
    with writing(sqlite_engine) as connection:
        connection.execute(update(message).values(due_at_ms=message.c.due_at_ms - 61_000))
    ids = [one["id"] for one in act(administrator, queue, "claim", limit=100)["data"]]
    assert (first["id"] in ids, second["id"] in ids, len(ids)) == (True, False, 2)
    assert outcomes(act(administrator, queue, "acknowledge", items=leases_of([first]))) == ["leaseLost"]


def test_status_explanations_and_numbers_say_what_became_of_them(administrator: httpx.Client, queue: Json) -> None:
    record = f"{ALERTS}/{queue['id']}/eventsRecord"
    assert administrator.get(record).json()["pendingEventsCount"] == 3
    (item,) = act(administrator, queue, "claim")["data"]
    explanation_path = f"/events/{item['event']['id']}/explain"
    waiting = administrator.get(explanation_path).json()["notified"]["data"][0]["message"]
    assert waiting["status"] == "queued"
    act(administrator, queue, "acknowledge", items=leases_of([item]))
    delivered_message = administrator.get(explanation_path).json()["notified"]["data"][0]["message"]
    assert delivered_message["status"] == "delivered"
    assert administrator.get(record).json()["pendingEventsCount"] == 2
    (status,) = administrator.get(f"{ALERTS}/{queue['id']}/status").json()["data"]
    assert (status["statusDetails"]["status"], "lastSuccessfulAt" in str(status)) == ("active", True)
    again = administrator.post("/events/deliveries/replays", json={"message": item["id"], "delivered": True})
    assert (again.status_code, "queue" in again.json()["message"]) == (409, True)


TYPED = {"filteringRules": {"resources": ["domain", "classification"], "rules": []}}


def add_classification(client: httpx.Client, name: str) -> None:
    answer = client.post("/classifications", json={"name": name, "description": "Words."})
    assert answer.status_code == 201, answer.text


def test_a_claim_by_entity_type_takes_the_type_of_the_oldest_event(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    alert = create_alert(administrator, **TYPED)
    events(administrator, "One")
    add_classification(administrator, "Words")
    events(administrator, "Two")
    notify_all(sqlite_engine)
    domains = act(administrator, alert, "claim", limit=9, groupBy="entityType")
    assert [one["event"]["entityFullyQualifiedName"] for one in domains["data"]] == ["One", "Two"]
    assert all(one["idempotencyKey"] == one["event"]["id"] for one in domains["data"])
    assert (domains["entityType"], domains["hasMore"]) == ("domain", True)
    (word,) = (answer := act(administrator, alert, "claim", limit=9, groupBy="entityType"))["data"]
    assert (word["event"]["entityType"], answer["entityType"], answer["hasMore"]) == (*["classification"] * 2, False)
    assert act(administrator, alert, "claim", groupBy="entityType") == {"data": [], "hasMore": False}
    act(administrator, alert, "release", items=leases_of(domains["data"]))
    assert act(administrator, alert, "claim", groupBy="entityType")["hasMore"]


def test_a_type_whose_events_may_not_be_viewed_is_not_named(
    administrator: httpx.Client, served: Served, sqlite_engine: Engine
) -> None:
    user_id, ana = served.person("ana")
    with ana:
        alert = create_alert(ana, **TYPED)
        add_classification(administrator, "Hidden")
        events(administrator, "Open")
        notify_all(sqlite_engine)
        restrict(administrator, user_id, {"effect": "deny", "resources": ["classification"]})
        claimed = act(ana, alert, "claim", limit=9, groupBy="entityType")
    assert [one["event"]["entityFullyQualifiedName"] for one in claimed["data"]] == ["Open"]
    assert (claimed["entityType"], claimed["hasMore"]) == ("domain", False)


def test_the_event_is_in_the_format_that_the_destination_asks_for(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    alert = create_alert(administrator, destinations=[{**QUEUE, "config": {"payloadFormat": "cloudEvents"}}])
    events(administrator, "One")
    notify_all(sqlite_engine)
    (queued,) = act(administrator, alert, "claim")["data"]
    assert (queued["event"]["specversion"], queued["event"]["subject"]) == ("1.0", "One")


def test_who_may_not_edit_the_alert_may_not_use_its_queue(ana: httpx.Client, queue: Json) -> None:
    for action in ("claim", "acknowledge", "release", "extend"):
        answer = ana.post(f"{ALERTS}/{queue['id']}/queue/{action}", json={})
        assert answer.status_code == 403, answer.text


def test_what_its_editor_may_not_view_is_ended(
    administrator: httpx.Client, served: Served, sqlite_engine: Engine
) -> None:
    user_id, ana = served.person("ana")
    with ana:
        alert = create_alert(ana)
        events(administrator, "Open", "Hidden")
        notify_all(sqlite_engine)
        hides = {"effect": "deny", "resources": ["domain"], "condition": "matchAnyTag('PII.Sensitive')"}
        restrict(administrator, user_id, hides)
        domain = administrator.get("/domains/name/Hidden").json()
        tag = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
        assert send_patch(administrator, f"/domains/{domain['id']}", tag).status_code == 200
        claimed_items = act(ana, alert, "claim", limit=100)["data"]
    assert [one["event"]["entityFullyQualifiedName"] for one in claimed_items] == ["Open"]
    query = {"alert": alert["id"], "reason": OutcomeReason.MAY_NOT_VIEW.value}
    ended_messages = administrator.get("/events/deliveries", params=query).json()["data"]
    assert [one["events"][0]["entityFullyQualifiedName"] for one in ended_messages] == ["Hidden"]


def test_the_queue_of_a_disabled_alert_ends_as_disabled(administrator: httpx.Client, queue: Json) -> None:
    off = {"op": "replace", "path": "/enabled", "value": False}
    assert send_patch(administrator, f"{ALERTS}/{queue['id']}", off).status_code == 200
    assert act(administrator, queue, "claim", limit=100)["data"] == []
    ended = administrator.get("/events/deliveries", params={"alert": queue["id"], "reason": "disabled"}).json()
    assert len(ended["data"]) == 3


WRONG = {
    "limit of none": ("claim", {"limit": 0}, "limit"),
    "limit that is no number": ("claim", {"limit": True}, "limit"),
    "short lease": ("claim", {"leaseSeconds": 4}, "leaseSeconds"),
    "another grouping": ("claim", {"groupBy": "day"}, "groupBy"),
    "unknown key": ("claim", {"most": 4}, "most"),
    "no items": ("acknowledge", {}, "items"),
    "empty items": ("release", {"items": []}, "items"),
    "item that is no object": ("release", {"items": [1]}, "items[0]"),
    "item without id": ("extend", {"items": [{"lease": str(uuid4())}]}, "items[0].id"),
    "item without lease": ("acknowledge", {"items": [{"id": str(uuid4())}]}, "items[0].lease"),
    "item with more": ("acknowledge", {"items": [{"id": str(uuid4()), "lease": str(uuid4()), "x": 1}]}, "items[0].x"),
    "long lease": ("extend", {"items": [{"id": str(uuid4()), "lease": str(uuid4())}], "leaseSeconds": 3601}, "lease"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_with_its_place(administrator: httpx.Client, queue: Json, case: str) -> None:
    action, request, place = WRONG[case]
    answer = administrator.post(f"{ALERTS}/{queue['id']}/queue/{action}", json=request)
    assert (answer.status_code, place in answer.json()["message"]) == (400, True), answer.text


REFUSED = {
    "another alert type": (body(alertType="Notification"), "destinations[0].type"),
    "two queues": (body(destinations=[QUEUE, QUEUE]), "destinations[1].type"),
    "another category": (body(destinations=[{**QUEUE, "category": "Owners"}]), "destinations[0].category"),
    "an endpoint": (body(destinations=[{**QUEUE, "config": {"endpoint": "https://a.example.org"}}]), "endpoint"),
    "people": (body(destinations=[{**QUEUE, "config": {"receivers": ["admin"]}}]), "not people"),
    "a format": (body(destinations=[{**QUEUE, "config": {"payloadFormat": "xml"}}]), "payloadFormat"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_alert_with_a_wrong_queue_is_refused(administrator: httpx.Client, case: str) -> None:
    request, place = REFUSED[case]
    answer = administrator.post(ALERTS, json=request)
    assert (answer.status_code, place in answer.json()["message"]) == (400, True), answer.text


def test_an_alert_without_a_queue_says_so(administrator: httpx.Client) -> None:
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "https://hooks.example.org/x"}}
    alert = create_alert(administrator, destinations=[hook])
    answer = administrator.post(f"{ALERTS}/{alert['id']}/queue/claim", json={})
    assert (answer.status_code, "has no queue" in answer.json()["message"]) == (400, True)


def test_a_trial_sends_nothing(administrator: httpx.Client) -> None:
    answer = administrator.post(f"{ALERTS}/validation/destination", json={"destination": QUEUE})
    assert (answer.status_code, "queue" in answer.json()["statusDetails"]["statusInfo"]) == (200, True)


@pytest.mark.parametrize("form", ["default", "seed", "tocsin", "openmetadata", "cloudEvents"])
def test_the_command_line_and_the_client_empty_a_queue(
    served: Served,
    administrator: httpx.Client,
    sqlite_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    alert = create_alert(administrator, destinations=[{**QUEUE, "config": {"payloadFormat": form}}])
    events(administrator, "One", "Two")
    notify_all(sqlite_engine)
    monkeypatch.setenv("TOCSIN_SERVER", served.url)
    monkeypatch.setenv("TOCSIN_TOKEN", str(administrator.headers["Authorization"]).removeprefix("Bearer "))
    take = CliRunner().invoke(app_of(), ["queue", "take", "Words", "--limit", "1"])
    assert (take.exit_code, "entityCreated" in take.output, "One" in take.output) == (0, True, True), take.output
    lease, identity = take.output.split("--lease ")[1].split()[0], take.output.splitlines()[1].split()[0]
    acknowledgement = CliRunner().invoke(app_of(), ["queue", "acknowledge", "Words", identity, "--lease", lease])
    assert (acknowledgement.exit_code, "acknowledged" in acknowledgement.output) == (0, True), acknowledgement.output
    with Client() as client:
        (second,) = client.claim_events(alert["id"], limit=9)["data"]
        assert client.extend_events(alert["id"], [second])["data"][0]["state"] == "extended"
        assert client.release_events(alert["id"], [second])["data"][0]["state"] == "released"
        while items := client.claim_events(alert["id"])["data"]:
            assert outcomes(client.acknowledge_events(alert["id"], items)) == ["acknowledged"]
