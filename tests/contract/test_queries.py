"""Tests of a query's tables and users, as upstream's client reports them."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json, Served


@pytest.fixture
def query(administrator: httpx.Client, orders: Json) -> Json:
    answer = administrator.post("/queries", json={"query": "select 1", "service": "warehouse"})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_query_knows_what_it_runs_on(administrator: httpx.Client, orders: Json, query: Json) -> None:
    path, reference = f"/queries/{query['id']}", {"id": orders["id"], "type": "table"}
    event = administrator.put(f"{path}/usage", json=[reference]).json()
    assert [one["name"] for one in event["changeDescription"]["fieldsAdded"]] == ["queryUsedIn"]
    assert administrator.put(f"{path}/usage", json=[reference]).status_code == 200, "once more is nothing new"
    (listed_query,) = administrator.get(f"/queries?entityId={orders['id']}&fields=queryUsedIn").json()["data"]
    assert [one["id"] for one in listed_query["queryUsedIn"]] == [orders["id"]]
    assert administrator.request("DELETE", f"{path}/usage", json=[reference]).status_code == 200
    assert administrator.get(f"/queries?entityId={orders['id']}").json()["data"] == []


def test_a_query_knows_who_ran_it(served: Served, administrator: httpx.Client, query: Json) -> None:
    _, alice = served.person("alice")
    path = f"/queries/{query['id']}"
    assert administrator.put(f"{path}/users", json=["alice"]).status_code == 200
    assert administrator.put(f"{path}/usedBy", json=["etl", "etl", "cron"]).status_code == 200
    shown_query = administrator.get(path, params={"fields": "users,usedBy"}).json()
    assert ([one["name"] for one in shown_query["users"]], shown_query["usedBy"]) == (["alice"], ["etl", "cron"])
    assert alice.put(f"{path}/users", json=["alice"]).status_code == 403
    alice.close()


@pytest.mark.parametrize(
    ("part", "body", "status"),
    [
        ("usage", {}, 400),
        ("usage", [7], 400),
        ("usage", [{"id": "00000000-0000-4000-8000-000000000000", "type": "table"}], 404),
        ("usage", [{"id": "x", "type": "spoon"}], 400),
        ("users", ["nobody"], 404),
        ("usedBy", [1], 400),
    ],
)
def test_nonsense_is_refused(administrator: httpx.Client, query: Json, part: str, body: Json, status: int) -> None:
    answer = administrator.put(f"/queries/{query['id']}/{part}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, status)
