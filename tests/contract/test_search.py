"""Tests of search responses in the form OpenMetadata's client reads, and of errors with positions."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_quality import case
from tests.entries import entry_of
from tests.serving import Json, table

from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.store.catalogue.search.writes import SearchWrites
from tocsin.store.eventlog.log import EventLog

__all__ = ["case"]  # a fixture

PATCH = {"Content-Type": "application/json-patch+json"}


def index_all(engine: Engine) -> None:
    """Bring the index up to date as the pipeline does: with the newest entry of each entity."""
    newest_entries = {
        logged.event.entity_id: entry_of(logged.event.entity_type, logged.event.entity or {}, log_offset=logged.offset)
        for logged in EventLog(engine).read(0, 10_000)
        if logged.event.entity_type in ENTITY_TYPES  # not a thread
    }
    SearchWrites(engine).put(list(newest_entries.values()))


@pytest.fixture
def searcher(administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> httpx.Client:
    for number in range(12):
        table(administrator, f"order_lines_{number:02}", description="One line of an order.")
    table(administrator, "customers", displayName="Müller & Söhne")
    index_all(sqlite_engine)
    return administrator


def search(client: httpx.Client, path: str, **parameters: Any) -> Json:
    answer = client.get(f"/search/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def fqns(answer: Json) -> list[str]:
    return [hit["_source"]["fullyQualifiedName"] for hit in answer["hits"]["hits"]]


def test_a_query_answers_in_the_shape_of_elasticsearch(searcher: httpx.Client, orders: Json) -> None:
    answer = search(searcher, "query", q="orders", index="table_search_index")
    assert answer["hits"]["total"] == {"value": 1, "relation": "eq"}
    (hit,) = answer["hits"]["hits"]
    assert (hit["_index"], hit["_id"], hit["_score"]) == ("table_search_index", orders["id"], 4)
    assert hit["_source"]["fullyQualifiedName"] == "warehouse.shop.public.orders"
    assert hit["_source"]["entityType"] == "table"
    assert hit["sort"] == [4, 0, "warehouse.shop.public.orders", "table"]
    assert isinstance(answer["took"], int)
    assert answer["hits"]["max_score"] == 4


def test_a_table_is_found_by_an_alias_as_a_whole(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    table(administrator, "buyers", aliases=["warehouse.shop.public.Clients", "warehouse.shop.public.people"])
    index_all(sqlite_engine)
    field = {"fieldName": "aliases.keyword", "index": "table_search_index"}
    for alias in ("warehouse.shop.public.Clients", "warehouse.shop.public.people"):
        assert fqns(search(administrator, "fieldQuery", fieldValue=alias, **field)) == ["warehouse.shop.public.buyers"]
    assert fqns(search(administrator, "fieldQuery", fieldValue="warehouse.shop.public.Cli", **field)) == []
    assert fqns(search(administrator, "query", q="_exists_:aliases")) == ["warehouse.shop.public.buyers"]
    assert "aliases" not in administrator.get(f"/tables/{orders['id']}").json()


def test_what_lies_in_a_domain_or_belongs_to_somebody_by_what_it_lies_in_is_found(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    for name in ("Sales", "Web"):
        administrator.post("/domains", json={"name": name, "domainType": "Aggregate", "description": "x"})
    jane = administrator.post("/users", json={"name": "jane", "email": "jane@example.org"}).json()
    web, sales = (administrator.get(f"/domains/name/{name}").json() for name in ("Web", "Sales"))
    table(administrator, "pages", domains=["Web"])
    schema = administrator.get("/databaseSchemas/name/warehouse.shop.public").json()

    def belongs(domain: Json) -> None:
        value = {"domains": [{"id": domain["id"], "type": "domain"}], "owners": [{"id": jane["id"], "type": "user"}]}
        patch = [{"op": "add", "path": f"/{key}", "value": one} for key, one in value.items()]
        answer = administrator.patch(f"/databaseSchemas/{schema['id']}", content=json.dumps(patch), headers=PATCH)
        assert answer.status_code == 200

    def names(q: str, **parameters: str) -> list[str]:
        return sorted(fqn.split(".")[-1] for fqn in fqns(search(administrator, "query", q=q, **parameters)))

    belongs(sales)
    description_operations = [{"op": "add", "path": "/description", "value": "touched while in Sales"}]
    administrator.patch(f"/tables/{orders['id']}", content=json.dumps(description_operations), headers=PATCH)
    index_all(sqlite_engine)
    assert names("domain:Sales") == ["orders", "public"]
    assert names("orders -domain:Web") == ["orders"]
    assert names("owner:jane", index="table_search_index") == ["orders", "pages"]
    in_filter = json.dumps({"query": {"bool": {"must": [{"term": {"owners.id": jane["id"]}}]}}})
    assert names("pages", query_filter=in_filter) == ["pages"]
    assert names("_exists_:owners", index="table") == ["orders", "pages"]
    (hit,) = search(administrator, "query", q="orders", index="table")["hits"]["hits"]
    assert [(one["name"], one["inherited"]) for one in hit["_source"]["owners"]] == [("jane", True)]
    belongs(web)
    index_all(sqlite_engine)
    assert names("domain:Sales") == []
    assert names("domain:Web") == ["orders", "pages", "public"]


def test_what_lies_in_a_service_is_found_by_what_the_service_is_shown_as(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    def fqns_in(display_name: str) -> list[str]:
        index_all(sqlite_engine)
        query = {"query": {"bool": {"must": [{"term": {"service.displayName.keyword": display_name}}]}}}
        filtered = search(administrator, "query", index="table", query_filter=json.dumps(query))
        assert fqns(search(administrator, "query", index="table", q=f'service.displayName:"{display_name}"')) == fqns(
            filtered
        )
        return fqns(filtered)

    assert fqns_in("warehouse") == [orders["fullyQualifiedName"]]
    patch = json.dumps([{"op": "add", "path": "/displayName", "value": "The House"}])
    path = f"/services/databaseServices/{orders['service']['id']}"
    assert administrator.patch(path, content=patch, headers=PATCH).status_code == 200
    assert fqns_in("The House") == [orders["fullyQualifiedName"]]
    assert fqns_in("warehouse") == []


def test_a_search_counts_by_every_field_if_it_is_asked_to(searcher: httpx.Client) -> None:
    answer = search(searcher, "query", q="warehouse", include_aggregations="true")
    buckets = {name: counts["buckets"] for name, counts in answer["aggregations"].items()}
    assert {"key": "table", "doc_count": 14} in buckets["sterms#entityType"]
    assert {"sterms#service.name", "sterms#serviceType", "sterms#tier.tagFQN", "sterms#deleted"} <= buckets.keys()
    assert "aggregations" not in search(searcher, "query", q="warehouse")


def test_the_client_finds_by_fqn_with_wildcards(searcher: httpx.Client) -> None:
    path = "/search/fieldQuery?fieldName=fullyQualifiedName&fieldValue=*.shop.public.orders&from=0&size=10"
    answer = searcher.get(f"{path}&index=table_search_index&deleted=false").json()
    assert fqns(answer) == ["warehouse.shop.public.orders"]
    by_whole_fqn = search(
        searcher, "fieldQuery", fieldName="fullyQualifiedName", fieldValue="warehouse.shop.public.orders"
    )
    assert fqns(by_whole_fqn) == ["warehouse.shop.public.orders"]
    assert fqns(search(searcher, "fieldQuery", fieldName="fullyQualifiedName", fieldValue="*.sho")) == []


def test_the_client_walks_through_everything_by_search_after(searcher: httpx.Client) -> None:
    base = (
        "/search/query?q=&size=4&deleted=false&index=table_search_index&sort_field=fullyQualifiedName&sort_order=desc"
    )
    fqns_in_order: list[str] = []
    after = ""
    while hits := searcher.get(base + after).json()["hits"]["hits"]:
        fqns_in_order += [hit["_source"]["fullyQualifiedName"] for hit in hits]
        after = "".join(f"&search_after={quote_plus(str(value))}" for value in hits[-1]["sort"])
    assert fqns_in_order == sorted(fqns_in_order, reverse=True)
    assert len(fqns_in_order) == 14


def test_the_client_finds_people_by_mail_and_by_name(
    searcher: httpx.Client, served: Any, sqlite_engine: Engine
) -> None:
    user_id, client = served.person("john.doe", displayName="John Doe")
    client.close()
    index_all(sqlite_engine)
    by_mail = searcher.get("/search/query?q=email.keyword:john.doe@example.org&from=0&size=1&index=user_search_index")
    assert [hit["_id"] for hit in by_mail.json()["hits"]["hits"]] == [user_id]
    body = {"query": "John Doe AND isBot:false", "fields": ["name", "displayName"], "default_operator": "AND"}
    query_filter = json.dumps({"query": {"query_string": {**body, "fuzziness": "AUTO"}}})
    by_name = searcher.get(f"/search/query?query_filter={query_filter}&from=0&size=1&index=user_search_index")
    assert [hit["_id"] for hit in by_name.json()["hits"]["hits"]] == [user_id]
    assert search(searcher, "query", q="John Doe")["hits"]["hits"] == []


def test_only_the_fields_asked_for_are_in_the_source(searcher: httpx.Client) -> None:
    parameters: list[tuple[str, str | int | float | bool | None]] = [
        ("q", "orders"),
        ("include_source_fields", "name"),
        ("include_source_fields", "fullyQualifiedName"),
    ]
    (hit,) = searcher.get("/search/query", params=parameters).json()["hits"]["hits"]
    assert hit["_source"] == {"name": "orders", "fullyQualifiedName": "warehouse.shop.public.orders"}


def test_names_are_suggested_while_somebody_types(searcher: httpx.Client) -> None:
    answer = search(searcher, "suggest", q="mül")
    (suggested,) = answer["suggest"]["metadata-suggest"]
    assert [option["text"] for option in suggested["options"]] == ["Müller & Söhne"]
    assert len(search(searcher, "suggest", q="ord", size=5)["suggest"]["metadata-suggest"][0]["options"]) == 5


def test_hits_are_counted_by_type(searcher: httpx.Client) -> None:
    answer = search(searcher, "aggregate", q="warehouse", field="entityType")
    buckets = answer["aggregations"]["sterms#entityType"]["buckets"]
    assert buckets[0] == {"key": "table", "doc_count": 14}
    body = {"query": "warehouse", "index": "table_search_index", "fieldName": "service.name"}
    posted = searcher.post("/search/aggregate", json=body).json()
    assert posted["aggregations"]["sterms#service.name"]["buckets"] == [{"key": "warehouse", "doc_count": 14}]


def test_what_is_gone_since_is_not_shown(searcher: httpx.Client, orders: Json) -> None:
    assert searcher.delete(f"/tables/{orders['id']}", params={"hardDelete": True}).status_code == 200
    assert fqns(search(searcher, "query", q="orders")) == []


@pytest.mark.parametrize(
    ("path", "parameters", "words"),
    [
        ("query", {"q": "(orders"}, "column 1"),
        ("query", {"q": "orders AND"}, "column 11"),
        ("query", {"q": 'a "b'}, "column 3"),
        ("query", {"q": "a\0b"}, "NUL"),
        ("query", {"q": "(" * 50 + "a" + ")" * 50}, "deeper"),
        ("query", {"q": "a " * 1_000}, "at most"),
        ("query", {"q": "fullyQualifiedName:*a*a*a*a*a*a*a*a"}, "stars"),
        ("query", {"index": "nowhere"}, "unknown index"),
        ("query", {"sort_field": "colour"}, "cannot sort"),
        ("query", {"sort_order": "up"}, "sort_order"),
        ("query", {"search_after": "x"}, "score"),
        ("query", {"size": 5_000}, "size"),
        ("query", {"size": -1}, "size"),
        ("query", {"from": 9_999, "size": 10}, "search_after"),
        ("query", {"query_filter": "{"}, "not JSON"),
        ("query", {"query_filter": "[]"}, "object"),
        ("query", {"query_filter": '{"query":{"fuzzy":{"name":"x"}}}'}, "unsupported clause 'fuzzy'"),
        ("query", {"query_filter": '{"query":{"bool":{"must":[{"term":{"colour":1}}]}}}'}, "query.bool.must[0].term"),
        ("query", {"query_filter": '{"range":{"name":{"gte":1}}}'}, "updatedAt"),
        ("query", {"query_filter": '{"term":{"name":["x"]}}'}, "a string"),
        ("query", {"query_filter": '{"query_string":{"query":"(a"}}'}, "column 1"),
        ("query", {"deleted": "perhaps"}, "deleted"),
        ("fieldQuery", {}, "fieldName"),
        ("fieldQuery", {"fieldName": "colour", "fieldValue": "x"}, "colour"),
        ("fieldQuery", {"fieldName": "name", "fieldValue": "a\0"}, "NUL"),
        ("suggest", {"q": "--"}, "letter"),
        ("aggregate", {"field": "colour"}, "aggregate by"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    administrator: httpx.Client, path: str, parameters: dict[str, Any], words: str
) -> None:
    answer = administrator.get(f"/search/{path}", params=parameters)
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == 400
    assert words in answer.json()["message"]


@pytest.mark.parametrize("name", ["p%zz", "p%41", "100%", "a:b", "http://x"])
def test_names_with_percent_signs_and_colons_are_read_and_found(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine, name: str
) -> None:
    fqn = table(administrator, name)["fullyQualifiedName"]
    assert administrator.get(f"/tables/name/{quote(fqn, safe='')}").json()["name"] == name
    index_all(sqlite_engine)
    assert fqns(search(administrator, "query", q=name)) == [fqn]
    assert search(administrator, "aggregate", q=name, field="entityType")
    assert administrator.get(f"/users/name/{quote(name, safe='')}").status_code == 404


def test_search_needs_a_token(served: Any) -> None:
    with served.client() as nobody:
        assert nobody.get("/search/query").status_code == 401


def test_a_misspelt_asset_is_answered_with_the_nearest_name(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    index_all(sqlite_engine)
    for path, asset, fqn in (
        ("/incidents", "no_nuls", case["fullyQualifiedName"]),
        ("/changes", "ordres", "warehouse.shop.public.orders"),
    ):
        message = administrator.get(path, params={"asset": asset}).json()["message"]
        assert message.endswith(f" {asset} not found; did you mean {fqn}?"), message
