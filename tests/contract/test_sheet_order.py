"""Tests of sheets whose rows name each other: their order does not matter, and they come back as they went out."""

from __future__ import annotations

from itertools import permutations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_child_sheets import export_rows, import_rows
from tests.serving import Json

from tocsin.store.upkeep.fsck.inspection import inspect

TEXT = {"Content-Type": "text/plain"}
PATCH = {"Content-Type": "application/json-patch+json"}
SALES = {"name": "Sales", "domainType": "Aggregate", "description": "x"}
GLOSSARY = "glossaries/name/Shop"
TEAMS = "teams/name/Organization"
TERMS = (
    {"name": "Client", "parent": "", "description": "Buys.", "relatedTerms": "Shop.Order;Shop.Order.Line"},
    {"name": "Order", "parent": "", "description": "Is bought.", "relatedTerms": "Shop.Client"},
    {"name": "Line", "parent": "Shop.Order", "description": "A part.", "relatedTerms": "partOf:Shop.Order"},
    {"name": "Return", "parent": "", "description": "Comes back.", "relatedTerms": "Shop.Order.Line"},
)
CREWS = (
    {"name": "north", "teamType": "Division", "parents": "", "Owner": "team:south"},
    {"name": "south", "teamType": "Division", "parents": "", "Owner": "team:crew"},
    {"name": "crew", "teamType": "Group", "parents": "north", "Owner": "team:crew2"},
    {"name": "crew2", "teamType": "Group", "parents": "south", "Owner": "user:admin"},
)


@pytest.fixture
def glossary(administrator: httpx.Client) -> None:
    assert administrator.post("/glossaries", json={"name": "Shop", "description": "x"}).status_code == 201


def statuses(result: Json) -> list[str]:
    return [line.split(",")[0] for line in result["importResultsCsv"].splitlines()[1:]]


@pytest.mark.usefixtures("glossary")
@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_terms_name_each_other_in_any_order(
    administrator: httpx.Client, sqlite_engine: Engine, order: tuple[int, ...]
) -> None:
    terms = [TERMS[at] for at in order]
    for dry_run in ("true", "false"):
        result = import_rows(administrator, GLOSSARY, terms, dryRun=dry_run)
        assert result["status"] == "success", result["importResultsCsv"]
    written = {row["name"]: row["relatedTerms"] for row in export_rows(administrator, GLOSSARY)}
    assert written == {row["name"]: row["relatedTerms"] for row in TERMS}
    assert inspect(sqlite_engine, deep=True).findings == []


@pytest.mark.parametrize("order", list(permutations(range(4)))[::7])
def test_teams_name_each_other_in_any_order(administrator: httpx.Client, order: tuple[int, ...]) -> None:
    teams = [CREWS[at] for at in order]
    result = import_rows(administrator, TEAMS, teams)
    assert result["status"] == "success", result["importResultsCsv"]
    written = {row["name"]: (row["parents"], row["Owner"]) for row in export_rows(administrator, TEAMS)}
    assert written == {row["name"]: (row["parents"], row["Owner"]) for row in CREWS}


@pytest.mark.usefixtures("glossary")
def test_what_names_something_unknown_is_rejected_with_what_needs_it(administrator: httpx.Client) -> None:
    terms = [
        TERMS[1],
        TERMS[0] | {"relatedTerms": "Shop.Nothing;Shop.Order"},
        TERMS[3] | {"relatedTerms": ""},
        TERMS[3] | {"relatedTerms": "", "description": "Again."},
    ]
    result = import_rows(administrator, GLOSSARY, terms)
    assert statuses(result) == ["failure", "failure", "success", "failure"], result["importResultsCsv"]
    assert "unknown glossary term Shop.Nothing" in result["importResultsCsv"]
    assert "term Shop.Return appears twice" in result["importResultsCsv"]
    assert [row["name"] for row in export_rows(administrator, GLOSSARY)] == ["Return"]


def test_rows_of_a_tree_come_in_any_order(administrator: httpx.Client, orders: Json) -> None:
    path = "services/databaseServices/name/warehouse"
    place = orders["fullyQualifiedName"].removesuffix("public.orders")
    records = [
        {"name": "street", "entityType": "column", "fullyQualifiedName": f"{place}new.clients.address.street"},
        {"name": "clients", "entityType": "table", "fullyQualifiedName": f"{place}new.clients"},
        {"name": "new", "entityType": "databaseSchema", "fullyQualifiedName": f"{place}new"},
        {"name": "address", "entityType": "column", "fullyQualifiedName": f"{place}new.clients.address"},
    ]
    types = ("VARCHAR", "", "", "STRUCT")
    records = [row | {"column.dataType": kind} for row, kind in zip(records, types, strict=True)]
    records[0]["column.dataLength"] = "20"
    records[1:] = [row | {"column.dataLength": ""} for row in records[1:]]
    result = import_rows(administrator, path, records, recursive="true")
    assert result["status"] == "success", result["importResultsCsv"]
    table = administrator.get(f"/tables/name/{place}new.clients").json()
    assert [one["name"] for one in table["columns"][0]["children"]] == ["street"]


