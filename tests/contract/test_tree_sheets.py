"""Tests of recursive CSV export and import of services, databases and schemas."""

from __future__ import annotations

import httpx
import pytest
from tests.contract.test_access import restrict
from tests.contract.test_child_sheets import export_rows, import_rows
from tests.serving import Json, Served, table

PLACES = {
    "services/databaseServices": "warehouse",
    "databases": "warehouse.shop",
    "databaseSchemas": "warehouse.shop.public",
}
RECURSIVE = {"recursive": "true"}


@pytest.fixture
def furnished_table(administrator: httpx.Client, orders: Json) -> Json:
    """A table with a nested column and a label, and a stored procedure, in addition to ``orders``."""
    inner = {"name": "zip.code", "dataType": "VARCHAR", "dataLength": 5, "tags": [{"tagFQN": "PII.Sensitive"}]}
    columns = [{"name": "address", "dataType": "STRUCT", "description": "Where.", "children": [inner]}]
    people = table(administrator, "people", columns=columns, description="All of them.")
    code = {"code": "SELECT 1", "language": "SQL"}
    procedure = {"name": "sum", "databaseSchema": "warehouse.shop.public", "storedProcedureCode": code}
    assert administrator.post("/storedProcedures", json=procedure).status_code == 201
    return people


def tree(client: httpx.Client, path: str) -> list[dict[str, str]]:
    return export_rows(client, path, **RECURSIVE)


def names(records: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(row["entityType"], row["fullyQualifiedName"].removeprefix("warehouse.shop.public.")) for row in records]


UNDER_THE_SCHEMA = [
    ("table", "orders"),
    ("column", "orders.id"),
    ("column", "orders.email"),
    ("table", "people"),
    ("column", "people.address"),
    ("column", 'people.address."zip.code"'),
    ("storedProcedure", "sum"),
]


@pytest.mark.parametrize("collection", PLACES)
def test_all_under_it_goes_out_and_what_comes_back_changes_nothing(
    administrator: httpx.Client, furnished_table: Json, collection: str
) -> None:
    path = f"{collection}/name/{PLACES[collection]}"
    records = tree(administrator, path)
    above = [("database", "warehouse.shop"), ("databaseSchema", "warehouse.shop.public")]
    assert names(records) == above[PLACES[collection].count(".") :] + UNDER_THE_SCHEMA
    assert [row["storedProcedure.language"] for row in records if row["name"] == "sum"] == ["SQL"]
    assert [row["tags"] for row in records if "zip" in row["name"]] == ["PII.Sensitive"]
    came = import_rows(administrator, path, records, **RECURSIVE)
    assert (came["status"], came["numberOfRowsPassed"]) == ("success", len(records)), came["importResultsCsv"]
    assert came["importResultsCsv"].count("unchanged") == len(records)
    described = administrator.get(f"/{collection}/documentation/csv", params=RECURSIVE).json()
    assert [one["name"] for one in described["headers"]] == list(records[0])


def test_a_table_and_its_columns_are_one_change(administrator: httpx.Client, furnished_table: Json) -> None:
    path = "databases/name/warehouse.shop"
    records = tree(administrator, path)
    for row in records:
        if "people" in row["fullyQualifiedName"]:
            row["description"] = "New."
    new = {"name": "age", "entityType": "column", "fullyQualifiedName": "warehouse.shop.public.people.age"}
    new |= {"column.dataType": "INT"}
    records.append(dict.fromkeys(records[0], "") | new)
    before = administrator.get("/events?limit=1000").json()["data"]
    rehearsal = import_rows(administrator, path, records, **RECURSIVE, dryRun="true")
    assert administrator.get("/events?limit=1000").json()["data"] == before
    came = import_rows(administrator, path, records, **RECURSIVE)
    assert rehearsal == came | {"dryRun": True}
    assert came["importResultsCsv"].count("updated,") == 3
    assert came["importResultsCsv"].count("column created") == 1
    events = administrator.get("/events?limit=1000").json()["data"][len(before) :]
    assert [(one["eventType"], one["entityFullyQualifiedName"]) for one in events] == [
        ("entityUpdated", "warehouse.shop.public.people")
    ]
    read = administrator.get("/tables/name/warehouse.shop.public.people").json()
    assert ([one["name"] for one in read["columns"]], read["version"]) == (["address", "age"], 0.2)
    assert read["columns"][0]["children"][0]["description"] == "New."


