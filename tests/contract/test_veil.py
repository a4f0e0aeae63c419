"""Tests of patches of documents with hidden parts: no operation copies, compares or removes them."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.serving import Json, Served, table

_NAME = "kanarienvogel"
_HIDDEN = [{"tagFQN": "PII.Sensitive"}]
_PIPES = "/services/pipelineServices"


@pytest.fixture
def mallory(served: Served, administrator: httpx.Client, orders: Json) -> Iterator[httpx.Client]:
    """A person who owns ``orders``, which references a domain, a table and a pipeline that she may not see."""
    user_id, client = served.person("mallory")
    create_entity(administrator, "/domains", name="Open", description="x", domainType="Aggregate")
    create_entity(administrator, "/domains", name=_NAME, description="x", domainType="Aggregate", tags=_HIDDEN)
    secret = table(administrator, _NAME, tags=_HIDDEN)
    to = {"constraintType": "FOREIGN_KEY", "columns": ["id"], "referredColumns": [f"{secret['fullyQualifiedName']}.id"]}
    put = [("owners", [{"id": user_id, "type": "user"}]), ("domains", [_NAME, "Open"]), ("tableConstraints", [to])]
    for key, value in put:
        answer = send_patch(administrator, _path(orders), {"op": "add", "path": f"/{key}", "value": value})
        assert answer.status_code == 200, answer.text
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with client:
        yield client


def _path(orders: Json) -> str:
    return f"/tables/{orders['id']}"


def test_a_patch_reads_nothing_of_what_is_hidden_in_a_document(
    administrator: httpx.Client, mallory: httpx.Client, orders: Json
) -> None:
    path = _path(orders)
    read = [
        *(f"/domains/{place}/{key}" for place in (0, 1) for key in ("name", "fullyQualifiedName")),
        "/tableConstraints/0/referredColumns/0",
        "/tableConstraints/0",
        "/domains",
    ]
    for pointer in read:
        for verb in ("copy", "move"):
            mallory_said = send_patch(mallory, path, {"op": verb, "from": pointer, "path": "/description"})
            assert _NAME not in mallory_said.text, pointer
    guess_answers = [
        send_patch(mallory, path, {"op": "test", "path": f"/domains/{place}/name", "value": value})
        for place in (0, 1)
        for value in (_NAME, "wrong")
    ]
    assert len({(one.status_code, one.text) for one in guess_answers[:2]}) == 1
    assert len({(one.status_code, one.text) for one in guess_answers[2:]}) == 1
    now = administrator.get(path, params={"fields": "*"}).json()
    assert _NAME not in now.get("description", "")
    assert {one["name"] for one in now["domains"]} == {"Open", _NAME}, "and nothing hidden went"
    assert _NAME in now["tableConstraints"][0]["referredColumns"][0]


def test_the_places_of_a_list_are_those_that_were_read(
    administrator: httpx.Client, mallory: httpx.Client, orders: Json
) -> None:
    path = _path(orders)
    assert [one["name"] for one in mallory.get(path, params={"fields": "domains"}).json()["domains"]] == ["Open"]
    answer = send_patch(mallory, path, {"op": "test", "path": "/domains/0/name", "value": "Open"})
    assert answer.status_code == 200, answer.text
    answer = send_patch(mallory, path, {"op": "add", "path": "/description", "value": "x"})
    assert [one["name"] for one in answer.json()["changeDescription"]["fieldsAdded"]] == ["description"]
    assert send_patch(mallory, path, {"op": "remove", "path": "/domains/0"}).status_code == 200
    remaining = administrator.get(path, params={"fields": "domains"}).json()["domains"]
    assert [one["name"] for one in remaining] == [_NAME]


def test_a_patch_of_an_edge_reads_nothing_of_a_hidden_pipeline(
    administrator: httpx.Client, mallory: httpx.Client, orders: Json
) -> None:
    report = table(administrator, "report")
    create_entity(administrator, _PIPES, name="airflow", serviceType="Airflow")
    pipeline = create_entity(administrator, "/pipelines", name=_NAME, service="airflow", tags=_HIDDEN)
    ends = {"fromEntity": {"id": report["id"], "type": "table"}, "toEntity": {"id": orders["id"], "type": "table"}}
    details = {"source": "PipelineLineage", "pipeline": {"id": pipeline["id"], "type": "pipeline"}, "sqlQuery": "x"}
    edge_request = {"edge": {**ends, "lineageDetails": details}}
    assert administrator.put("/lineage", json=edge_request).is_success
    edge = f"/lineage/table/{report['id']}/table/{orders['id']}"
    answers = [
        send_patch(mallory, edge, {"op": "copy", "from": "/pipeline/name", "path": "/sqlQuery"}),
        send_patch(mallory, edge, {"op": "replace", "path": "/sqlQuery", "value": "y"}),
        mallory.get(f"/lineage/getLineageEdge/{report['id']}/{orders['id']}"),
        mallory.get(f"/lineage/table/{report['id']}"),
        mallory.get("/lineage/getLineage", params={"fqn": report["fullyQualifiedName"], "type": "table"}),
        mallory.put("/lineage", json={"edge": {**ends, "lineageDetails": {"source": "Manual"}}}),
    ]
    assert [one.status_code for one in answers] == [400, 200, 200, 200, 200, 200]
    assert [one.text for one in answers if _NAME in one.text] == []
    assert administrator.put("/lineage", json=edge_request).is_success
    response = mallory.delete(edge)
    assert response.status_code == 200
    assert _NAME not in response.text
