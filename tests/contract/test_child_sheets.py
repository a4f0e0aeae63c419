"""Tests of CSV export and import of databases, schemas, tables and teams."""

from __future__ import annotations

import csv
import io

import httpx
import pytest
from tests.serving import Json

TEXT = {"Content-Type": "text/plain"}
PLACES = {
    "services/databaseServices": ("warehouse", "databases", "shop", "warehouse.fresh"),
    "databases": ("warehouse.shop", "databaseSchemas", "public", "warehouse.shop.fresh"),
    "databaseSchemas": ("warehouse.shop.public", "tables", "orders", "warehouse.shop.public.fresh"),
}


def export_rows(client: httpx.Client, path: str, **query: str) -> list[dict[str, str]]:
    answer = client.get(f"/{path}/export", params=query)
    assert answer.status_code == 200, answer.text
    header, *records = csv.reader(io.StringIO(answer.text, newline=""))
    return [dict(zip([name.removesuffix("*") for name in header], row, strict=True)) for row in records]


def import_rows(client: httpx.Client, path: str, records: list[dict[str, str]], **query: str) -> Json:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    answer = client.put(f"/{path}/import", params=query, content=text.getvalue().encode(), headers=TEXT)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("collection", PLACES)
def test_what_lies_under_an_asset_goes_out_and_comes_back(
    administrator: httpx.Client, orders: Json, collection: str
) -> None:
    fqn, below, name, fresh = PLACES[collection]
    domain = {"name": "Sales", "domainType": "Aggregate", "description": "x"}
    assert administrator.post("/domains", json=domain).status_code == 201
    path = f"{collection}/name/{fqn}"
    (row,) = export_rows(administrator, path)
    assert (row["name"], row["tags"]) == (name, "")
    assert (
        import_rows(administrator, path, [row])["importResultsCsv"]
        .splitlines()[1]
        .endswith(f"unchanged,{name},,,,,,,,,,,")
    )
    changed_row = row | {
        "displayName": "Shop!",
        "description": "All of it.",
        "owner": "user:admin",
        "tags": "PII.Sensitive",
        "tiers": "Tier.Tier1",
        "certification": "Certification.Gold",
        "domains": "Sales",
    }
    records = [changed_row, changed_row | {"name": "fresh"}, row | {"name": "bad", "tags": "No.Such"}]
    rehearsal = import_rows(administrator, path, records, dryRun="true")
    assert (rehearsal["status"], rehearsal["numberOfRowsPassed"], rehearsal["numberOfRowsFailed"]) == (
        "partialSuccess",
        2,
        1,
    )
    assert administrator.get(f"/{below}/name/{fresh}").status_code == 404
    assert import_rows(administrator, path, records)["numberOfRowsPassed"] == 2
    shown_entity = administrator.get(f"/{below}/name/{fresh}?fields=*").json()
    assert (shown_entity["displayName"], shown_entity["description"]) == ("Shop!", "All of it.")
    assert {label["tagFQN"] for label in shown_entity["tags"]} == {"PII.Sensitive", "Tier.Tier1"}
    assert [one["name"] for one in (*shown_entity["owners"], *shown_entity["domains"])] == ["admin", "Sales"]
    assert shown_entity["certification"]["tagLabel"]["tagFQN"] == "Certification.Gold"
    again = export_rows(administrator, path)
    assert [one["name"] for one in again] == sorted((name, "fresh"))
    assert "updated" not in import_rows(administrator, path, again)["importResultsCsv"]
    wrong = import_rows(administrator, path, [row | {"name": "fresh", "tags": "Tier.Tier1"}])
    assert "a tier must have a tier as parent" in wrong["importResultsCsv"]


def test_the_teams_under_a_team_go_out_and_come_back(administrator: httpx.Client) -> None:
    row = {"name": "north", "displayName": "", "description": "", "teamType": "Division", "parents": "", "Owner": ""}
    row |= {"isJoinable": "true", "defaultRoles": "DataSteward", "policies": ""}
    crew = row | {"name": "crew", "teamType": "Group", "parents": "north", "defaultRoles": "", "isJoinable": ""}
    path = "teams/name/Organization"
    report = import_rows(administrator, path, [row, crew])
    assert report["status"] == "success", report["importResultsCsv"]
    assert [one["name"] for one in export_rows(administrator, path)] == ["north", "crew"]
    below = export_rows(administrator, "teams/name/north")
    assert [(one["name"], one["parents"]) for one in below] == [("crew", "north")]
    assert "updated" not in import_rows(administrator, path, export_rows(administrator, path))["importResultsCsv"]
    under_north = import_rows(administrator, "teams/name/north", [crew | {"name": "new", "parents": ""}])
    assert under_north["status"] == "success"
    parents = administrator.get("/teams/name/new?fields=parents").json()["parents"]
    assert [one["name"] for one in parents] == ["north"]
    outside = import_rows(administrator, "teams/name/crew", [row])
    assert "is not below" in outside["importResultsCsv"]
    wrong = import_rows(administrator, path, [row | {"name": "bad", "isJoinable": "maybe"}])
    assert (wrong["status"], "must be true or false" in wrong["importResultsCsv"]) == ("failure", True)


@pytest.mark.parametrize("collection", [*PLACES, "teams"])
def test_a_sheet_says_what_stands_in_it(administrator: httpx.Client, collection: str) -> None:
    described = administrator.get(f"/{collection}/documentation/csv").json()
    assert [one["name"] for one in described["headers"]][:3] == ["name", "displayName", "description"]
