"""What the workflows of OpenMetadata's client ask beyond entities: settings, validators, new runs, costs, columns."""

from __future__ import annotations

import uuid

import httpx
import pytest
from tests.contract.standards import problems
from tests.serving import Json, table

from tocsin.model.entity_types import ENTITY_TYPES

_PUBLIC = "warehouse.shop.public"


def test_the_profilers_settings_are_the_defaults(administrator: httpx.Client) -> None:
    answer = administrator.get("/system/settings/profilerConfiguration")
    assert answer.json() == {
        "config_type": "profilerConfiguration",
        "config_value": {"metricConfiguration": []},
    }
    response = administrator.get("/system/settings/profilerConfig")
    assert (response.status_code, "profilerConfiguration" in response.json()["message"]) == (404, True)


def test_every_seeded_test_definition_names_the_class_that_validates_it(administrator: httpx.Client) -> None:
    listed = administrator.get("/dataQuality/testDefinitions", params={"limit": 100}).json()["data"]
    validators = {one["name"]: one["validatorClass"] for one in listed}
    assert len(validators) == 25
    assert all(of == f"{name[0].upper()}{name[1:]}Validator" for name, of in validators.items())


def test_a_run_that_has_not_reported_yet_is_an_empty_answer(administrator: httpx.Client) -> None:
    service = {"name": "warehouse", "serviceType": "Postgres"}
    service_id = administrator.put("/services/databaseServices", json=service).json()["id"]
    body = {
        "name": "nightly",
        "pipelineType": "metadata",
        "service": {"id": service_id, "type": "databaseService"},
        "sourceConfig": {"config": {}},
        "airflowConfig": {},
    }
    creation = administrator.put("/services/ingestionPipelines", json=body)
    assert creation.status_code == 201, creation.text
    path = f"/services/ingestionPipelines/{creation.json()['fullyQualifiedName']}/pipelineStatus"
    run_id = str(uuid.uuid4())
    before = administrator.get(f"{path}/{run_id}")
    assert (before.status_code, before.content) == (204, b"")
    run = {"runId": run_id, "pipelineState": "running", "timestamp": 1_700_000_000_000}
    assert administrator.put(path, json=run).status_code == 200
    assert administrator.get(f"{path}/{run_id}").json()["pipelineState"] == "running"
    weekly_status = "/services/ingestionPipelines/warehouse.weekly/pipelineStatus"
    assert administrator.get(f"{weekly_status}/{run_id}").status_code == 404


def test_the_cost_of_a_query_is_kept_per_moment(administrator: httpx.Client, orders: Json) -> None:
    query = {
        "name": "q",
        "query": "select 1",
        "service": "warehouse",
        "queryUsedIn": [{"id": orders["id"], "type": "table"}],
    }
    query_id = administrator.put("/queries", json=query).json()["id"]
    record = {"timestamp": 1_700_000_000_000, "jsonSchema": "queryCostRecord", "cost": 1.5, "count": 3}
    body = record | {"queryReference": {"id": query_id, "type": "query", "name": None}}
    for cost in (1.5, 2.5):
        response = administrator.post("/queryCostRecord", json=body | {"cost": cost})
        assert response.status_code == 201, response.text
        assert problems("entity/data/queryCostRecord.json", response.json()) == []
    cost_page = administrator.get(f"/queries/{query_id}/costs").json()
    assert [(one["cost"], one["count"], one["totalDuration"]) for one in cost_page["data"]] == [(2.5, 3, 0)]
    version = administrator.get(f"/queries/{query_id}").json()["version"]
    assert version == 0.1


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"cost": -1}, 400),
        ({"cost": None}, 400),
        ({"timestamp": "now"}, 400),
        ({"queryReference": {"id": str(uuid.uuid4()), "type": "query"}}, 404),
        ({"queryReference": {"id": str(uuid.uuid4()), "type": "table"}}, 400),
        ({"queryReference": {}}, 400),
    ],
)
def test_a_malformed_cost_is_refused(administrator: httpx.Client, changed: Json, status: int) -> None:
    body = {"timestamp": 1, "cost": 1, "count": 1, "queryReference": {"id": str(uuid.uuid4()), "type": "query"}}
    answer = administrator.post("/queryCostRecord", json=body | changed)
    assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text


def test_a_metadata_workflow_does_not_patch_away_what_dbt_found(administrator: httpx.Client, orders: Json) -> None:
    path = f"/tables/{orders['id']}"
    model = {"modelType": "DBT", "sql": "select 1", "columns": []}
    before = administrator.put(f"{path}/dataModel", json=model).json()
    patch = [
        {"op": "remove", "path": "/dataModel"},
        {"op": "add", "path": "/sourceHash", "value": "8fd2c80e42536e4faf2784b2eaf2c636"},
    ]
    headers = {"Content-Type": "application/json-patch+json"}
    patched = administrator.patch(path, json=patch, headers=headers).json()
    assert (patched["version"], patched["sourceHash"]) == (before["version"], "8fd2c80e42536e4faf2784b2eaf2c636")
    assert administrator.get(path, params={"fields": "dataModel"}).json()["dataModel"]["sql"] == "select 1"


def test_columns_come_a_page_at_a_time(administrator: httpx.Client, orders: Json) -> None:
    column_names = [one["name"] for one in orders["columns"]]
    for path in (f"/tables/{orders['id']}/columns", f"/tables/name/{orders['fullyQualifiedName']}/columns"):
        columns = administrator.get(path, params={"fields": "tags"}).json()
        assert [one["name"] for one in columns["data"]] == column_names
        assert columns["paging"]["total"] == len(column_names)
        assert "tags" in columns["data"][0]
        part = administrator.get(path, params={"limit": 1, "offset": 1}).json()
        assert ([one["name"] for one in part["data"]], part["paging"]["offset"]) == (column_names[1:2], 1)
        assert administrator.get(path, params={"offset": 10**6}).json()["data"] == []
        assert administrator.get(path, params={"fields": "tag"}).status_code == 400


