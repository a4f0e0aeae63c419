"""Tests of the follower routes, in the seed's form and in upstream's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.contract.standards import problems
from tests.contract.test_access import restrict
from tests.serving import KEY, Json, Served, running_server, table, warehouse
from tests.startedstore import StartedStore

from tocsin.clock import SystemClock
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.settings import Settings


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


def offset(served: Served) -> int:
    return int(served.app.state.parts.log.readable_end())


@pytest.mark.parametrize("form", ["path", "body"])
def test_following_answers_with_the_change_event(alice: tuple[str, httpx.Client], orders: Json, form: str) -> None:
    user_id, client = alice
    path = f"/tables/{orders['id']}/followers"
    answer = client.put(f"{path}/{user_id}") if form == "path" else client.put(path, json=user_id)
    assert answer.status_code == 200
    event = answer.json()
    assert (event["eventType"], event["entityId"]) == ("entityUpdated", orders["id"])
    addition = event["changeDescription"]["fieldsAdded"][0]
    assert (addition["name"], addition["newValue"][0]["id"]) == ("followers", user_id)
    assert event["previousVersion"] == event["currentVersion"] == 0.1
    follower_page = client.get(path).json()
    assert [(one["id"], one["type"], one["name"]) for one in follower_page["data"]] == [(user_id, "user", "alice")]
    assert follower_page == {
        "entityType": "table",
        "entityId": orders["id"],
        "followers": follower_page["data"],
        "data": follower_page["data"],
    }
    followers = client.get(f"/tables/{orders['id']}?fields=followers").json()["followers"]
    assert [one["id"] for one in followers] == [user_id]


def test_following_twice_answers_200_and_emits_nothing(
    served: Served, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    before = offset(served)
    again = client.put(f"/tables/{orders['id']}/followers/{user_id}")
    assert (again.status_code, again.json()["eventType"]) == (200, "entityNoChange")
    assert offset(served) == before


def test_unfollowing_names_who_left(alice: tuple[str, httpx.Client], orders: Json) -> None:
    user_id, client = alice
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    event = client.delete(f"/tables/{orders['id']}/followers/{user_id}").json()
    assert event["changeDescription"]["fieldsDeleted"][0]["name"] == "followers"
    assert client.delete(f"/tables/{orders['id']}/followers/{user_id}").json()["eventType"] == "entityNoChange"
    nobody = {"entityType": "table", "entityId": orders["id"], "followers": [], "data": []}
    assert client.get(f"/tables/{orders['id']}/followers").json() == nobody


def test_what_is_taken_back_of_a_deleted_asset_stays_so_when_it_is_restored(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    path = f"/tables/{orders['id']}"
    assert client.put(f"{path}/followers/{user_id}").is_success
    assert client.put(f"{path}/vote", json={"updatedVoteType": "votedUp"}).is_success
    assert administrator.delete(path).is_success
    assert client.put(f"{path}/vote", json={"updatedVoteType": "votedDown"}).status_code == 404
    for answer in (
        client.put(f"{path}/vote", json={"updatedVoteType": "unVoted"}),
        client.delete(f"{path}/followers/{user_id}"),
    ):
        assert (answer.status_code, answer.json()["eventType"]) == (200, "entityUpdated")
    assert administrator.put("/tables/restore", json={"id": orders["id"]}).is_success
    after = client.get(f"{path}?fields=votes,followers").json()
    assert (after["followers"], after["votes"]["upVotes"]) == ([], 0)


def test_only_an_administrator_follows_for_somebody_else(
    served: Served, administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    bob_id, bob = served.person("bob")
    bob.close()
    path = f"/tables/{orders['id']}/followers/{bob_id}"
    assert alice[1].put(path).status_code == 403
    assert administrator.put(path).status_code == 200
    assert alice[1].delete(path).status_code == 403
    assert administrator.delete(path).status_code == 200


def test_nobody_is_made_to_follow_what_they_may_not_view(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    hidden_table = table(administrator, "people", tags=[{"tagFQN": "PII.Sensitive"}])
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    path = f"/tables/{hidden_table['id']}/followers"
    for answer in (administrator.put(f"{path}/{user_id}"), administrator.put(path, json=user_id)):
        assert (answer.status_code, answer.json()["code"]) == (403, 403)
        assert answer.json()["message"].startswith("alice may not view this table, so cannot follow it")
    several = {"entities": [{"id": one["id"], "type": "table"} for one in (hidden_table, orders)]}
    bulk = administrator.put(f"/users/{user_id}/follows/bulk", json=several).json()
    assert (bulk["numberOfRowsPassed"], bulk["numberOfRowsFailed"]) == (1, 1)
    assert administrator.get(path).json()["data"] == []
    assert administrator.delete(f"/tables/{orders['id']}/followers/{user_id}").status_code == 200
    assert client.put(f"{path}/{user_id}").status_code == 403


def test_what_cannot_be_followed_says_so(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    nobody = "00000000-0000-0000-0000-000000000000"
    assert client.put(f"/tables/{nobody}/followers/{user_id}").status_code == 404
    role = administrator.get("/roles?limit=1").json()["data"][0]
    refusal = client.put(f"/roles/{role['id']}/followers/{user_id}")
    assert refusal.status_code == 400
    assert "a role cannot be followed; people follow assets, users and teams" in refusal.text
    assert administrator.put(f"/tables/{orders['id']}/followers/{nobody}").status_code == 404
    assert client.put(f"/tables/{orders['id']}/followers", json="alice").status_code == 400
    assert client.put(f"/tables/{orders['id']}/followers", json={"id": user_id}).status_code == 400


def test_people_and_teams_are_followed_for_what_they_own(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    team = administrator.post("/teams", json={"name": "finance", "teamType": "Group"}).json()
    assert client.put(f"/teams/{team['id']}/followers/{user_id}").is_success
    assert client.put(f"/users/{user_id}/followers/{user_id}").json()["entityType"] == "user"
    follows = client.get(f"/users/{user_id}/follows").json()
    assert {kind: [one["name"] for one in many] for kind, many in follows.items()} == {
        "users": ["alice"],
        "teams": ["finance"],
    }
    assert [one["id"] for one in client.get(f"/teams/{team['id']}/followers").json()["data"]] == [user_id]
    patch = [{"op": "add", "path": "/owners", "value": [{"id": team["id"], "type": "team"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/tables/{orders['id']}", json=patch, headers=headers).is_success
    assert client.get(f"/tables/{orders['id']}/followers").json()["data"] == []
    by_query = {"query": "finance", "dryRun": True}
    assert client.post(f"/users/{user_id}/follows", json=by_query).json()["numberOfRowsProcessed"] == 0
    assert client.delete(f"/teams/{team['id']}/followers/{user_id}").is_success


def test_one_column_is_followed_listed_and_unfollowed(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    path, column = f"/tables/{orders['id']}/followers/{user_id}", orders["columns"][0]["name"]
    first, second = (client.put(path, params={"column": column}).json() for _ in range(2))
    assert [one["eventType"] for one in (first, second)] == ["entityUpdated", "entityNoChange"]
    (entry,) = client.get(f"/users/{user_id}/following").json()["data"]
    assert (entry["asset"]["id"], entry["column"]) == (orders["id"], column)
    assert client.get(f"/tables/{orders['id']}/followers").json()["data"] == []
    refusal = client.put(path, params={"column": "nothing"})
    assert (refusal.status_code, "has no column nothing" in refusal.text) == (400, True)
    assert client.put(path, params={"column": ""}).status_code == client.delete(path, params={"column": ""}).status_code
    assert client.put(path, params={"column": ""}).status_code == 400
    assert client.put(path, params={"column": column.upper()}).status_code == 400
    bulk = client.post(f"/users/{user_id}/unfollow", json={"ids": [orders["id"]]}).json()
    assert bulk["successRequest"][0]["message"] == "was not followed"
    assert administrator.get(f"/users/{user_id}/following").json()["paging"]["total"] == 1
    assert client.delete(path, params={"column": column}).json()["eventType"] == "entityUpdated"
    assert client.get(f"/users/{user_id}/following").json()["data"] == []


def test_follows_are_grouped_by_kind(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json
) -> None:
    user_id, client = alice
    customers = table(administrator, "customers")
    body = {"entities": [{"id": orders["id"], "type": "table"}, {"id": customers["id"], "type": "table"}]}
    bulk = client.put(f"/users/{user_id}/follows/bulk", json=body).json()
    assert (bulk["status"], bulk["numberOfRowsPassed"], bulk["failedRequest"]) == ("success", 2, [])
    follows = client.get(f"/users/{user_id}/follows?fields=tables,dashboards").json()
    assert [one["fullyQualifiedName"] for one in follows["tables"]] == [
        "warehouse.shop.public.customers",
        "warehouse.shop.public.orders",
    ]
    assert follows["dashboards"] == []
    assert set(client.get(f"/users/{user_id}/follows").json()) == {"tables"}
    assert client.get(f"/users/{user_id}/follows?fields=spoons").status_code == 400
    assert len(client.get(f"/users/{user_id}?fields=follows").json()["follows"]) == 2


def test_a_bulk_follow_reports_each_that_failed(alice: tuple[str, httpx.Client], orders: Json) -> None:
    user_id, client = alice
    bad = [
        {"id": "nonsense", "type": "table"},
        {"id": orders["id"], "type": "spoon"},
        7,
        {"id": user_id, "type": "table"},
    ]
    answer = client.put(
        f"/users/{user_id}/follows/bulk", json={"entities": [*bad, {"id": orders["id"], "type": "table"}]}
    )
    assert answer.status_code == 200
    assert answer.json()["status"] == "partialSuccess"
    assert [one["status"] for one in answer.json()["failedRequest"]] == [400, 400, 400, 404]


def test_activity_lists_the_changes_of_what_one_follows_newest_first(
    served: Served, administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    customers = table(administrator, "customers")
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    for text in ("one", "two"):
        for asset in (orders, customers):
            operations = [{"op": "add", "path": "/description", "value": text}]
            headers = {"Content-Type": "application/json-patch+json"}
            assert administrator.request("PATCH", f"/tables/{asset['id']}", json=operations, headers=headers).is_success
    activity = client.get(f"/users/{user_id}/activity?eventType=entityUpdated&limit=2").json()
    assert [one["event"]["currentVersion"] for one in activity["data"]] == [0.3, 0.2]
    assert activity["data"][0]["title"].startswith("orders: description")
    assert activity["paging"] == {}, "there are no more"
    assert "after" in client.get(f"/users/{user_id}/activity?eventType=entityUpdated&limit=1").json()["paging"]
    all_entries = client.get(f"/users/{user_id}/activity").json()["data"]
    for since, expected_events in (
        ("24h", all_entries),
        ("2020-01-31", all_entries),
        ("0", all_entries),
        ("99999999999999", []),
    ):
        assert client.get(f"/users/{user_id}/activity", params={"since": since}).json()["data"] == expected_events
    refusal = client.get(f"/users/{user_id}/activity?since=yesterday")
    assert (refusal.status_code, refusal.json()["message"].startswith("since: must be epoch milliseconds")) == (
        400,
        True,
    )
    _, bob = served.person("bob")
    with bob:
        assert bob.get(f"/users/{user_id}/activity").status_code == 403


def test_activity_lists_tests_and_threads_of_followed_tables(
    administrator: httpx.Client, alice: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = alice
    other_table = table(administrator, "orders2")
    assert client.put(f"/tables/{orders['id']}/followers/{user_id}").is_success
    for asset in (orders, other_table):
        link = f"<#E::table::{asset['fullyQualifiedName']}>"
        body = {"name": "row_count", "entityLink": link, "testDefinition": "tableRowCountToBeBetween"}
        case = administrator.post("/dataQuality/testCases", json=body)
        assert case.status_code == 201, case.text
        result = {"timestamp": SystemClock().now_ms(), "testCaseStatus": "Failed"}
        fqn = case.json()["fullyQualifiedName"]
        assert administrator.post(f"/dataQuality/testCases/testCaseResults/{fqn}", json=result).is_success
        assert administrator.post("/feed", json={"about": link, "message": "Why?"}).is_success
    activity = client.get(f"/users/{user_id}/activity?eventType=testCaseFailure,threadCreated").json()["data"]
    assert [one["event"]["eventType"] for one in activity] == ["threadCreated", "testCaseFailure"]
    assert activity[1]["event"]["entityFullyQualifiedName"] == f"{orders['fullyQualifiedName']}.row_count"
    path = f"/users/{user_id}/activity"
    thread_id = activity[0]["event"]["entity"]["id"]
    assert administrator.post(f"/feed/{thread_id}/posts", json={"message": "The feed was late."}).is_success
    (post,) = client.get(f"{path}?eventType=postCreated").json()["data"]
    assert post["event"]["entity"]["id"] == thread_id
    assert client.get(f"{path}?eventType=taskCreated,entityLineageAdded").json()["data"] == []
    task = {
        "type": "RequestDescription",
        "assignees": [{"id": user_id, "type": "user"}],
        "oldValue": "",
        "suggestion": "Orders.",
    }
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    response = administrator.post("/feed", json={"about": link, "message": "?", "type": "Task", "taskDetails": task})
    assert response.status_code == 201, response.text
    (only,) = client.get(f"{path}?eventType=taskCreated").json()["data"]
    assert only["event"]["entity"]["id"] == response.json()["id"]


def test_governance_and_collections_can_be_followed(
    administrator: httpx.Client, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    glossary = administrator.post("/glossaries", json={"name": "Sales", "description": "d"}).json()
    path = f"/glossaries/{glossary['id']}"
    assert client.put(f"{path}/followers/{user_id}").is_success
    assert client.get(f"{path}?fields=followers").json()["followers"][0]["id"] == user_id
    assert "followers" not in client.get(f"{path}?fields=*").json()  # OpenMetadata's client refuses the key
    assert [one["name"] for one in client.get(f"/users/{user_id}/follows").json()["glossaries"]] == ["Sales"]
    followable = {name for name, row in ENTITY_TYPES.items() if row.is_followable}
    assert {"apiCollection", "glossaryTerm", "classification", "tag", "testSuite"} <= followable


@pytest.mark.parametrize("event_format", ["default", "seed", "tocsin", "cloudEvents", "openmetadata"])
def test_answers_have_upstreams_keys_whatever_webhooks_get(
    sqlite_engine: Engine,
    started_store: StartedStore,
    event_format: Literal["default", "seed", "tocsin", "cloudEvents", "openmetadata"],
) -> None:
    settings = Settings(log_level="warning", secrets_key=SecretStr(KEY), event_format=event_format)
    with (
        running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as served,
        served.administrator() as administrator,
    ):
        path = f"/tables/{warehouse(administrator)['id']}/followers"
        user_id, _ = served.person("alice")
        answers = [administrator.put(f"{path}/{user_id}").json() for _ in range(2)]
    assert [one["eventType"] for one in answers] == ["entityUpdated", "entityNoChange"]
    assert [problems("type/changeEvent.json", one) for one in answers] == [[], []]
    (added,) = answers[0]["changeDescription"]["fieldsAdded"]
    assert added["newValue"][0]["id"] == user_id
