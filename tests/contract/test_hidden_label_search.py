"""Tests that a search finds nothing by a label of a tag that its reader may not view, on both search engines."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_hidden_labels import HIDDEN, carla, labelled
from tests.contract.test_search import index_all
from tests.serving import Json, Served, running_server, table, warehouse
from tests.startedstore import StartedStore

__all__ = ["carla", "labelled"]  # fixtures


@pytest.fixture
def served(store_engine: Engine, started_store: StartedStore) -> Iterator[Served]:
    """A running server over a store of either kind; a PostgreSQL store has its first start here."""
    is_started = store_engine.dialect.name == "sqlite"
    password, token = (started_store.password, started_store.token) if is_started else (None, None)
    with running_server(store_engine, password=password, token=token) as server:
        yield server


@pytest.fixture
def orders(administrator: httpx.Client) -> Json:
    answer = administrator.get("/tables/name/warehouse.shop.public.orders")
    return answer.json() if answer.is_success else warehouse(administrator)


@pytest.mark.parametrize("label", ["Deal.Takeover", "deal.TAKEOVER"])
def test_a_search_by_a_label_that_may_not_be_seen_finds_as_if_nothing_had_it(
    administrator: httpx.Client, carla: httpx.Client, store_engine: Engine, label: str
) -> None:
    column = [{"op": "add", "path": "/columns/0/tags", "value": [HIDDEN]}]
    orders = administrator.get("/tables/name/warehouse.shop.public.orders").json()
    assert send_patch(administrator, f"/tables/{orders['id']}", *column).is_success
    index_all(store_engine)
    term = json.dumps({"bool": {"must": [{"term": {"tags.tagFQN": label}}]}})
    queries: tuple[dict[str, str], ...] = (
        {"q": f"tag:{label}"},
        {"q": f"columns.tags.tagFQN:{label}"},
        {"q": f'orders AND tags.tagFQN.keyword:"{label}"'},
        {"q": "*", "query_filter": term},
        {"q": f"orders tag:(Deal.Other OR {label})"},
    )
    for query in queries:
        assert _total(administrator, query) == 1, query
        assert _total(carla, query) == 0, query
        facets = carla.get("/search/aggregate", params={**query, "index": "table"}).json()
        assert facets["hits"]["total"]["value"] == 0, query
    by_field = {"fieldName": "tags.tagFQN", "fieldValue": label, "index": "table"}
    assert carla.get("/search/fieldQuery", params=by_field).json()["hits"]["total"]["value"] == 0
    assert _total(carla, {"q": f"orders NOT tag:{label}"}) == 1
    assert _total(carla, {"q": "tag:pii.SENSITIVE"}) == _total(carla, {"q": "tag:PII.Sensitive"}) == 1


def test_no_saved_search_selection_or_list_tells_what_has_a_label_that_may_not_be_seen(
    administrator: httpx.Client, carla: httpx.Client, store_engine: Engine
) -> None:
    index_all(store_engine)
    body = {"name": "deal", "query": "tag:Deal.Takeover", "index": "table"}
    selection = {"query": "tag:Deal.Takeover", "index": "table", "dryRun": True}
    for client, count in ((administrator, 1), (carla, 0)):
        user_id = client.get("/users/loggedInUser").json()["id"]
        saved = client.post(f"/users/{user_id}/searches", json=body)
        assert saved.is_success, saved.text
        assert saved.json()["found"] == count
        follows = client.post(f"/users/{user_id}/follows", json=selection)
        assert follows.is_success, follows.text
        assert follows.json()["numberOfRowsProcessed"] == count
        assert len(client.get("/tables?tags=Deal.Takeover").json()["data"]) == count


def test_what_has_only_labels_that_may_not_be_seen_is_as_what_has_none(
    administrator: httpx.Client, carla: httpx.Client, labelled: Json, store_engine: Engine
) -> None:
    create_entity(administrator, "/tags", name="Tier0", description="Of the deal.", classification="Tier")
    hidden_tier = {"tagFQN": "Tier.Tier0", "source": "Classification"}
    owner = [{"id": administrator.get("/users/loggedInUser").json()["id"], "type": "user"}]
    tier = administrator.get("/tags/name/Tier.Tier0").json()
    assert send_patch(administrator, f"/tags/{tier['id']}", {"op": "add", "path": "/owners", "value": owner}).is_success
    table(administrator, "takeovers", tags=[HIDDEN, hidden_tier])
    table(administrator, "prices", tags=[{"tagFQN": "Tier.Tier1", "source": "Classification"}])
    column = {"name": "price", "dataType": "INT", "tags": [HIDDEN]}
    table(administrator, "offers", columns=[column])
    table(administrator, "bare")
    index_all(store_engine)
    for field, of_all, of_carla in (
        ("tags", {"orders", "takeovers", "prices", "offers"}, {"orders", "prices"}),
        ("tags.tagFQN", {"orders", "takeovers", "prices", "offers"}, {"orders", "prices"}),
        ("tier", {"takeovers", "prices"}, {"prices"}),
    ):
        exists = json.dumps({"exists": {"field": field}})
        for query in ({"q": f"_exists_:{field}"}, {"q": "*", "query_filter": exists}, {"q": f"{field}:*"}):
            assert _names(administrator, query) == of_all, query
            assert _names(carla, query) == of_carla, query
        lacking = {"q": f"NOT _exists_:{field}"}
        everything = of_all | {"bare", "orders", "takeovers", "prices", "offers"}
        assert _names(administrator, lacking) == everything - of_all
        assert _names(carla, lacking) == everything - of_carla
    assert send_patch(administrator, f"/tables/{labelled['id']}", {"op": "remove", "path": "/tags/1"}).is_success
    index_all(store_engine)
    assert _names(carla, {"q": "_exists_:tags"}) == {"prices"}


def test_who_may_see_no_label_at_all_finds_nothing_by_any(
    served: Served, administrator: httpx.Client, labelled: Json, store_engine: Engine
) -> None:
    index_all(store_engine)
    user_id, client = served.person("dan")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["tag", "glossaryTerm"]})
    assert _names(administrator, {"q": "_exists_:tags"}) == {labelled["name"]}
    with client:
        assert _names(client, {"q": "_exists_:tags"}) == set()
        assert _names(client, {"q": "orders NOT _exists_:tags"}) == {labelled["name"]}


def _names(client: httpx.Client, query: dict[str, str]) -> set[str]:
    answer = client.get("/search/query", params={**query, "index": "table"})
    assert answer.is_success, answer.text
    hits = answer.json()["hits"]
    assert hits["total"]["value"] == len(hits["hits"])
    return {hit["_source"]["name"] for hit in hits["hits"]}


def _total(client: httpx.Client, query: dict[str, str]) -> int:
    answer = client.get("/search/query", params={**query, "index": "table"})
    assert answer.is_success, answer.text
    return int(answer.json()["hits"]["total"]["value"])
