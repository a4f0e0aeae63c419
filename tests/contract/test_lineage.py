"""Tests of the lineage routes: every call of the lineage mixin of OpenMetadata's client."""

from __future__ import annotations

import json
from itertools import pairwise
from urllib.parse import quote

import httpx
import pytest
from tests.contract import standards
from tests.serving import Json, table

PATCH = {"Content-Type": "application/json-patch+json"}
STRANGE = 'cle.an"ed/%2F'


def reference(entity: Json) -> Json:
    """Return a reference as the client sends it, nulls included."""
    return {"id": entity["id"], "type": "table", "name": None, "fullyQualifiedName": None, "inherited": None}


def edge(from_: Json, to: Json, **details: Json) -> Json:
    nulls = {"sqlQuery": None, "columnsLineage": None, "pipeline": None, "assetEdges": None, "createdAt": None}
    return {
        "edge": {
            "fromEntity": reference(from_),
            "toEntity": reference(to),
            "description": None,
            "lineageDetails": {**nulls, "source": "Manual", **details},
        }
    }


@pytest.fixture
def clean(administrator: httpx.Client, orders: Json) -> Json:
    return table(administrator, STRANGE)


def send_patch(client: httpx.Client, path: str, *operations: Json) -> httpx.Response:
    return client.patch(path, content=json.dumps(operations), headers=PATCH)


def test_the_clients_check_and_patch(administrator: httpx.Client, orders: Json, clean: Json) -> None:
    between = f"/lineage/getLineageEdge/{orders['id']}/{clean['id']}"
    missing = administrator.get(between)
    assert (missing.status_code, missing.json()["code"]) == (404, 404)
    assert administrator.put("/lineage", json=edge(orders, clean)).status_code == 200
    assert administrator.get(between).json()["edge"]["columnsLineage"] == []
    columns = {"fromColumns": [f"{orders['fullyQualifiedName']}.id"], "toColumn": f"{clean['fullyQualifiedName']}.id"}
    path = f"/lineage/table/{orders['id']}/table/{clean['id']}"
    answer = send_patch(administrator, path, {"op": "add", "path": "/columnsLineage/0", "value": columns})
    assert answer.status_code == 200
    assert administrator.get(between).json()["edge"]["columnsLineage"] == [columns]
    graph = administrator.get(f"/lineage/table/{orders['id']}?upstreamDepth=1&downstreamDepth=1").json()
    (shown_edge,) = graph["downstreamEdges"]
    assert (shown_edge["toEntity"], shown_edge["lineageDetails"]["columnsLineage"]) == (clean["id"], [columns])
    by_name = administrator.get(f"/lineage/table/name/{quote(clean['fullyQualifiedName'], safe='')}").json()
    assert [node["id"] for node in by_name["nodes"]] == [orders["id"]]


def test_edges_are_changed_and_removed_by_name(administrator: httpx.Client, orders: Json, clean: Json) -> None:
    assert administrator.put("/lineage", json=edge(orders, clean)).is_success
    from_, to = (quote(one["fullyQualifiedName"], safe="") for one in (orders, clean))
    path = f"/lineage/table/name/{from_}/table/name/{to}"
    answer = send_patch(administrator, path, {"op": "add", "path": "/sqlQuery", "value": "select 1"})
    assert answer.json()["edge"]["lineageDetails"]["sqlQuery"] == "select 1"
    between = f"/lineage/getLineageEdge/table/name/{from_}/table/name/{to}"
    assert administrator.get(between).json()["edge"]["sqlQuery"] == "select 1"
    assert administrator.delete(path).status_code == 200
    assert administrator.delete(path).status_code == 404
    assert administrator.get(between).status_code == 404


def test_an_edge_is_put_by_name_with_its_details_alone(administrator: httpx.Client, orders: Json, clean: Json) -> None:
    from_, to = (quote(one["fullyQualifiedName"], safe="") for one in (orders, clean))
    path = f"/lineage/table/name/{from_}/table/name/{to}"
    put = administrator.put(path, json={"source": "QueryLineage", "sqlQuery": "select 2", "columnsLineage": []})
    assert (put.status_code, put.json()["edge"]["lineageDetails"]["sqlQuery"]) == (200, "select 2")
    (edge_,) = administrator.get(f"/lineage/table/{orders['id']}").json()["downstreamEdges"]
    assert (edge_["toEntity"], edge_["lineageDetails"]["source"]) == (clean["id"], "QueryLineage")
    assert administrator.put(path, json={"source": "Hearsay"}).status_code == 400


