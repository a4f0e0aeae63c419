"""Tests of permissions on lineage edges: a write changes only assets that its actor may edit."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.serving import Json, Served, table

from tocsin.errors import Forbidden
from tocsin.model.people import Actor


def test_an_operation_on_an_edge_asks_whoever_calls_it(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, mallory = served.person("mallory")
    own_table = table(administrator, "mine", owners=[{"id": user_id, "type": "user"}])
    hidden_table = table(administrator, "hidden", tags=[{"tagFQN": "PII.Sensitive"}])
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    own_reference, orders_reference, unseen = (
        {"id": document["id"], "type": "table"} for document in (own_table, orders, hidden_table)
    )
    writes, actor = served.app.state.parts.writes, Actor(user_id, "mallory")
    for from_, to in ((own_reference, orders_reference), (unseen, own_reference), (own_reference, unseen)):
        edge = {"fromEntity": from_, "toEntity": to}
        assert administrator.put("/lineage", json={"edge": edge}).is_success
        writes_to_try: list[Callable[[], object]] = [
            lambda edge=edge: writes.put_edge(edge | {"lineageDetails": {"sqlQuery": "x"}}, actor=actor),  # type: ignore[misc]
            lambda from_=from_, to=to: writes.patch_edge(from_, to, [], actor=actor),  # type: ignore[misc]
            lambda from_=from_, to=to: writes.delete_edge(from_, to, actor=actor),  # type: ignore[misc]
        ]
        for call in writes_to_try:
            with pytest.raises(Forbidden):
                call()
    for to in (orders_reference, unseen):
        with pytest.raises(Forbidden):
            writes.delete_edges_by_source(to, "Manual", actor=actor)
    assert writes.put_edge({"fromEntity": orders_reference, "toEntity": own_reference}, actor=actor).created
    mallory.close()


def test_edges_that_a_pipeline_carries_are_removed_by_who_may_edit_where_they_lead(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, mallory = served.person("mallory")
    report = table(administrator, "report")
    create_entity(administrator, "/services/pipelineServices", name="airflow", serviceType="Airflow")
    pipeline = create_entity(
        administrator, "/pipelines", name="nightly", service="airflow", owners=[{"id": user_id, "type": "user"}]
    )
    details = {"source": "PipelineLineage", "pipeline": {"id": pipeline["id"], "type": "pipeline"}}
    ends = {"fromEntity": {"id": report["id"], "type": "table"}, "toEntity": {"id": orders["id"], "type": "table"}}
    assert administrator.put("/lineage", json={"edge": {**ends, "lineageDetails": details}}).is_success
    path, edge = f"/lineage/pipeline/{pipeline['id']}/type/PipelineLineage", f"{report['id']}/{orders['id']}"
    with mallory:
        assert mallory.delete(path).status_code == 403
        assert mallory.get(f"/lineage/getLineageEdge/{edge}").status_code == 200, "it stays"
        owner = {"op": "add", "path": "/owners", "value": [{"id": user_id, "type": "user"}]}
        assert send_patch(administrator, f"/tables/{orders['id']}", owner).is_success
        assert [one["toEntity"]["id"] for one in mallory.delete(path).json()["edges"]] == [orders["id"]]
        assert mallory.get(f"/lineage/getLineageEdge/{edge}").status_code == 404