def test_a_whole_service_is_made_from_the_sheet_of_another(administrator: httpx.Client, furnished_table: Json) -> None:
    copy = {"name": "copy", "serviceType": "Postgres"}
    assert administrator.post("/services/databaseServices", json=copy).status_code == 201
    records = tree(administrator, "services/databaseServices/name/warehouse")
    moved = [row | {"fullyQualifiedName": row["fullyQualifiedName"].replace("warehouse", "copy", 1)} for row in records]
    came = import_rows(administrator, "services/databaseServices/name/copy", moved, **RECURSIVE)
    assert came["status"] == "success", came["importResultsCsv"]
    assert tree(administrator, "services/databaseServices/name/copy") == moved
    people = administrator.get("/tables/name/copy.shop.public.people?fields=columns,tags").json()
    assert (people["version"], people["columns"][0]["children"][0]["dataLength"]) == (0.1, 5)


PUBLIC = "warehouse.shop.public"


@pytest.mark.parametrize(
    ("kind", "full", "cells", "remark"),
    [
        ("dashboard", "", {}, "entityType must be one of"),
        ("databaseService", "", {}, "entityType must be one of"),
        ("table", PUBLIC, {}, "not the FQN of a table"),
        ("table", "else.shop.public.x", {}, "not the FQN of a table"),
        ("table", f"{PUBLIC}.y", {}, "the name is x"),
        ("table", "warehouse.shop.no.x", {}, "databaseSchema warehouse.shop.no not found"),
        ("table", "", {}, "fullyQualifiedName is missing"),
        ("column", f"{PUBLIC}.no.x", {}, f"table {PUBLIC}.no not found"),
        ("column", f"{PUBLIC}.orders.x", {}, "needs column.dataType"),
        ("column", f"{PUBLIC}.orders.a.x", {"column.dataType": "INT"}, "column a not found"),
        ("column", f"{PUBLIC}.orders.x", {"column.dataType": "NO"}, "NO"),
        ("database", "", {"column.dataType": "INT"}, "a database has no field column.dataType"),
        ("column", f"{PUBLIC}.orders.x", {"owner": "a"}, "a column has no field owner"),
    ],
)
def test_what_cannot_be_is_refused_alone(
    administrator: httpx.Client, orders: Json, kind: str, full: str, cells: dict[str, str], remark: str
) -> None:
    path = "services/databaseServices/name/warehouse"
    records = tree(administrator, path)
    bad = dict.fromkeys(records[0], "") | {"name": "x", "entityType": kind, "fullyQualifiedName": full} | cells
    good = dict.fromkeys(records[0], "") | {"name": "fresh", "entityType": "database"}
    came = import_rows(administrator, path, [bad, good], **RECURSIVE)
    assert (came["status"], remark in came["importResultsCsv"]) == ("partialSuccess", True), came["importResultsCsv"]
    assert administrator.get("/databases/name/warehouse.fresh").status_code == 200


def test_a_row_that_cannot_be_stops_neither_its_table_nor_the_other_columns(
    administrator: httpx.Client, furnished_table: Json
) -> None:
    path = "databaseSchemas/name/warehouse.shop.public"
    records = tree(administrator, path)
    for row in records:
        row["description"] = "New."
        if row["name"] in ("email", "people"):
            row["tags"] = "No.Such"
    came = import_rows(administrator, path, [*records, records[1]], **RECURSIVE)
    assert (came["numberOfRowsFailed"], "appears twice" in came["importResultsCsv"]) == (3, True)
    orders = administrator.get("/tables/name/warehouse.shop.public.orders").json()
    assert (orders["description"], [one.get("description") for one in orders["columns"]]) == ("New.", ["New.", None])
    people = administrator.get("/tables/name/warehouse.shop.public.people").json()
    assert (people["description"], people["columns"][0]["description"]) == ("All of them.", "New.")


def test_only_what_may_be_seen_goes_out_and_only_what_may_be_changed_comes_in(
    served: Served, administrator: httpx.Client, furnished_table: Json
) -> None:
    user_id, alice = served.person("alice")
    hidden = {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')", "resources": ["table"]}
    restrict(administrator, user_id, hidden, {"effect": "deny", "operations": ["EditDescription"]})
    path = "databaseSchemas/name/warehouse.shop.public"
    with alice:
        records = tree(alice, path)
        assert names(records) == [*UNDER_THE_SCHEMA[:3], UNDER_THE_SCHEMA[-1]]
        records[0]["description"] = "Mine."
        came = import_rows(alice, path, records, **RECURSIVE)
        assert "EditDescription" in came["importResultsCsv"]
