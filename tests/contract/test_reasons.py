"""Tests by HTTP of why changes are made, as their authors say: the header, and what shows it."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from tests.contract.test_events import PATCH
from tests.serving import Json, Served
from tests.waiting import until

WHY = "X-Tocsin-Why"


def describe(client: httpx.Client, asset: Json, text: str, why: str | bytes | None = None) -> httpx.Response:
    operations = [{"op": "add", "path": "/description", "value": text}]
    headers: dict[str, Json] = {**PATCH, **({WHY: why} if why is not None else {})}
    return client.patch(f"/tables/{asset['id']}", content=json.dumps(operations), headers=headers)


def reasons(client: httpx.Client, asset: Json) -> list[str]:
    history = client.get(f"/tables/{asset['id']}/versions?words=true").json()
    assert len(history["reasons"]) == len(history["versions"])
    stated: list[str] = history["reasons"]
    return stated


def test_a_version_keeps_why_it_was_written(administrator: httpx.Client, orders: Json) -> None:
    assert describe(administrator, orders, "first", "the auditors asked").status_code == 200
    assert describe(administrator, orders, "second").status_code == 200
    assert describe(administrator, orders, "third", "UTF-8''Gr%C3%BC%C3%9Fe%20aus%20%E6%9D%B1%E4%BA%AC").is_success
    assert describe(administrator, orders, "fourth", "über Nacht".encode()).is_success
    assert reasons(administrator, orders) == ["über Nacht", "Grüße aus 東京", "", "the auditors asked", ""]
    assert "reasons" not in administrator.get(f"/tables/{orders['id']}/versions").json()


def test_a_difference_says_why_what_lies_between_was_written(administrator: httpx.Client, orders: Json) -> None:
    for text, why in (("first", "the auditors asked"), ("second", None), ("third", "a typo"), ("fourth", "too late")):
        assert describe(administrator, orders, text, why).is_success
    between = [{"version": 0.2, "reason": "the auditors asked"}, {"version": 0.4, "reason": "a typo"}]
    for versions in ("from=0.1&to=0.4", "from=0.4&to=0.1"):
        assert administrator.get(f"/tables/{orders['id']}/diff?{versions}").json()["reasons"] == between
    assert administrator.get(f"/tables/{orders['id']}/diff?from=0.2&to=0.3").json()["reasons"] == []


def test_linked_data_of_an_event_says_why(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "first", 'the auditors asked: "why?"')
    describe(administrator, orders, "second")
    events = administrator.get(f"/events?entityId={orders['id']}&entityUpdated=table").json()["data"]
    paths = [f"/events/{event['id']}?format=ntriples" for event in events]
    why, nothing = (administrator.get(path).text for path in paths)
    assert r'<http://www.w3.org/2000/01/rdf-schema#comment> "the auditors asked: \"why?\"" .' in why
    assert "rdf-schema#comment" not in nothing


def test_entities_themselves_have_no_key_of_ours(administrator: httpx.Client, orders: Json) -> None:
    written = describe(administrator, orders, "first", "the auditors asked").json()
    read = administrator.get(f"/tables/{orders['id']}?fields=*").json()
    version = administrator.get(f"/tables/{orders['id']}/versions/0.2").json()
    (event,) = administrator.get(f"/events?entityId={orders['id']}&entityUpdated=table").json()["data"]
    assert "the auditors asked" not in json.dumps([written, read, version, event])


def test_every_kind_of_write_may_say_why(administrator: httpx.Client, orders: Json) -> None:
    def headers(word: str) -> dict[str, str]:
        return {WHY: f"because of {word}"}

    schema = orders["databaseSchema"]["fullyQualifiedName"]
    request = {"name": "refunds", "databaseSchema": schema, "columns": [{"name": "id", "dataType": "INT"}]}
    created_table = administrator.post("/tables", json=request, headers=headers("post")).json()
    administrator.put("/tables", json=request | {"description": "Refunds."}, headers=headers("put"))
    administrator.put("/tables/bulk", json=[request | {"description": "All refunds."}], headers=headers("bulk"))
    administrator.delete(f"/tables/{created_table['id']}", headers=headers("delete"))
    administrator.put("/tables/restore", json={"id": created_table["id"]}, headers=headers("restore"))
    administrator.post(f"/tables/{created_table['id']}/rollback", json={"version": 0.1}, headers=headers("rollback"))
    words = ["rollback", "restore", "delete", "bulk", "put", "post"]
    assert reasons(administrator, created_table) == [f"because of {word}" for word in words]


def test_what_is_below_a_deleted_entity_has_the_same_reason(administrator: httpx.Client, orders: Json) -> None:
    path = f"/databaseSchemas/{orders['databaseSchema']['id']}?recursive=true"
    assert administrator.delete(path, headers={WHY: "the shop has closed"}).is_success
    assert reasons(administrator, orders)[0] == "the shop has closed"


def test_a_thousand_entities_written_at_once_have_one_reason_each(administrator: httpx.Client, orders: Json) -> None:
    schema, column = orders["databaseSchema"]["fullyQualifiedName"], {"name": "id", "dataType": "INT"}
    request = [{"name": f"t{at}", "databaseSchema": schema, "columns": [column]} for at in range(1_000)]
    assert administrator.put("/tables/bulk", json=request, headers={WHY: "run 4c1f"}, timeout=120).is_success
    for at in (0, 499, 999):
        table = administrator.get(f"/tables/name/{schema}.t{at}").json()
        assert reasons(administrator, table) == ["run 4c1f"]


@pytest.mark.parametrize(
    "why",
    [
        "x" * 501,
        b"caf\xe9",
        "UTF-8''a%0D%0ASet-Cookie:%20b",
        "UTF-8''%00",
        "UTF-8''%E2%80%AEdesrever",
        "UTF-8''%",
        "a\tb",
    ],
)
def test_what_is_no_line_of_plain_text_is_refused(administrator: httpx.Client, orders: Json, why: str | bytes) -> None:
    answer = describe(administrator, orders, "first", why)
    assert answer.status_code == 400
    assert WHY in answer.json()["message"]
    assert administrator.get(f"/tables/{orders['id']}").json()["version"] == 0.1


def test_two_reasons_are_refused(administrator: httpx.Client, orders: Json) -> None:
    headers = [("Content-Type", "application/json-patch+json"), (WHY, "one"), (WHY, "two")]
    answer = administrator.patch(f"/tables/{orders['id']}", content="[]", headers=headers)
    assert (answer.status_code, "more than once" in answer.json()["message"]) == (400, True)


def test_reads_do_not_mind_the_header(administrator: httpx.Client, orders: Json) -> None:
    assert administrator.get(f"/tables/{orders['id']}", headers={WHY: "x" * 501}).status_code == 200


@pytest.mark.parametrize(
    "value", [b"x" * 1_000_000, b"a\r b", b"a\n b", b"a\0b", b"a\x0bb"], ids=["1 MB", "CR", "LF", "NUL", "VT"]
)
def test_a_header_that_is_none_never_reaches_the_store(
    served: Served, administrator: httpx.Client, orders: Json, value: bytes
) -> None:
    """Written to the socket as it is: what HTTP clients would not send."""
    body = b'[{"op": "add", "path": "/description", "value": "first"}]'
    head = (
        f"PATCH /api/v1/tables/{orders['id']} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        f"Authorization: {administrator.headers['Authorization']}\r\nContent-Type: application/json-patch+json\r\n"
    )
    with socket.create_connection((urlsplit(served.url).hostname, urlsplit(served.url).port), timeout=20) as connection:
        try:
            connection.sendall(head.encode() + WHY.encode() + b": " + value + b"\r\n\r\n" + body)
            answer = connection.recv(20)
        except ConnectionError:
            answer = b""  # refused before all of it was sent
    assert b" 200 " not in answer
    assert reasons(administrator, orders) == [""]


def test_events_are_found_by_a_part_of_why_they_were_made(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "first", "The AUDITORS asked: 100%_of it")
    describe(administrator, orders, "second")
    describe(administrator, orders, "third", "\u00dcber Nacht".encode())

    def found_versions(part: str) -> list[float]:
        events = administrator.get("/events", params={"reason": part, "format": "tocsin"}).json()["data"]
        return [event["currentVersion"] for event in events]

    parts = ("auditors", "100%_OF", "100__of", "\u00fcber nacht", "ber", "nobody", "%", "asked: 100%_of it")
    assert [found_versions(part) for part in parts] == [[0.2], [0.2], [], [0.4], [0.4], [], [0.2], [0.2]]
    assert administrator.get("/events?reason=").status_code == 400
    assert administrator.get(f"/events?reason={'x' * 501}").status_code == 400


def test_our_own_form_and_attributes_of_an_event_say_why(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "first", "the auditors asked")

    def event_as(payload_format: str) -> Json:
        (event,) = administrator.get(f"/events?reason=auditors&format={payload_format}").json()["data"]
        return event

    assert event_as("tocsin")["reason"] == event_as("cloudEvents")["reason"] == "the auditors asked"
    for payload_format in ("default", "seed", "openmetadata"):
        assert "auditors" not in json.dumps(event_as(payload_format))


def test_activity_and_explanations_say_why(administrator: httpx.Client, orders: Json) -> None:
    me = administrator.get("/users/loggedInUser").json()["id"]
    administrator.put(f"/tables/{orders['id']}/followers/{me}")
    describe(administrator, orders, "first", "the auditors asked")
    newest, *_ = administrator.get(f"/users/{me}/activity").json()["data"]
    assert newest["reason"] == "the auditors asked"
    explanation = administrator.get(f"/events/{newest['event']['id']}/explain").json()
    assert "reason: the auditors asked" in explanation["event"]["changes"]


def test_who_may_not_see_an_asset_does_not_see_why_it_changed(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    describe(administrator, orders, "first", "the auditors asked")
    hide(administrator, "auditing")
    _, client = served.person("rolf")
    with client:
        answers = [
            client.get(f"/tables/{orders['id']}/versions?words=true"),
            client.get(f"/events?entityId={orders['id']}&format=tocsin"),
            client.get("/events?reason=auditors&format=tocsin"),
            client.get("/events?words=auditors&format=tocsin"),
        ]
    assert answers[0].status_code in (403, 404)
    assert all("auditors" not in answer.text for answer in answers)


def test_a_refused_write_says_nothing_to_others(served: Served, administrator: httpx.Client, orders: Json) -> None:
    _, client = served.person("rolf")
    with client:
        refused = client.delete(f"/tables/{orders['id']}", headers={WHY: "visit https://evil.example"})
    assert refused.status_code == 403

    def violations() -> list[Json]:
        return list(administrator.get("/events?eventType=policyViolation&format=tocsin").json()["data"])

    until(lambda: len(violations()) == 1, within_s=10)
    assert "evil" not in json.dumps(violations())


def hide(administrator: httpx.Client, name: str) -> None:
    """Let nobody but administrators view tables."""
    rule = {"name": name, "effect": "deny", "operations": ["ViewAll", "ViewBasic"], "resources": ["table"]}
    policy = administrator.post("/policies", json={"name": name, "rules": [rule]}).json()
    organization = administrator.get("/teams/name/Organization?fields=policies").json()
    operations = [{"op": "add", "path": "/policies/-", "value": {"id": policy["id"], "type": "policy"}}]
    answer = administrator.patch(f"/teams/{organization['id']}", content=json.dumps(operations), headers=PATCH)
    assert answer.is_success, answer.text
