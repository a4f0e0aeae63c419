"""Tests of bulk requests, whose results OpenMetadata's client reads row by row."""

from __future__ import annotations

import httpx
from tests.contract.standards import problems
from tests.serving import Json, Served

COLUMNS = [{"name": "id", "dataType": "BIGINT"}]
SCHEMA = "warehouse.shop.public"


def rows(*names: str, **fields: object) -> list[Json]:
    return [{"name": name, "databaseSchema": SCHEMA, "columns": COLUMNS} | fields for name in names]


def test_it_says_what_came_of_every_row(administrator: httpx.Client, orders: Json) -> None:
    sent_rows = [*rows("a", "b"), *rows("c", colour="red"), "nothing", *rows("orders", description="Sales.")]
    answer = administrator.put("/tables/bulk?async=false", json=sent_rows)
    assert answer.status_code == 200
    result = answer.json()
    assert (result["dryRun"], result["status"]) == (False, "partialSuccess")
    assert [result[f"numberOfRows{key}"] for key in ("Processed", "Passed", "Failed")] == [5, 3, 2]
    assert result["successRequest"] == [
        {"request": f"{SCHEMA}.a", "message": "created", "status": 200},
        {"request": f"{SCHEMA}.b", "message": "created", "status": 200},
        {"request": f"{SCHEMA}.orders", "message": "updated", "status": 200},
    ]
    assert [(one["request"], one["status"]) for one in result["failedRequest"]] == [
        (f"{SCHEMA}.c", 400),
        ("row 4", 400),
    ]
    assert result["failedRequest"][0]["message"].startswith("row 3: ")
    again = administrator.put("/tables/bulk", json=rows("a"), params={"overrideMetadata": "true"}).json()
    assert again["successRequest"] == [{"request": f"{SCHEMA}.a", "message": "unchanged", "status": 200}]
    assert again["status"] == "success"


def test_every_answer_is_what_upstreams_schema_has(administrator: httpx.Client, orders: Json) -> None:
    for sent, status in (
        (rows("a", "b"), "success"),
        ([*rows("a"), *rows("c", colour="red")], "partialSuccess"),
        (rows("c", databaseSchema="warehouse.shop.none"), "failure"),
        ([], "success"),
    ):
        result = administrator.put("/tables/bulk", json=sent).json()
        assert problems("type/bulkOperationResult.json", result) == []
        assert (result["status"], result["numberOfRowsProcessed"]) == (status, len(sent))
        assert all(isinstance(row["request"], str) for row in [*result["successRequest"], *result["failedRequest"]])


def test_an_asynchronous_request_is_accepted_and_answered_in_full(administrator: httpx.Client, orders: Json) -> None:
    answer = administrator.put("/tables/bulk?async=true", json=rows("a"))
    assert (answer.status_code, answer.json()["numberOfRowsPassed"]) == (202, 1)
    assert administrator.get(f"/tables/name/{SCHEMA}.a").status_code == 200


def test_a_failed_row_does_not_repeat_its_secrets(administrator: httpx.Client) -> None:
    connection = {"config": {"type": "Postgres", "username": "u", "authType": {"password": "hunter2"}}}
    sent = [{"name": "pg", "serviceType": "Postgres", "connection": connection, "colour": "red"}]
    answer = administrator.put("/services/databaseServices/bulk", json=sent)
    assert [one["request"] for one in answer.json()["failedRequest"]] == ["pg"]
    assert "hunter2" not in answer.text


def test_a_dry_run_leaves_nothing(administrator: httpx.Client, orders: Json) -> None:
    result = administrator.put("/tables/bulk?dryRun=true", json=rows("a")).json()
    assert (result["dryRun"], result["numberOfRowsPassed"]) == (True, 1)
    assert administrator.get(f"/tables/name/{SCHEMA}.a").status_code == 404


def test_create_only(administrator: httpx.Client, orders: Json) -> None:
    result = administrator.post("/tables/bulk", json=rows("a", "orders")).json()
    assert [one["status"] for one in result["successRequest"]] == [200]
    assert [one["status"] for one in result["failedRequest"]] == [409]


def test_a_body_that_is_no_array_or_too_long_is_refused(administrator: httpx.Client, orders: Json) -> None:
    assert administrator.put("/tables/bulk", json={"tables": []}).status_code == 400
    assert administrator.put("/tables/bulk", json=[{}] * 10_001).status_code == 400
    assert administrator.put("/tables/bulk", json=[]).json()["status"] == "success"
    assert administrator.put("/events/subscriptions/bulk", json=[{}]).status_code == 400


def test_every_row_is_permitted_by_itself(served: Served, administrator: httpx.Client, orders: Json) -> None:
    _, jane = served.person("jane")
    with jane:
        result = jane.put("/users/bulk", json=[{"name": "eve", "email": "eve@example.org", "isAdmin": True}]).json()
    assert [one["status"] for one in result["failedRequest"]] == [403]
