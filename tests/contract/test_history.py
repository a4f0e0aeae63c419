"""Tests of comparing versions, listing them by time and rolling back by HTTP, with invalid requests."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.serving import Json, Served

from tocsin.clock import SystemClock

PATCH = {"Content-Type": "application/json-patch+json"}
NAME = "/tables/name/warehouse.shop.public.orders"


def _describe(client: httpx.Client, orders: Json, text: str) -> Json:
    operations = [{"op": "add", "path": "/description", "value": text}]
    answer = client.patch(f"/tables/{orders['id']}", content=json.dumps(operations), headers=PATCH)
    assert answer.status_code == 200
    return answer.json()


@pytest.fixture
def edited_table(administrator: httpx.Client, orders: Json) -> Json:
    """``orders`` at version 0.3, described twice."""
    _describe(administrator, orders, "first")
    return _describe(administrator, orders, "second")


def test_a_dry_run_says_what_a_rollback_would_do(administrator: httpx.Client, edited_table: Json) -> None:
    preview = administrator.post(f"/tables/{edited_table['id']}/rollback", json={"version": 0.1, "dryRun": True}).json()
    assert (preview["dryRun"], preview["leftOut"], preview["entity"]["version"]) == (True, [], 0.4)
    assert preview["changeDescription"]["fieldsDeleted"] == [{"name": "description", "oldValue": "second"}]
    assert administrator.get(f"/tables/{edited_table['id']}").json()["version"] == 0.3


@pytest.mark.parametrize("version", [0.2, "0.2"])
def test_a_rollback_by_name_is_a_new_version(administrator: httpx.Client, edited_table: Json, version: object) -> None:
    rollback = administrator.post(f"{NAME}/rollback", json={"version": version})
    assert rollback.status_code == 200
    assert rollback.json()["entity"]["description"] == "first"
    read = administrator.get(f"/tables/{edited_table['id']}")
    assert (read.json()["version"], read.headers["ETag"]) == (0.4, rollback.headers["ETag"])


def test_a_rollback_minds_if_match(administrator: httpx.Client, edited_table: Json) -> None:
    tag = administrator.get(f"/tables/{edited_table['id']}").headers["ETag"]
    path, body = f"/tables/{edited_table['id']}/rollback", {"version": 0.1}
    assert administrator.post(path, json=body, headers={"If-Match": '"stale"'}).status_code == 412
    assert administrator.post(path, json=body, headers={"If-Match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"version": True}, 400),
        ({"version": "x"}, 400),
        ({"version": 0.15}, 400),
        ({"version": [0.1]}, 400),
        ({"version": 9.9}, 404),
        ({"version": 0.1, "dryRun": "yes"}, 400),
        ({"version": 0.1, "more": 1}, 400),
        ([], 400),
    ],
)
def test_a_rollback_to_nowhere_is_refused(
    administrator: httpx.Client, edited_table: Json, body: Json, status: int
) -> None:
    answer = administrator.post(f"/tables/{edited_table['id']}/rollback", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, status)


def test_only_administrators_bring_people_back(served: Served, administrator: httpx.Client) -> None:
    user_id, client = served.person("rolf")
    with client:
        assert client.post(f"/users/{user_id}/rollback", json={"version": 0.1}).status_code == 403


def test_two_versions_are_compared_in_either_direction(administrator: httpx.Client, edited_table: Json) -> None:
    path = f"/tables/{edited_table['id']}/diff"
    newest = administrator.get(path).json()
    assert newest == administrator.get(f"{NAME}/diff?from=0.2&to=0.3").json()
    assert newest == {
        "fieldsAdded": [],
        "fieldsUpdated": [{"name": "description", "oldValue": "first", "newValue": "second"}],
        "fieldsDeleted": [],
        "previousVersion": 0.2,
        "breaking": False,
        "breakingReasons": [],
        "announcements": [],
        "renames": [],
        "reasons": [],
    }
    backwards = administrator.get(f"{path}?from=0.3&to=0.1").json()
    assert backwards["fieldsDeleted"] == [{"name": "description", "oldValue": "second"}]
    assert administrator.get(f"{path}?from=x").status_code == 400
    unknown = administrator.get(f"{path}?from=7.7")
    assert unknown.status_code == 404
    assert unknown.json()["message"] == f"table {edited_table['fullyQualifiedName']} has no version 7.7"
    assert administrator.get(f"{path}?to=0.1").status_code == 404


def test_an_entity_is_read_as_of_a_moment(administrator: httpx.Client, orders: Json) -> None:
    made_ms = orders["updatedAt"]
    now = _describe(administrator, orders, "x")
    for path in (f"/tables/{orders['id']}", NAME):
        assert administrator.get(f"{path}?asOf={made_ms - 1}").status_code == 404
        assert administrator.get(f"{path}?asOf={now['updatedAt']}").json()["description"] == "x"
        assert administrator.get(f"{path}?asOf=x").status_code == 400
        unknown = administrator.get(f"{path}?asOf={now['updatedAt']}&fields=ownrs")
        assert unknown.status_code == 400
        assert "did you mean owners?" in unknown.json()["message"]
    administrator.delete(f"/tables/{orders['id']}?hardDelete=true")
    at_ms = SystemClock().now_ms()
    assert administrator.get(f"/tables/{orders['id']}?asOf={now['updatedAt']}").json()["version"] == 0.2
    assert administrator.get(f"/tables/{orders['id']}?asOf={at_ms}").status_code == 404


def test_what_was_softly_deleted_then_is_shown_on_request(administrator: httpx.Client, orders: Json) -> None:
    administrator.delete(f"/tables/{orders['id']}")
    path = f"/tables/{orders['id']}?asOf={SystemClock().now_ms()}"
    assert administrator.get(path).status_code == 404
    assert administrator.get(f"{path}&include=all").json()["deleted"] is True


def test_a_glossary_is_renamed_with_its_terms_and_labels(administrator: httpx.Client, orders: Json) -> None:
    ids = {}
    for path, request in (
        ("/glossaries", {"name": "Business", "description": "x"}),
        ("/glossaryTerms", {"name": "Revenue", "description": "x", "glossary": "Business"}),
        ("/glossaries", {"name": "Taken", "description": "x"}),
    ):
        answer = administrator.post(path, json=request)
        assert answer.status_code == 201, answer.text
        ids[request["name"]] = answer.json()["id"]
    label = {"tagFQN": "Business.Revenue", "source": "Glossary", "labelType": "Manual", "state": "Confirmed"}
    _patch(administrator, f"/tables/{orders['id']}", {"op": "add", "path": "/tags", "value": [label]})
    rename_answer = _patch(administrator, f"/glossaries/{ids['Business']}", _NAMED | {"value": "Trade"})
    assert (rename_answer.json()["fullyQualifiedName"], rename_answer.json()["version"]) == ("Trade", 0.2)
    assert administrator.get("/glossaryTerms/name/Trade.Revenue").json()["id"] == ids["Revenue"]
    assert administrator.get("/glossaryTerms/name/Business.Revenue").status_code == 404
    tags = administrator.get(f"/tables/{orders['id']}?fields=tags").json()["tags"]
    assert [label["tagFQN"] for label in tags] == ["Trade.Revenue"]
    for refused_name, status in (("Taken", 409), ("", 400), (7, 400), ("x" * 300, 400)):
        answer = _patch(administrator, f"/glossaries/{ids['Business']}", _NAMED | {"value": refused_name}, status)
        assert answer.json()["code"] == status


def test_what_connectors_rely_on_keeps_its_name_and_place(administrator: httpx.Client, orders: Json) -> None:
    refused = _patch(administrator, f"/tables/{orders['id']}", _NAMED | {"value": "other"}, 400)
    assert "name of a table" in refused.json()["message"]
    for op in ({"op": "remove", "path": "/databaseSchema"}, {"op": "replace", "path": "/databaseSchema", "value": {}}):
        assert _patch(administrator, f"/tables/{orders['id']}", op, 400).json()["code"] == 400


_NAMED = {"op": "replace", "path": "/name"}


def _patch(client: httpx.Client, path: str, operation: Json, status: int = 200) -> httpx.Response:
    answer = client.patch(path, content=json.dumps([operation]), headers=PATCH)
    assert answer.status_code == status, answer.text
    return answer