def test_edges_of_one_source_are_removed_together(administrator: httpx.Client, orders: Json, clean: Json) -> None:
    for by_name in (False, True):
        assert administrator.put("/lineage", json=edge(orders, clean, source="DbtLineage")).is_success
        fqn = quote(clean["fullyQualifiedName"], safe="")
        path = f"/lineage/source/name/table/{fqn}" if by_name else f"/lineage/table/{clean['id']}"
        answer = administrator.delete(f"{path}/type/DbtLineage")
        assert [one["fromEntity"]["id"] for one in answer.json()["edges"]] == [orders["id"]]
    assert administrator.delete(f"/lineage/table/{clean['id']}/type/Hearsay").status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"edge": []},
        {"edge": {"fromEntity": "orders"}},
        {"edge": {"fromEntity": {"type": ["table"], "id": "x"}}},
        {"edge": {"fromEntity": {"type": "table"}}},
        {"edge": {"fromEntity": {"type": "spaceship", "id": "x"}}},
    ],
)
def test_an_edge_without_ends_is_refused(administrator: httpx.Client, body: Json) -> None:
    answer = administrator.put("/lineage", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_what_is_malformed_is_refused_by_name(administrator: httpx.Client, orders: Json, clean: Json) -> None:
    for details, word in (({"colour": 1}, "colour"), ({"source": "x"}, "source"), ({"columnsLineage": [1]}, "columns")):
        answer = administrator.put("/lineage", json=edge(orders, clean, **details))
        assert (answer.status_code, word in answer.json()["message"]) == (400, True)
    path = f"/lineage/table/{orders['id']}/table/{clean['id']}"
    assert send_patch(administrator, path, {"op": "add", "path": "/source", "value": "Manual"}).status_code == 404
    assert administrator.patch(path, content="5", headers=PATCH).status_code == 400


def test_edges_are_heard_of_in_change_events(administrator: httpx.Client, orders: Json, clean: Json) -> None:
    for details in ({}, {"description": "by hand"}):
        assert administrator.put("/lineage", json=edge(orders, clean, **details)).is_success
    page = administrator.get("/events", params={"entityUpdated": "table"}).json()
    path = f"/lineage/table/{orders['id']}/table/{clean['id']}"
    assert administrator.delete(path).is_success

    def heard(body: Json) -> list[tuple[str, int]]:
        answer = administrator.post("/lineage/events", json=body)
        assert answer.status_code == 200
        result = answer.json()
        assert result["numberOfRowsProcessed"] == len(result["successRequest"]) + len(result["failedRequest"])
        return [(one["message"], one["status"]) for one in (*result["successRequest"], *result["failedRequest"])]

    assert heard(page) == [("added", 200), ("updated", 200)]
    assert heard(page["data"][-1]) == [("unchanged", 200)]
    removal = administrator.delete(path)
    assert removal.is_success
    latest_event = administrator.get("/events", params={"entityUpdated": "table"}).json()["data"][-1]
    assert heard([latest_event]) == [("unchanged", 200)]
    elsewhere = {"fromEntity": {"type": "table", "fullyQualifiedName": "no.where"}}
    lineage_event = {
        "eventType": "x",
        "changeDescription": {"fieldsAdded": [{"name": "lineage", "newValue": elsewhere}]},
    }
    assert [status for _, status in heard([5, lineage_event])] == [400, 404]
    assert administrator.post("/lineage/events", json=[5] * 10_001).status_code == 400


@standards.needs_standards
def test_the_graph_its_events_and_the_outcome_are_what_the_schemas_say(
    administrator: httpx.Client, orders: Json, clean: Json
) -> None:
    columns = [{"fromColumns": [f"{orders['fullyQualifiedName']}.id"], "toColumn": f"{clean['fullyQualifiedName']}.id"}]
    assert administrator.put("/lineage", json=edge(orders, clean, columnsLineage=columns, sqlQuery="x")).is_success
    graph = administrator.get(f"/lineage/table/{orders['id']}").json()
    assert graph["downstreamEdges"][0]["lineageDetails"]["columnsLineage"] == columns
    assert standards.problems("type/entityLineage.json", graph) == []
    page = administrator.get("/events", params={"entityId": clean["id"]}).json()
    assert standards.problems("type/changeEvent.json", page["data"][-1]) == []
    outcome = administrator.post("/lineage/events", json=[5, *page["data"]]).json()
    assert standards.problems("type/bulkOperationResult.json", outcome) == []


def test_the_lineage_is_a_map_by_name_as_well(administrator: httpx.Client, orders: Json) -> None:
    tables = [orders, *(table(administrator, name) for name in ("daily", "weekly"))]
    for from_, to in pairwise(tables):
        ends = {side: {"id": one["id"], "type": "table"} for side, one in (("fromEntity", from_), ("toEntity", to))}
        details = {"sqlQuery": "select 1", "columnsLineage": [], "source": "QueryLineage"}
        assert administrator.put("/lineage", json={"edge": {**ends, "lineageDetails": details}}).is_success
    query = {"fqn": tables[1]["fullyQualifiedName"], "type": "table", "upstreamDepth": 1, "downstreamDepth": 1}
    graph = administrator.get("/lineage/getLineage", params=query).json()
    assert {name: node["nodeDepth"] for name, node in graph["nodes"].items()} == {
        tables[0]["fullyQualifiedName"]: 1,
        tables[1]["fullyQualifiedName"]: 0,
        tables[2]["fullyQualifiedName"]: 1,
    }
    counts = graph["nodes"][tables[1]["fullyQualifiedName"]]["paging"]
    assert counts == {"entityUpstreamCount": 1, "entityDownstreamCount": 1}
    ((name, edge),) = graph["upstreamEdges"].items()
    assert (name, edge["source"], edge["toEntity"]["fullyQualifiedName"]) == (
        f"{tables[0]['id']}--{tables[1]['id']}",
        "QueryLineage",
        tables[1]["fullyQualifiedName"],
    )
    assert len(graph["downstreamEdges"]) == 1
    assert administrator.get("/lineage/getLineage", params={"fqn": "x", "type": "spoon"}).status_code == 400
    assert administrator.get("/lineage/getLineage").status_code == 400
    assert administrator.get("/lineage/getLineage", params={"fqn": "x", "type": "table"}).status_code == 404
