"""Tests of what is stored without a version and an event: another order of members, and bookkeeping."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.serving import Json

HEADERS = {"Content-Type": "application/json-patch+json"}
ORDERS = "/tables/name/warehouse.shop.public.orders"
EVERY_FIELD = {"fields": "*"}


def patch(client: httpx.Client, path: str, *operations: tuple[str, str, Json], **headers: str) -> httpx.Response:
    body = [{"op": op, "path": at, "value": value} for op, at, value in operations]
    return client.patch(path, json=body, headers=HEADERS | headers)


def read(client: httpx.Client, path: str = ORDERS) -> Json:
    return client.get(path, params=EVERY_FIELD).json()


def events(client: httpx.Client) -> int:
    return len(client.get("/events", params={"limit": 10_000}).json()["data"])


def check_silent(client: httpx.Client, before: tuple[Json, int], path: str = ORDERS) -> Json:
    """Check that there is neither a new version nor an event; return the entity."""
    was, count = before
    now = read(client, path)
    assert [now[key] for key in ("version", "updatedAt")] == [was[key] for key in ("version", "updatedAt")]
    assert len(client.get(f"{path.split('/name/')[0]}/{now['id']}/versions").json()["versions"]) == 1
    assert events(client) == count
    return now


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("method", ["put", "patch", "bulk"])
def test_another_order_of_columns_is_stored(administrator: httpx.Client, method: str) -> None:
    was = read(administrator)
    before = was, events(administrator)
    columns = [{key: one[key] for key in one if key != "fullyQualifiedName"} for one in reversed(was["columns"])]
    request = {"name": "orders", "databaseSchema": "warehouse.shop.public", "columns": columns}
    if method == "patch":
        answer = patch(administrator, ORDERS, ("replace", "/columns", columns))
    elif method == "put":
        answer = administrator.put("/tables", json=request)
    else:
        answer = administrator.put("/tables/bulk", json=[request])
        assert answer.json()["successRequest"][0]["message"] == "unchanged"
    assert answer.status_code == 200, answer.text
    assert [one["name"] for one in check_silent(administrator, before)["columns"]] == ["email", "id"]


@pytest.mark.usefixtures("orders")
def test_an_order_and_a_change_are_one_version_about_the_change(administrator: httpx.Client) -> None:
    column = read(administrator)["columns"][0]
    moved = patch(
        administrator,
        ORDERS,
        ("remove", "/columns/0", None),
        ("add", "/columns/-", column),
        ("add", "/description", "New."),
    ).json()
    assert moved["version"] == 0.2
    assert [one["name"] for one in moved["changeDescription"]["fieldsAdded"]] == ["description"]
    assert moved["changeDescription"]["fieldsUpdated"] == []
    assert [one["name"] for one in read(administrator)["columns"]] == ["email", "id"]


@pytest.mark.usefixtures("orders")
def test_a_patch_that_saw_another_order_is_refused(administrator: httpx.Client) -> None:
    tag = administrator.get(ORDERS).headers["ETag"]
    column = read(administrator)["columns"][0]
    patch(administrator, ORDERS, ("remove", "/columns/0", None), ("add", "/columns/-", column))
    late = patch(administrator, ORDERS, ("add", "/columns/0/description", "The key."), **{"If-Match": tag})
    assert late.status_code == 412


@pytest.mark.parametrize("at", ["struct", "topic", "tasks"])
def test_members_of_all_kinds_may_stand_in_another_order(administrator: httpx.Client, orders: Json, at: str) -> None:
    path, key = _create_holder(administrator, at)
    before = read(administrator, path), events(administrator)
    members = _value_at(before[0], key)
    answer = patch(administrator, path, ("replace", key, list(reversed(members))))
    assert answer.status_code == 200, answer.text
    after = _value_at(check_silent(administrator, before, path), key)
    assert [one["name"] for one in after] == [one["name"] for one in reversed(members)]


def _value_at(document: Json, pointer: str) -> Any:  # Any: JSON
    for key in pointer.split("/")[1:]:
        document = document[int(key) if key.isdigit() else key]
    return document


def _create_holder(client: httpx.Client, at: str) -> tuple[str, str]:
    """Make something with members of this kind; return its path and where they are."""
    two = [{"name": "a", "dataType": "INT"}, {"name": "b", "dataType": "INT"}]
    fields = [one | {"dataType": "STRING"} for one in two]
    kinds: dict[str, tuple[str, Json, str]] = {
        "struct": (
            "tables",
            {
                "databaseSchema": "warehouse.shop.public",
                "columns": [{"name": "s", "dataType": "STRUCT", "dataTypeDisplay": "struct<a:int>", "children": two}],
            },
            "/columns/0/children",
        ),
        "topic": (
            "topics",
            {"service": "bus", "partitions": 1, "messageSchema": {"schemaType": "Avro", "schemaFields": fields}},
            "/messageSchema/schemaFields",
        ),
        "tasks": ("pipelines", {"service": "air", "tasks": [{"name": "a"}, {"name": "b"}]}, "/tasks"),
    }
    client.post("/services/messagingServices", json={"name": "bus", "serviceType": "Kafka"})
    client.post("/services/pipelineServices", json={"name": "air", "serviceType": "Airflow"})
    collection, request, key = kinds[at]
    response = client.post(f"/{collection}", json={"name": "it"} | request)
    assert response.status_code == 201, response.text
    return f"/{collection}/name/{response.json()['fullyQualifiedName']}", key


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sourceHash", "8fd2c80e42536e4faf2784b2eaf2c636"),
        ("lifeCycle", {"accessed": {"timestamp": 5}}),
    ],
)
def test_bookkeeping_is_stored(administrator: httpx.Client, key: str, value: Json) -> None:
    before = read(administrator), events(administrator)
    assert patch(administrator, ORDERS, ("add", f"/{key}", value)).status_code == 200
    assert check_silent(administrator, before)[key] == value


@pytest.mark.usefixtures("orders")
def test_bookkeeping_in_a_put_is_stored(administrator: httpx.Client) -> None:
    was = read(administrator)
    request = {"name": "orders", "databaseSchema": "warehouse.shop.public", "columns": was["columns"]}
    before = was, events(administrator)
    cycle = {"created": {"timestamp": 5}}
    answer = administrator.put("/tables", json=request | {"sourceHash": "a", "lifeCycle": cycle})
    assert (answer.json()["sourceHash"], answer.json()["version"]) == ("a", 0.1)
    assert check_silent(administrator, before)["lifeCycle"] == cycle


@pytest.mark.usefixtures("orders")
def test_the_newest_entry_of_a_life_cycle_stays(administrator: httpx.Client) -> None:
    first = {"created": {"timestamp": 5}, "accessed": {"timestamp": 9}}
    patch(administrator, ORDERS, ("add", "/lifeCycle", first))
    later = {"created": {"timestamp": 3}, "accessed": {"timestamp": 12}, "updated": {"timestamp": 1}}
    patch(administrator, ORDERS, ("add", "/lifeCycle", later))
    assert read(administrator)["lifeCycle"] == {
        "created": {"timestamp": 5},
        "accessed": {"timestamp": 12},
        "updated": {"timestamp": 1},
    }


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("field", "method", "path", "body"),
    [
        ("votes", "PUT", "vote", {"updatedVoteType": "votedUp"}),
        ("usageSummary", "POST", "/usage/table", {"date": "2026-11-25", "count": 5}),
    ],
)
def test_votes_and_usage_are_events_without_a_version(
    administrator: httpx.Client, field: str, method: str, path: str, body: Json
) -> None:
    was = read(administrator)
    count = events(administrator)
    place = f"{path}/{was['id']}" if path.startswith("/") else f"/tables/{was['id']}/{path}"
    answer = administrator.request(method, place, json=body)
    assert answer.is_success, answer.text
    now = read(administrator)
    assert [now[key] for key in ("version", "updatedAt")] == [was[key] for key in ("version", "updatedAt")]
    (event,) = administrator.get("/events", params={"limit": 10_000}).json()["data"][count:]
    assert (event["eventType"], event["previousVersion"], event["currentVersion"]) == ("entityUpdated", 0.1, 0.1)
    change = event["changeDescription"]
    assert {one["name"] for key in change if key.startswith("fields") for one in change[key]} == {field}