def test_what_a_connector_no_longer_sees_is_soft_deleted(administrator: httpx.Client, orders: Json) -> None:
    stale, also_stale = table(administrator, "more"), table(administrator, "most")
    body = {"scopeEntityType": "databaseSchema", "scopeFqn": _PUBLIC, "seenFqns": [orders["fullyQualifiedName"]]}
    report = administrator.request("DELETE", "/tables/deleteStale", json=body).json()
    assert problems("type/bulkOperationResult.json", report) == []
    assert (report["status"], report["numberOfRowsPassed"]) == ("success", 2)
    remaining = administrator.get("/tables", params={"databaseSchema": _PUBLIC}).json()["data"]
    assert [one["name"] for one in remaining] == [orders["name"]]
    for stale_table in (stale, also_stale):
        assert administrator.get(f"/tables/{stale_table['id']}", params={"include": "deleted"}).json()["deleted"]
    again = administrator.request(
        "DELETE", "/tables/deleteStale", json=body | {"scopeEntityType": "service", "scopeFqn": "warehouse"}
    )
    assert (again.status_code, again.json()["numberOfRowsProcessed"]) == (200, 0)


def test_what_would_be_deleted_is_listed_without_deleting_it(administrator: httpx.Client, orders: Json) -> None:
    stale = table(administrator, "more")
    body = {"scopeEntityType": "databaseSchema", "scopeFqn": _PUBLIC, "seenFqns": [orders["fullyQualifiedName"]]}
    report = administrator.request("DELETE", "/tables/deleteStale", json=body | {"dryRun": True}).json()
    assert problems("type/bulkOperationResult.json", report) == []
    assert (report["dryRun"], report["successRequest"]) == (
        True,
        [{"request": stale["fullyQualifiedName"], "status": 200, "message": "deleted"}],
    )
    assert administrator.get(f"/tables/{stale['id']}").status_code == 200


def test_a_connector_that_saw_nothing_deletes_nothing(administrator: httpx.Client, orders: Json) -> None:
    body = {"scopeEntityType": "databaseSchema", "scopeFqn": _PUBLIC, "seenFqns": []}
    report = administrator.request("DELETE", "/tables/deleteStale", json=body).json()
    assert (report["status"], report["numberOfRowsProcessed"]) == ("success", 0)
    assert administrator.get(f"/tables/{orders['id']}").status_code == 200


def test_a_list_that_may_be_cut_off_deletes_nothing(administrator: httpx.Client, orders: Json) -> None:
    del orders
    fqns = [table(administrator, f"part_{number}")["fullyQualifiedName"] for number in range(20)]
    body = {"scopeEntityType": "databaseSchema", "scopeFqn": _PUBLIC, "seenFqns": fqns[:9]}

    def delete_stale(**parameters: int) -> httpx.Response:
        return administrator.request("DELETE", "/tables/deleteStale", json=body, params=parameters)

    refusal = delete_stale()
    assert refusal.status_code == 400
    assert refusal.json()["message"] == (
        "seenFqns: 12 of 21 would be deleted, more than 20 %; if the list is complete, send maxDeletedPercent=100"
    )
    assert delete_stale(maxDeletedPercent=57).status_code == 400
    assert delete_stale(maxDeletedPercent=101).status_code == 400
    assert delete_stale(maxDeletedPercent=58).json()["numberOfRowsPassed"] == 12


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"scopeFqn": "warehouse.nowhere"}, 404),
        ({"scopeEntityType": "spoon"}, 404),
        ({"seenFqns": "all"}, 400),
        ({"seenFqns": None}, 400),
        ({"recursive": "yes"}, 400),
        ({"hardDelete": True}, 400),
    ],
)
def test_a_malformed_request_deletes_nothing(
    administrator: httpx.Client, orders: Json, changed: Json, status: int
) -> None:
    body = {"scopeEntityType": "databaseSchema", "scopeFqn": _PUBLIC, "seenFqns": []} | changed
    answer = administrator.request("DELETE", "/tables/deleteStale", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text
    assert administrator.get(f"/tables/{orders['id']}").status_code == 200


def test_deletions_and_restores_that_need_not_be_waited_for_are_done_all_the_same(
    administrator: httpx.Client, orders: Json
) -> None:
    path = f"/databaseSchemas/async/{orders['databaseSchema']['id']}"
    assert administrator.delete(path).status_code == 400, "it holds a table"
    answer = administrator.delete(path, params={"recursive": True, "hardDelete": False})
    assert (answer.status_code, set(answer.json())) == (202, {"jobId", "message"})
    assert administrator.get(f"/tables/{orders['id']}", params={"include": "deleted"}).json()["deleted"]
    assert administrator.delete(f"/tables/async/{uuid.UUID(int=0)}").status_code == 404
    schema = {"id": orders["databaseSchema"]["id"]}
    restored = administrator.put("/databaseSchemas/restore", params={"async": True}, json=schema)
    assert (restored.status_code, set(restored.json())) == (202, {"jobId", "message"})
    assert administrator.get(f"/tables/{orders['id']}").status_code == 200


@pytest.mark.parametrize("entity_type", ["table", "database", "databaseSchema", "mlmodel"])
def test_percentiles_are_computed_for_everything_that_has_usage(administrator: httpx.Client, entity_type: str) -> None:
    assert "usageSummary" in ENTITY_TYPES[entity_type].keys
    assert administrator.post(f"/usage/compute.percentile/{entity_type}/2026-01-31").status_code == 201