@pytest.mark.usefixtures("glossary")
def test_three_round_trips_give_the_same_file(administrator: httpx.Client) -> None:
    hostile = TERMS[0] | {
        "displayName": "'=1+1",
        "description": 'Two\nlines, a "quote"; and\r\n\ta tab \u00fc',
        "synonyms": 'a;"b;c";" d ";"""e"""',
        "references": "ISO;https://iso.org/x?a=1;b",
        "tags": "PersonalData.Personal;PII.Sensitive",
        "owner": "user:admin;team:Organization",
    }
    hostile["references"] = 'ISO;"https://iso.org/x?a=1;b"'
    empty = dict.fromkeys(hostile, "")
    result = import_rows(administrator, GLOSSARY, [hostile, *(empty | row for row in TERMS[1:])])
    assert result["status"] == "success", result["importResultsCsv"]
    files = [administrator.get(f"/{GLOSSARY}/export").text]
    for _ in range(3):
        result = administrator.put(f"/{GLOSSARY}/import", content=files[-1].encode(), headers=TEXT).json()
        assert result["status"] == "success", result["importResultsCsv"]
        assert "updated" not in result["importResultsCsv"]
        files.append(administrator.get(f"/{GLOSSARY}/export").text)
    assert len(set(files)) == 1
    assert administrator.delete("/glossaries/name/Shop", params={"recursive": True, "hardDelete": True}).is_success
    assert administrator.post("/glossaries", json={"name": "Shop", "description": "x"}).status_code == 201
    report = administrator.put(f"/{GLOSSARY}/import", content=files[-1].encode(), headers=TEXT).json()
    assert report["status"] == "success", report["importResultsCsv"]
    assert administrator.get(f"/{GLOSSARY}/export").text == files[-1]


@pytest.mark.usefixtures("glossary")
@pytest.mark.parametrize(
    ("path", "recursive"),
    [
        ("databaseSchemas/name/warehouse.shop.public", "false"),
        ("services/databaseServices/name/warehouse", "true"),
        ("tables/name/warehouse.shop.public.orders", "false"),
        (TEAMS, "false"),
    ],
)
def test_sheets_of_assets_and_teams_come_back_as_they_went_out(
    administrator: httpx.Client, orders: Json, path: str, recursive: str
) -> None:
    import_rows(administrator, GLOSSARY, [TERMS[3] | {"relatedTerms": ""}])
    assert administrator.post("/domains", json=SALES).status_code == 201
    text = '\'+1 "two"\r\nthree; four '
    tags = [
        {"tagFQN": name, "source": "Classification"}
        for name in ("PII.Sensitive", "Tier.Tier2", "PersonalData.Personal")
    ]
    tags.insert(1, {"tagFQN": "Shop.Return", "source": "Glossary"})
    values: Json = {"displayName": "@home", "description": text, "tags": tags, "retentionPeriod": "P1D"}
    values |= {"domains": [administrator.get("/domains/name/Sales").json() | {"type": "domain"}]}
    operations = [{"op": "add", "path": f"/{key}", "value": value} for key, value in values.items()]
    operations += [{"op": "add", "path": "/columns/0/tags", "value": tags}]
    operations += [{"op": "add", "path": "/columns/0/description", "value": text}]
    answer = administrator.patch(f"/tables/{orders['id']}", json=operations, headers=PATCH)
    assert answer.status_code == 200, answer.text
    team = {"name": "north", "teamType": "Group", "displayName": "=north", "description": text}
    assert administrator.post("/teams", json=team).status_code == 201
    files = [administrator.get(f"/{path}/export", params={"recursive": recursive}).text]
    for _ in range(3):
        answer = administrator.put(
            f"/{path}/import", params={"recursive": recursive}, content=files[-1].encode(), headers=TEXT
        )
        assert answer.json()["status"] == "success", answer.text
        assert "updated" not in answer.json()["importResultsCsv"]
        files.append(administrator.get(f"/{path}/export", params={"recursive": recursive}).text)
    assert len(set(files)) == 1
