"""Tests of the lineage that a search shows of its hits."""

from __future__ import annotations

import json

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_search import index_all, search
from tests.serving import Json, Served, table


def test_entities_are_found_by_their_ids_with_what_they_are_made_from(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    derived_table, hidden_table = (
        table(administrator, "made"),
        table(administrator, "hidden", tags=[{"tagFQN": "PII.Sensitive"}]),
    )
    for source in (orders, hidden_table):
        ends = {
            "fromEntity": {"id": source["id"], "type": "table"},
            "toEntity": {"id": derived_table["id"], "type": "table"},
        }
        assert administrator.put("/lineage", json={"edge": ends}).is_success
    index_all(sqlite_engine)
    query = {"query_filter": json.dumps({"query": {"ids": {"values": [derived_table["id"], orders["id"], "no-id"]}}})}
    query |= {"index": "table_search_index", "include_source_fields": "upstreamLineage.fromEntity.id"}

    def upstream(client: httpx.Client) -> dict[str, set[str]]:
        hits = search(client, "query", **query)["hits"]["hits"]
        return {hit["_id"]: {edge["fromEntity"]["id"] for edge in hit["_source"]["upstreamLineage"]} for hit in hits}

    assert upstream(administrator) == {derived_table["id"]: {orders["id"], hidden_table["id"]}, orders["id"]: set()}
    user_id, client = served.person("alice")
    with client:
        restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
        assert upstream(client) == {derived_table["id"]: {orders["id"]}, orders["id"]: set()}
