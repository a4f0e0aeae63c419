"""Tests of malformed reports, profiles, samples, joins, usage, incidents and suites: never a 5xx."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.contract.test_garbage import check
from tests.serving import Json
from tests.soak import SOAK

_ORDERS = "warehouse.shop.public.orders"
_RESULT = f"/dataQuality/testCases/testCaseResults/{_ORDERS}.rows"
_ROUTES = {
    "PUT /tables/{table}/tableProfile": "tableProfile columnProfile systemProfile",
    "PUT /tables/{table}/sampleData": "columns rows",
    "PUT /tables/{table}/joins": "startDate columnJoins directTableJoins",
    "PUT /tables/{table}/dataModel": "modelType sql",
    "PUT /tables/{table}/tableProfilerConfig": "excludeColumns includeColumns profileSample",
    "PUT /tables/{table}/pipelineObservability/airflow.etl": "pipeline lastRunTime lastRunStatus averageRunTime",
    "PUT /tables/{table}/customMetric": "name expression columnName",
    "POST /usage/table/{table}": "date count",
    f"PUT /usage/table/name/{_ORDERS}": "date count",
    "PUT /pipelines/airflow.etl/status": "timestamp executionStatus taskStatus",
    "PUT /pipelines/airflow.etl/status/bulk": "pipelineStatus",
    f"POST {_RESULT}": "timestamp testCaseStatus result",
    f"PATCH {_RESULT}/1": "op path value",
    "POST /dataQuality/testCases/testCaseIncidentStatus": (
        "testCaseReference testCaseResolutionStatusType testCaseResolutionStatusDetails severity"
    ),
    "PUT /dataQuality/testCases/logicalTestCases": "testSuiteId testCaseIds",
    "PUT /dataQuality/testCases/{case}/failedRowsSample": "columns rows",
    "PUT /dataQuality/testCases/{case}/inspectionQuery": "name",
    "PUT /dataQuality/testSuites/basic": "name basicEntityReference",
}
"""What is sent, and the keys that belong into it."""

_GOOD: dict[str, Json] = {
    "tableProfile": {"timestamp": 1},
    "columnProfile": [{"name": "id", "timestamp": 1}],
    "systemProfile": [{"timestamp": 1, "operation": "INSERT"}],
    "columns": ["id"],
    "rows": [[1]],
    "startDate": datetime.now(UTC).date().isoformat(),
    "columnJoins": [{"columnName": "id", "joinedWith": []}],
    "modelType": "DBT",
    "name": "x",
    "expression": "count(*)",
    "date": "2026-01-01",
    "count": 1,
    "timestamp": 1,
    "executionStatus": "Failed",
    "taskStatus": [{"name": "load", "executionStatus": "Failed"}],
    "testCaseStatus": "Failed",
    "testCaseReference": f"{_ORDERS}.rows",
    "testCaseResolutionStatusType": "Assigned",
    "testCaseResolutionStatusDetails": {"assignee": {"type": "user", "name": "admin"}},
    "testCaseIds": [],
    "directTableJoins": [{"fullyQualifiedName": _ORDERS, "joinCount": 1}],
    "excludeColumns": ["id"],
    "includeColumns": [{"columnName": "id"}],
    "profileSample": 1.0,
    "columnName": "id",
    "sql": "SELECT 1",
    "pipelineStatus": [{"timestamp": 1, "executionStatus": "Failed"}],
    "result": "x",
    "severity": "Severity1",
    "op": "replace",
    "path": "/result",
    "value": "y",
    "basicEntityReference": _ORDERS,
}
_KEYS = st.sampled_from(sorted(_GOOD))
_BAD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(_KEYS, st.text(max_size=5)), inner)),
    max_leaves=8,
).filter(lambda value: "NaN" not in json.dumps(value) and "Infinity" not in json.dumps(value))


def test_no_body_breaks_what_is_kept_beside(administrator: httpx.Client, orders: Json) -> None:
    administrator.post("/services/pipelineServices", json={"name": "airflow", "serviceType": "Airflow"})
    administrator.post("/pipelines", json={"name": "etl", "service": "airflow"})
    request = {"name": "rows", "entityLink": f"<#E::table::{_ORDERS}>", "testDefinition": "tableRowCountToEqual"}
    case = administrator.post("/dataQuality/testCases", json=request).json()
    administrator.post(_RESULT, json={"timestamp": 1, "testCaseStatus": "Success"})

    @settings(
        max_examples=400 if SOAK else 60,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.sampled_from(sorted(_ROUTES)), st.data())
    def send(route: str, drawn: st.DataObject) -> None:
        keys = _ROUTES[route].split()
        body: Json = {key: _GOOD[key] for key in keys if key in _GOOD}
        body |= drawn.draw(st.dictionaries(st.sampled_from(keys), _BAD, max_size=2))
        if drawn.draw(st.integers(0, 9)) == 0:
            body = drawn.draw(_BAD)
        elif route.startswith("PATCH"):
            body = [body]
        method, path = route.format(table=orders["id"], case=case["id"]).split(" ")
        check(administrator.request(method, path, content=json.dumps(body)))

    send()
