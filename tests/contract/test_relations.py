"""Tests of inverse relations and list filters, one table for all types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving import Json, Served, running_server, table, warehouse

from tocsin.model.relations import BOTH_WAYS, RELATIONS
from tocsin.store.database.engine import open_engine


@pytest.fixture(scope="module")
def client(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("related") / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    with running_server(engine) as server, server.administrator() as client:
        _furnish(server, client)
        yield client
    engine.dispose()


def _furnish(served: Served, client: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    alice.close()
    warehouse(client)
    alice_owns = {"owners": [{"id": user_id, "type": "user"}]}
    for path, request in (
        ("policies", {"name": "may", "rules": [_RULE]}),
        ("roles", {"name": "reader", "policies": ["may"]}),
        ("domains", {"name": "Sales", "domainType": "Aggregate", "description": "x"}),
        ("domains", {"name": "Web", "domainType": "Aggregate", "description": "x", "parent": "Sales"}),
        ("glossaries", {"name": "Words", "description": "x"}),
        ("glossaryTerms", {"name": "Sale", "description": "x", "glossary": "Words"}),
        ("glossaryTerms", {"name": "Big", "description": "x", "glossary": "Words", "parent": "Words.Sale"}),
        ("services/dashboardServices", {"name": "bi", "serviceType": "Superset"}),
        ("charts", {"name": "c1", "service": "bi"}),
        ("dashboards", {"name": "d1", "service": "bi", "charts": ["bi.c1"]}),
        ("charts", {"name": "c2", "service": "bi", "dashboards": ["bi.d1"]}),
        ("services/storageServices", {"name": "s3", "serviceType": "S3"}),
        ("containers", {"name": "bucket", "service": "s3"}),
    ):
        answer = client.post(f"/{path}", json=request)
        assert answer.status_code == 201, answer.text
    bucket = client.get("/containers/name/s3.bucket").json()
    inside = {"name": "folder", "service": "s3", "parent": {"id": bucket["id"], "type": "container"}}
    assert client.post("/containers", json=inside).status_code == 201
    role = client.get("/roles/name/reader").json()["id"]
    group = client.post(
        "/teams", json={"name": "shop", "teamType": "Group", "defaultRoles": [role], "users": [user_id]}
    )
    assert group.status_code == 201, group.text
    change = [{"op": "add", "path": "/roles", "value": [{"id": role, "type": "role"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert client.patch(f"/users/{user_id}", content=json.dumps(change), headers=headers).is_success
    table(client, "sold", tags=[{"tagFQN": "Tier.Tier1"}, _TERM], domains=["Sales"], **alice_owns)


_RULE = {"name": "all", "effect": "allow", "operations": ["ViewBasic"], "resources": ["table"]}
_TERM = {"tagFQN": "Words.Sale.Big", "source": "Glossary"}


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        ("databases/name/warehouse.shop", "databaseSchemas", ["public"]),
        ("databaseSchemas/name/warehouse.shop.public", "tables", ["orders", "sold"]),
        ("charts/name/bi.c1", "dashboards", ["d1"]),
        ("dashboards/name/bi.d1", "charts", ["c1", "c2"]),
        ("containers/name/s3.bucket", "children", ["folder"]),
        ("domains/name/Sales", "children", ["Web"]),
        ("domains/name/Sales", "childrenCount", 1),
        ("glossaries/name/Words", "termCount", 2),
        ("glossaries/name/Words", "usageCount", 1),
        ("glossaryTerms/name/Words.Sale", "children", ["Big"]),
        ("glossaryTerms/name/Words.Sale", "childrenCount", 1),
        ("glossaryTerms/name/Words.Sale.Big", "usageCount", 1),
        ("classifications/name/Tier", "termCount", 5),
        ("tags/name/Tier.Tier1", "usageCount", 1),
        ("tags/name/Tier.Tier2", "usageCount", 0),
        ("roles/name/reader", "users", ["alice"]),
        ("roles/name/reader", "teams", ["shop"]),
        ("policies/name/may", "roles", ["reader"]),
        ("users/name/alice", "owns", ["sold"]),
        ("teams/name/shop", "userCount", 1),
        ("services/databaseServices/name/warehouse", "pipelines", []),
    ],
)
def test_what_others_say_is_shown_when_asked_for(client: httpx.Client, path: str, key: str, expected: Any) -> None:
    def names(value: Json) -> Json:
        return [one["name"] for one in value] if isinstance(value, list) else value

    assert names(client.get(f"/{path}?fields={key}").json()[key]) == expected
    collection, fqn = path.split("/name/")
    listed = client.get(f"/{collection}?fields={key}&limit=1000").json()["data"]
    assert [names(one[key]) for one in listed if one["fullyQualifiedName"] == fqn] == [expected]
    if key not in {inner for both in BOTH_WAYS.values() for inner in both}:
        assert key not in client.get(f"/{path}").json()


def test_what_others_say_cannot_be_written(client: httpx.Client) -> None:
    schema = client.get("/databaseSchemas/name/warehouse.shop.public").json()
    patch = [{"op": "add", "path": "/tables", "value": []}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = client.patch(f"/databaseSchemas/{schema['id']}", content=json.dumps(patch), headers=headers)
    assert (answer.status_code, answer.json()["version"]) == (200, schema["version"])


def test_every_relation_stands_under_a_key_of_its_type() -> None:
    from tocsin.model.entity_types import ENTITY_TYPES

    for relations in (RELATIONS, BOTH_WAYS):
        for name, keys in relations.items():
            assert keys.keys() <= ENTITY_TYPES[name].keys


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tables?database=warehouse.shop", ["orders", "sold"]),
        ("tables?databaseSchema=warehouse.shop.none", []),
        ("tables?domain=Sales", ["sold"]),
        ("tables?domain=Nowhere", []),
        ("tags?parent=Tier", ["Tier1", "Tier2", "Tier3", "Tier4", "Tier5"]),
        ("tags?parent=Tier&disabled=true", []),
        ("glossaryTerms?glossary=Words", ["Sale", "Big"]),
        ("glossaryTerms?directChildrenOf=Words.Sale", ["Big"]),
        ("users?isAdmin=true", ["admin"]),
        ("users?team=shop", ["alice"]),
        ("users?isBot=true", []),
        ("services/dashboardServices?serviceType=Superset", ["bi"]),
        ("services/dashboardServices?serviceType=Tableau", []),
        ("domains?parent=Sales", ["Web"]),
    ],
)
def test_a_list_is_narrowed_by_its_types_filters(client: httpx.Client, path: str, expected: list[str]) -> None:
    answer = client.get(f"/{path}&limit=1000").json()
    assert [one["name"] for one in answer["data"]] == expected
    assert answer["paging"]["total"] == len(expected)
    assert client.get(f"/{path}&limit=0").json()["paging"]["total"] == len(expected)
