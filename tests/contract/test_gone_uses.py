"""Tests of queries of a hard-deleted hidden table: they stay hidden from people who could not see the table."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_search import index_all
from tests.serving import Json, Served, table


def test_a_query_does_not_show_itself_because_its_hidden_table_went_for_good(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, mallory = served.person("mallory")
    _, zoe = served.person("zoe")
    hidden_table = table(administrator, "people", tags=[{"tagFQN": "PII.Sensitive"}])
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    queries: list[Json] = []
    for name, uses in (("alone", [hidden_table]), ("both", [hidden_table, orders]), ("open", [orders])):
        query = create_entity(
            administrator, "/queries", name=name, query=f"select salary -- {name}", service="warehouse"
        )
        usage = [{"id": one["id"], "type": "table"} for one in uses]
        assert administrator.put(f"/queries/{query['id']}/usage", json=usage).is_success
        queries.append(query)

    def names_shown(client: httpx.Client) -> list[Json]:
        index_all(sqlite_engine)
        listed = client.get("/queries").json()["data"]
        hits = client.get("/search/query", params={"q": "salary", "index": "query"}).json()["hits"]["hits"]
        events = client.get("/events", params={"limit": 1000, "format": "tocsin"}).json()["data"]
        notified = {one["entityId"] for one in events if one["entityType"] == "query"}
        return [
            [one["name"] for one in queries if client.get(f"/queries/{one['id']}").status_code == 200],
            sorted(one["name"] for one in listed),
            sorted(hit["_source"]["name"] for hit in hits),
            [one["name"] for one in queries if one["id"] in notified],
            [one["name"] for one in queries if client.put(f"/queries/{one['id']}/vote", json={}).status_code != 403],
        ]

    with mallory, zoe:
        assert names_shown(mallory) == [["open"]] * 5
        assert administrator.delete(f"/tables/{hidden_table['id']}?hardDelete=true").is_success
        assert names_shown(mallory) == [["open"]] * 5, "no more than before"
        assert names_shown(zoe) == [["alone", "both", "open"]] * 5
