"""Tests that a search for any owner, domain or other reference finds by those that its reader may view, on both stores.

Searches by a name are in ``test_hidden_people.py``, by labels in ``test_hidden_label_search.py``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_hidden_label_search import served as served
from tests.contract.test_search import index_all
from tests.serving import Json, Served, warehouse

_RESOURCES = ["user", "domain", "dataProduct"]


@dataclass(frozen=True)
class _References:
    """Who is hidden, who reads, and what every key refers to."""

    reader_id: str
    reader: httpx.Client
    references: dict[str, Json]


@pytest.fixture
def world(served: Served, administrator: httpx.Client) -> _References:
    zoe_id, _ = served.person("zoe")
    reader_id, reader = served.person("mallory")
    domain = create_entity(administrator, "/domains", name="Mergers", domainType="Aggregate", description="x")
    product = create_entity(administrator, "/dataProducts", name="Deals", description="x", domains=["Mergers"])
    references = {
        "owners": {"type": "user", "id": zoe_id},
        "domains": {"type": "domain", "id": domain["id"]},
        "dataProducts": {"type": "dataProduct", "id": product["id"]},
        "reviewers": {"type": "user", "id": zoe_id},
    }
    return _References(reader_id, reader, references)


@pytest.mark.parametrize("key", ["owners", "domains", "dataProducts"])
def test_what_refers_only_to_what_may_not_be_seen_is_as_what_refers_to_nothing(
    administrator: httpx.Client, store_engine: Engine, world: _References, key: str
) -> None:
    orders = warehouse(administrator)
    _refer(administrator, f"/tables/{orders['id']}", key, world.references[key])
    index_all(store_engine)
    restrict(administrator, world.reader_id, {"effect": "deny", "resources": _RESOURCES})
    exists = json.dumps({"exists": {"field": key}})
    with world.reader as reader:
        for query in (
            {"q": f"orders AND _exists_:{key}"},
            {"q": f"{key}.name:*"},
            {"q": f"_exists_:{key}.id"},
            {"q": "orders", "query_filter": exists},
        ):
            assert (_total(administrator, query), _total(reader, query)) == (1, 0), query
        lacking = {"q": f"orders NOT _exists_:{key}"}
        assert (_total(administrator, lacking), _total(reader, lacking)) == (0, 1)


def test_what_inherits_only_from_what_may_not_be_seen_is_as_what_has_none(
    administrator: httpx.Client, store_engine: Engine, world: _References
) -> None:
    schema = warehouse(administrator)["databaseSchema"]
    for key in ("owners", "domains"):
        _refer(administrator, f"/databaseSchemas/{schema['id']}", key, world.references[key])
    index_all(store_engine)
    with world.reader as reader:
        for key in ("owners", "domains"):
            assert _total(reader, {"q": f"orders _exists_:{key}"}) == 1
        restrict(administrator, world.reader_id, {"effect": "deny", "resources": _RESOURCES})
        for key in ("owners", "domains"):
            assert _total(reader, {"q": f"orders _exists_:{key}"}) == 0, key
            assert _total(reader, {"q": f"orders NOT _exists_:{key}"}) == 1, key


def test_what_refers_to_oneself_or_to_what_may_be_seen_is_found(
    administrator: httpx.Client, store_engine: Engine, world: _References
) -> None:
    """A reader who may view teams but no people finds by teams and by themselves, inherited owners included."""
    schema = warehouse(administrator)["databaseSchema"]
    restrict(administrator, world.reader_id, {"effect": "deny", "resources": _RESOURCES})
    _refer(administrator, f"/databaseSchemas/{schema['id']}", "owners", {"type": "user", "id": world.reader_id})
    group = create_entity(administrator, "/teams", name="visible-team", teamType="Group")
    database = administrator.get("/databases/name/warehouse.shop").json()
    _refer(administrator, f"/databases/{database['id']}", "owners", {"type": "team", "id": group["id"]})
    index_all(store_engine)
    with world.reader as reader:
        assert _total(reader, {"q": "orders _exists_:owners"}) == 1, "inherits oneself"
        by_team = reader.get("/search/query", params={"q": "shop _exists_:owners", "index": "database"}).json()
        assert by_team["hits"]["total"]["value"] == 1


def _refer(client: httpx.Client, path: str, key: str, reference: Json) -> None:
    answer = send_patch(client, path, {"op": "add", "path": f"/{key}", "value": [reference]})
    assert answer.is_success, answer.text


def _total(client: httpx.Client, query: dict[str, str]) -> int:
    answer = client.get("/search/query", params={**query, "index": "table"})
    assert answer.is_success, answer.text
    return int(answer.json()["hits"]["total"]["value"])
