"""Tests of people whose profile is hidden: by references and display names nobody meets them, as in the history.

Log-in names of who acts stand in events, versions and threads: ``userName``, ``updatedBy``, ``createdBy``, ``from``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_quality import case as case
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json, Served

NAME = "Zoe Kanarienvogel"


@pytest.fixture
def talk(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[dict[str, Json]]:
    """What Zoe, who is hidden from Bob, said of the orders, and Bob, who was told of it."""
    zoe_id, zoe = served.person("zoe")
    bob_id, bob = served.person("bob")
    naming = [{"op": "add", "path": "/displayName", "value": NAME}]
    assert administrator.patch(f"/users/{zoe_id}", json=naming).is_success
    restrict(administrator, bob_id, {"effect": "deny", "resources": ["user"]})
    about = f"<#E::table::{orders['fullyQualifiedName']}>"
    with zoe:
        thread = create_entity(zoe, "/conversations", about=about, message="<#E::user::bob> look")
        post = zoe.post(f"/conversations/{thread['id']}/replies", json={"message": "well?"}).json()
        for path in (f"/conversations/{thread['id']}", f"/conversations/{thread['id']}/replies/{post['id']}"):
            assert zoe.put(f"{path}/reaction/heart").is_success
        request = {"category": "MetadataUpdate", "type": "DescriptionUpdate", "about": about, "assignees": ["zoe"]}
        task = create_entity(zoe, "/tasks", **request)
        assert zoe.post(f"/tasks/{task['id']}/comments", json={"message": "soon"}).is_success
        create_entity(zoe, "/suggestions", entityLink=about, description="A suggestion.")
        edit = [{"op": "add", "path": "/description", "value": "Hers."}]
        assert zoe.patch(f"/tables/{orders['id']}", json=edit).is_success
    notify_all(sqlite_engine)
    with bob:
        create_entity(bob, "/suggestions", entityLink=about, description="Another one.")
        yield {"zoe": zoe_id, "bob": bob_id, "client": bob, "thread": thread, "post": post, "task": task}


def test_threads_tasks_inbox_and_activity_name_no_hidden_person(
    talk: dict[str, Json], administrator: httpx.Client
) -> None:
    thread, task, bob = talk["thread"]["id"], talk["task"]["id"], talk["bob"]
    replies = f"/conversations/{thread}/replies"
    paths = (
        "/feed?limit=100",
        f"/feed/{thread}",
        f"/feed/{thread}/posts",
        "/feed?type=Task",
        f"/feed/{task}",
        "/conversations",
        f"/conversations/{thread}",
        replies,
        "/tasks?fields=comments",
        f"/tasks/{task}?fields=comments",
        f"/users/{bob}/notifications?tab=all",
        f"/users/{bob}/notifications/causes",
        f"/users/{bob}/activity",
        "/events?entityType=thread&format=tocsin",
    )
    for path in paths:
        answer, full_answer = talk["client"].get(path), administrator.get(path)
        assert answer.status_code == 200, path
        assert "look" in answer.text or "well?" in answer.text or task in answer.text, path
        assert NAME not in answer.text, path
        assert talk["zoe"] not in answer.text.replace(f'"userId":"{talk["zoe"]}"', ""), path
        assert "zoe" in full_answer.text, path


def test_answers_to_writes_name_no_hidden_person(talk: dict[str, Json]) -> None:
    thread, post, bob = talk["thread"]["id"], talk["post"]["id"], talk["client"]
    reaction = {"user": {"id": talk["bob"], "type": "user"}, "reactionType": "eyes"}
    patch = [{"op": "add", "path": "/reactions/-", "value": reaction}]
    for answer in (
        bob.put(f"/conversations/{thread}/reaction/eyes"),
        bob.put(f"/conversations/{thread}/replies/{post}/reaction/eyes"),
        bob.post(f"/feed/{thread}/posts", json={"message": "so"}),
        bob.patch(f"/feed/{thread}/posts/{post}", json=patch),
    ):
        assert NAME not in answer.text, answer.request.url
        assert talk["zoe"] not in answer.text, answer.request.url


def test_no_filter_finds_what_concerns_a_hidden_person(
    talk: dict[str, Json], administrator: httpx.Client, orders: Json
) -> None:
    zoe, bob, client = talk["zoe"], talk["bob"], talk["client"]
    paths = (
        "/tasks?assignee=zoe",
        "/tasks?createdBy=zoe",
        f"/tasks?createdById={zoe.upper()}",
        f"/suggestions?userId={zoe}",
        f"/feed?userId={zoe}&filterType=ASSIGNED_TO&type=Task",
        f"/feed?userId={zoe}",
        f"/conversations?userId={zoe}&filterType=OWNER",
        f"/activity?actorId={zoe}",
        f"/activity?actorId={zoe}&entityId={orders['id']}",
    )
    for path in paths:
        page, full_page = client.get(path).json(), administrator.get(path).json()
        assert (page["data"], page["paging"]["total"]) == ([], 0), path
        assert full_page["data"], path
    for name, count in (("zoe", 0), ("bob", 1)):
        assert client.get("/tasks/count", params={"createdBy": name}).json()["total"] == count, name
    assert client.get(f"/conversations?userId={bob}&filterType=MENTIONS").json()["paging"]["total"] == 1


def test_no_filter_finds_what_lies_in_a_hidden_domain(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    mallory_id, mallory = served.person("mallory")
    domain = {"name": "Mergers", "domainType": "Aggregate", "description": "x"}
    reference = [{"type": "domain", "id": create_entity(administrator, "/domains", **domain)["id"]}]
    edit = [{"op": "add", "path": "/domains", "value": reference}]
    assert administrator.patch(f"/tables/{orders['id']}", json=edit).is_success
    about = f"<#E::table::{orders['fullyQualifiedName']}>"
    request = {"category": "MetadataUpdate", "type": "DescriptionUpdate", "about": about, "assignees": ["mallory"]}
    create_entity(administrator, "/tasks", **request)
    restrict(administrator, mallory_id, {"effect": "deny", "resources": ["domain"]})
    paths = ("/tasks?domain=Mergers", "/activity?domain=Mergers", f"/activity?domains={reference[0]['id']}")
    news = {"startTime": orders["updatedAt"], "endTime": orders["updatedAt"] + 86_400_000, "description": "y"}
    create_entity(administrator, "/announcements", name="n", entityLink=about, **news)
    with mallory:
        for path in (*paths, "/announcements?domain=Mergers"):
            page, full_page = mallory.get(path).json(), administrator.get(path).json()
            assert (page["data"], page["paging"]["total"]) == ([], 0), path
            assert full_page["data"], path
        assert mallory.get("/tasks/count?domain=Mergers").json()["total"] == 0
        assert mallory.get("/tasks?assignee=mallory").json()["paging"]["total"] == 1


def test_who_may_not_see_a_person_meets_none_of_their_incidents_by_their_name(
    served: Served, administrator: httpx.Client, case: Json
) -> None:
    alice_id, alice = served.person("alice")
    bob_id, bob = served.person("bob")
    restrict(administrator, bob_id, {"effect": "deny", "resources": ["user"]})
    fqn, steps = case["fullyQualifiedName"], "/dataQuality/testCases/testCaseIncidentStatus"
    failure = {"timestamp": 1, "testCaseStatus": "Failed"}
    assert administrator.post(f"/dataQuality/testCases/testCaseResults/{fqn}", json=failure).is_success
    for person_id in (alice_id, bob_id):
        details = {"assignee": {"id": person_id, "type": "user"}}
        step = {"testCaseResolutionStatusType": "Assigned", "testCaseResolutionStatusDetails": details}
        assert administrator.post(steps, json={"testCaseReference": fqn} | step).status_code == 200
    with alice, bob:
        for client, name, count in ((bob, "alice", 0), (bob, "nobody", 0), (bob, "bob", 1), (alice, "alice", 1)):
            assert len(client.get(steps, params={"assignee": name}).json()["data"]) == count, name
        step = alice.get(steps, params={"assignee": "alice"}).json()["data"][0]
        for path in (steps, f"{steps}/{step['id']}", f"{steps}/stateId/{step['stateId']}"):
            assert alice_id in alice.get(path).text, path
            answer = bob.get(path)
            assert (answer.is_success, alice_id in answer.text, "alice" in answer.text) == (True, False, False), path
            assert "assignee" in answer.text, path


@pytest.mark.parametrize("kind", ["owners", "domains", "dataProducts"])
def test_no_search_finds_what_a_hidden_person_owns_or_what_lies_in_a_hidden_domain(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine, kind: str
) -> None:
    """Every query by what a reader may not view finds as if nothing referred to it; oneself may always be named."""
    zoe_id, zoe = served.person("zoe")
    mallory_id, mallory = served.person("mallory")
    domain = create_entity(administrator, "/domains", name="Mergers", domainType="Aggregate", description="x")
    product = create_entity(administrator, "/dataProducts", name="Deals", description="x", domains=["Mergers"])
    owners = [{"type": "user", "id": zoe_id}, {"type": "user", "id": mallory_id}]
    references = {
        "owners": owners,
        "domains": [{"type": "domain", "id": domain["id"]}],
        "dataProducts": [{"type": "dataProduct", "id": product["id"]}],
    }
    edits = [{"op": "add", "path": f"/{key}", "value": value} for key, value in references.items()]
    assert administrator.patch(f"/tables/{orders['id']}", json=edits).is_success
    index_all(sqlite_engine)
    restrict(administrator, mallory_id, {"effect": "deny", "resources": ["user", "domain", "dataProduct"]})
    values = {
        "owners": {"id": zoe_id, "name": "Zoe", "fullyQualifiedName": "zoe"},
        "domains": {"id": domain["id"], "name": "mergers", "fullyQualifiedName": "Mergers"},
        "dataProducts": {"id": product["id"], "name": "Deals", "fullyQualifiedName": product["fullyQualifiedName"]},
    }

    def totals(client: httpx.Client, key: str, value: str) -> set[int]:
        term = json.dumps({"query": {"bool": {"filter": [{"term": {f"{kind}.{key}": value}}]}}})
        queries = ({"q": f'{kind}.{key}:"{value}"'}, {"q": "*", "query_filter": term})
        pages = [client.get("/search/query", params={**one, "index": "table"}).json() for one in queries]
        return {page["hits"]["total"]["value"] for page in pages}

    with zoe, mallory:
        for key, value in values[kind].items():
            assert (totals(administrator, key, value), totals(mallory, key, value)) == ({1}, {0}), key
        if kind == "owners":
            assert totals(mallory, "name", "mallory") == {1}
