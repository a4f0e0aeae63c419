"""Tests of test results, incidents, suites and runs, checked against upstream's schemas."""

from __future__ import annotations

import json

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.standards import problems
from tests.serving import Json, Served, running_server, server_settings, warehouse
from tests.startedstore import StartedStore

from tocsin.clock import SystemClock

_ORDERS = "warehouse.shop.public.orders"
_CASE = f"{_ORDERS}.email.no_nulls"
_RESULTS = f"/dataQuality/testCases/testCaseResults/{_CASE}"
_INCIDENTS = "/dataQuality/testCases/testCaseIncidentStatus"


@pytest.fixture
def case(administrator: httpx.Client, orders: Json) -> Json:
    del orders
    request = {
        "name": "no_nulls",
        "entityLink": f"<#E::table::{_ORDERS}::columns::email>",
        "testDefinition": "columnValuesToBeNotNull",
    }
    answer = administrator.post("/dataQuality/testCases", json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.fixture
def pipeline(administrator: httpx.Client) -> Json:
    administrator.post("/services/pipelineServices", json={"name": "airflow", "serviceType": "Airflow"})
    return administrator.post("/pipelines", json={"name": "etl", "service": "airflow"}).json()


def _fail(client: httpx.Client, at_ms: int) -> Json:
    answer = client.post(_RESULTS, json={"timestamp": at_ms, "testCaseStatus": "Failed", "testResultValue": []})
    assert answer.status_code == 200, answer.text
    return answer.json()


def _refusal_of_request(client: httpx.Client, link: str, definition: str) -> str:
    request = {"name": "wrong", "entityLink": f"<#E::table::{link}>", "testDefinition": definition}
    answers = [client.request(way, "/dataQuality/testCases", json=request) for way in ("POST", "PUT")]
    assert [answer.status_code for answer in answers] == [400, 400]
    return str(answers[0].json()["message"])


def test_a_test_of_a_column_that_there_is_not_names_the_nearest(administrator: httpx.Client, orders: Json) -> None:
    del orders
    message = _refusal_of_request(administrator, f"{_ORDERS}::columns::emial", "columnValuesToBeNotNull")
    assert message.endswith("has no column emial; did you mean email?")


def test_a_definition_tests_what_it_is_for(administrator: httpx.Client, orders: Json) -> None:
    del orders
    message = _refusal_of_request(administrator, _ORDERS, "columnValuesToBeNotNull")
    assert "columnValuesToBeNotNull tests a column" in message
    message = _refusal_of_request(administrator, f"{_ORDERS}::columns::email", "tableRowCountToEqual")
    assert "tableRowCountToEqual tests a table" in message


@pytest.mark.parametrize("column", ["id", "emial"])
def test_what_a_test_case_is_of_stays(administrator: httpx.Client, case: Json, column: str) -> None:
    message = _refusal_of_patch(administrator, case, "/entityLink", f"<#E::table::{_ORDERS}::columns::{column}>")
    assert message == "entityLink of a testCase cannot be changed"


def test_another_definition_must_be_for_the_same(administrator: httpx.Client, case: Json) -> None:
    of_tables = administrator.get("/dataQuality/testDefinitions/name/tableRowCountToEqual").json()
    reference = {"type": "testDefinition", "id": of_tables["id"]}
    assert "tableRowCountToEqual tests a table" in _refusal_of_patch(administrator, case, "/testDefinition", reference)
    assert "testDefinition" in _refusal_of_patch(administrator, case, "/testDefinition", None)


def _refusal_of_patch(client: httpx.Client, case: Json, path: str, value: Json) -> str:
    content = json.dumps([{"op": "replace", "path": path, "value": value}])
    headers = {"Content-Type": "application/json-patch+json"}
    answer = client.patch(f"/dataQuality/testCases/{case['id']}", content=content, headers=headers)
    assert answer.status_code == 400
    return str(answer.json()["message"])


def test_an_incident_goes_from_new_to_resolved(served: Served, administrator: httpx.Client, case: Json) -> None:
    alice_id, alice = served.person("alice")
    alice.close()
    failed_case = _fail(administrator, 1)
    assert problems("tests/testCase.json", failed_case) == []
    steps: list[Json] = [
        {"testCaseResolutionStatusType": "Ack", "severity": "Severity2"},
        {
            "testCaseResolutionStatusType": "Assigned",
            "testCaseResolutionStatusDetails": {"assignee": {"id": alice_id, "type": "user"}},
        },
        {
            "testCaseResolutionStatusType": "Resolved",
            "testCaseResolutionStatusDetails": {
                "testCaseFailureReason": "Other",
                "testCaseFailureComment": "Fixed upstream.",
            },
        },
    ]
    for step in steps:
        answer = administrator.post(_INCIDENTS, json={"testCaseReference": _CASE} | step)
        assert answer.status_code == 200, answer.text
        assert problems("tests/testCaseResolutionStatus.json", answer.json()) == []
        assert answer.json()["severity"] == "Severity2"
    read = administrator.get(f"{_INCIDENTS}/{answer.json()['id']}").json()
    assert read == answer.json()
    incident_states = administrator.get(f"{_INCIDENTS}/stateId/{failed_case['incidentId']}").json()["data"]
    assert [one["testCaseResolutionStatusType"] for one in incident_states] == ["Resolved", "Assigned", "Ack", "New"]
    assert [
        problem for state in incident_states for problem in problems("tests/testCaseResolutionStatus.json", state)
    ] == []
    expected_by_query: tuple[tuple[Json, list[str]], ...] = (
        ({"latest": "true"}, ["Resolved"]),
        ({"assignee": "alice"}, ["Assigned"]),
        ({"testCaseFQN": _CASE, "limit": 2}, ["Resolved", "Assigned"]),
        ({"originEntityFQN": _ORDERS, "testCaseResolutionStatusType": "New"}, ["New"]),
        ({"originEntityFQN": "nowhere"}, []),
        ({"startTs": 1, "endTs": 2}, []),
    )
    for query, expected_states in expected_by_query:
        page = administrator.get(_INCIDENTS, params=query).json()
        assert [one["testCaseResolutionStatusType"] for one in page["data"]] == expected_states, query
    patch = [{"op": "replace", "path": "/severity", "value": "Severity1"}]
    correction = administrator.patch(f"{_INCIDENTS}/{read['id']}", content=json.dumps(patch))
    assert correction.json()["severity"] == "Severity1"
    assert "incidentId" not in administrator.get(f"/dataQuality/testCases/{case['id']}").json()
    assert _fail(administrator, 2)["incidentId"] != failed_case["incidentId"]


def test_results_are_read_corrected_and_taken_back(administrator: httpx.Client, case: Json) -> None:
    del case
    for at_ms, status in ((1, "Success"), (2, "Aborted"), (3, "Success")):
        administrator.post(_RESULTS, json={"timestamp": at_ms, "testCaseStatus": status})
    assert [one["timestamp"] for one in administrator.get(_RESULTS).json()["data"]] == [3, 2, 1]
    aborted_results = administrator.get(_RESULTS, params={"testCaseStatus": "Aborted"}).json()["data"]
    assert [one["timestamp"] for one in aborted_results] == [2]
    patch = [{"op": "replace", "path": "/testCaseStatus", "value": "Failed"}]
    correction = administrator.patch(f"{_RESULTS}/3", content=json.dumps(patch))
    assert (correction.status_code, correction.json()["testCaseStatus"]) == (200, "Failed")
    assert administrator.get(f"{_RESULTS}/latest").json()["testCaseStatus"] == "Failed"
    remaining = administrator.delete(f"{_RESULTS}/3").json()
    assert (remaining["testCaseResult"]["timestamp"], remaining["testCaseStatus"]) == (2, "Aborted")
    for answer in (administrator.delete(f"{_RESULTS}/3"), administrator.patch(f"{_RESULTS}/3", content="[]")):
        assert answer.status_code == 404


def test_a_logical_suite_holds_what_is_put_into_it(administrator: httpx.Client, case: Json) -> None:
    suite = administrator.post("/dataQuality/testSuites", json={"name": "nightly"}).json()
    body = {"testSuiteId": suite["id"], "testCaseIds": [case["id"]]}
    answer = administrator.put("/dataQuality/testCases/logicalTestCases", json=body)
    assert answer.status_code == 200, answer.text
    assert problems("tests/testSuite.json", answer.json()) == []
    _fail(administrator, 1)
    read = administrator.get("/dataQuality/testSuites/name/nightly", params={"fields": "tests,summary"}).json()
    assert problems("tests/testSuite.json", read) == []
    assert [one["id"] for one in read["tests"]] == [case["id"]]
    assert (read["summary"]["failed"], read["summary"]["total"]) == (1, 1)
    listed_suites = administrator.get("/dataQuality/testSuites", params={"fields": "summary"}).json()["data"]
    assert [one["summary"]["failed"] for one in listed_suites] == [1, 1]
    shown_case = administrator.get(f"/dataQuality/testCases/{case['id']}", params={"fields": "testSuites"}).json()
    assert problems("tests/testCase.json", shown_case) == []
    assert [one["name"] for one in shown_case["testSuites"]] == [f"{_ORDERS}.testSuite", "nightly"]
    path = f"/dataQuality/testCases/logicalTestCases/{suite['id']}/{case['id']}"
    assert [administrator.delete(path).status_code for _ in range(2)] == [200, 404]


def test_a_table_has_one_suite_of_its_own(administrator: httpx.Client, orders: Json) -> None:
    request = {"name": f"{_ORDERS}.TestSuite", "executableEntityReference": _ORDERS}
    response = administrator.put("/dataQuality/testSuites/executable", json=request)
    assert response.status_code == 201, response.text
    assert problems("tests/testSuite.json", response.json()) == []
    again = administrator.put("/dataQuality/testSuites/basic", json={"name": "x", "basicEntityReference": _ORDERS})
    assert (again.status_code, again.json()["id"]) == (200, response.json()["id"])
    assert administrator.post("/dataQuality/testSuites/executable", json=request).status_code == 409
    assert administrator.put("/dataQuality/testSuites/executable", json={"name": "x"}).status_code == 400
    read = administrator.get(f"/tables/{orders['id']}", params={"fields": "testSuite"}).json()
    assert problems("entity/data/table.json", read) == []
    assert read["testSuite"]["id"] == response.json()["id"]
    path = f"/dataQuality/testSuites/executable/{response.json()['id']}"
    assert administrator.delete(path, params={"hardDelete": "true", "recursive": "true"}).status_code == 200


def test_a_run_of_a_pipeline_may_succeed_in_part(administrator: httpx.Client, pipeline: Json) -> None:
    run = {"timestamp": 1, "executionStatus": "PartialSuccess"}
    answer = administrator.put("/pipelines/airflow.etl/status", json=run)
    assert (answer.status_code, answer.json()["pipelineStatus"]["executionStatus"]) == (200, "PartialSuccess")
    alert = {
        "name": "runs",
        "alertType": "Notification",
        "trigger": {"triggerType": "RealTime"},
        "filteringRules": {
            "resources": ["pipeline"],
            "rules": [{"name": "failed", "effect": "include", "condition": "pipelineStatus == 'PartialSuccess'"}],
        },
        "destinations": [{"category": "Owners", "type": "Email", "config": {}}],
    }
    response = administrator.post("/events/subscriptions", json=alert)
    assert response.status_code == 201, response.text


def test_runs_come_one_by_one_or_together(administrator: httpx.Client, pipeline: Json) -> None:
    runs = [{"timestamp": at_ms, "executionStatus": "Successful"} for at_ms in (2, 1)]
    for body in (runs, {"pipelineStatus": runs}):
        answer = administrator.put("/pipelines/airflow.etl/status/bulk", json=body)
        assert answer.status_code == 200, answer.text
        assert problems("entity/data/pipeline.json", answer.json()) == []
        assert answer.json()["pipelineStatus"]["timestamp"] == 2
    events = administrator.get("/events", params={"entityId": pipeline["id"], "format": "tocsin"}).json()["data"]
    assert len(events) == 3
    page = administrator.get("/pipelines/airflow.etl/status", params={"startTs": 1, "endTs": 9, "limit": 1}).json()
    assert ([one["timestamp"] for one in page["data"]], page["paging"]["total"]) == ([2], 2)
    assert administrator.delete("/pipelines/airflow.etl/status/2").json()["pipelineStatus"]["timestamp"] == 1
    assert administrator.delete("/pipelines/airflow.etl/status/2").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/pipelines/airflow.etl/status", {"timestamp": 1, "executionStatus": "Lost"}, 400),
        ("PUT", "/pipelines/airflow.etl/status", {"timestamp": -1, "executionStatus": "Failed"}, 400),
        ("PUT", "/pipelines/airflow.etl/status/bulk", [{"timestamp": 1}], 400),
        ("PUT", "/pipelines/airflow.etl/status/bulk", {"spoon": 1}, 400),
        ("PUT", "/pipelines/airflow.etl/status/bulk", [1], 400),
        ("PUT", "/pipelines/airflow.none/status/bulk", [], 404),
        ("PUT", "/services/ingestionPipelines/a.b/pipelineStatus", {"runId": "1", "pipelineState": "success"}, 404),
        ("POST", "/dataQuality/testCases/testCaseResults/none", {"timestamp": 1, "testCaseStatus": "Failed"}, 404),
        ("POST", _INCIDENTS, {"testCaseReference": 5}, 400),
        ("POST", _INCIDENTS, {"testCaseReference": "none", "testCaseResolutionStatusType": "Ack"}, 404),
        ("GET", f"{_INCIDENTS}?testCaseResolutionStatusType=Lost", None, 400),
        ("GET", f"{_INCIDENTS}?after=%%%", None, 400),
        ("GET", f"{_INCIDENTS}/00000000-0000-4000-8000-000000000000", None, 404),
        ("GET", f"{_INCIDENTS}/stateId/00000000-0000-4000-8000-000000000000", None, 404),
        ("GET", f"{_INCIDENTS}/spoon", None, 400),
        ("PUT", "/dataQuality/testCases/logicalTestCases", {"testSuiteId": 1}, 400),
        ("PUT", "/dataQuality/testCases/logicalTestCases", {"testSuiteId": "x", "testCaseIds": []}, 404),
    ],
)
def test_what_is_malformed_is_refused(
    administrator: httpx.Client, pipeline: Json, method: str, path: str, body: Json, status: int
) -> None:
    del pipeline
    answer = administrator.request(method, path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text


def _report(client: httpx.Client, at_ms: int, status: str) -> None:
    answer = client.post(_RESULTS, json={"timestamp": at_ms, "testCaseStatus": status})
    assert answer.status_code == 200, answer.text


def _last_state(client: httpx.Client) -> Json:
    return client.get(_INCIDENTS, params={"testCaseFQN": _CASE, "latest": True}).json()["data"][0]


@pytest.mark.parametrize("closes", [True, False])
def test_a_success_resolves_the_incident_of_a_test_that_asks_for_it(
    administrator: httpx.Client, case: Json, closes: bool
) -> None:
    path = f"/dataQuality/testCases/{case['id']}"
    if closes:
        headers = {"Content-Type": "application/json-patch+json"}
        close_incident = [{"op": "add", "path": "/autoCloseIncident", "value": True}]
        assert (
            administrator.patch(path, content=json.dumps(close_incident), headers=headers).json()["autoCloseIncident"]
            is True
        )
    _fail(administrator, 2_000)
    incident_id = administrator.get(path).json()["incidentId"]
    _report(administrator, 1_000, "Success")
    assert administrator.get(path).json()["incidentId"] == incident_id, "an older success says nothing of the present"
    _report(administrator, 3_000, "Success")
    shown_case, state = administrator.get(path).json(), _last_state(administrator)
    assert shown_case["testCaseStatus"] == "Success"
    assert ("incidentId" in shown_case, state["testCaseResolutionStatusType"]) == (
        not closes,
        "Resolved" if closes else "New",
    )
    if closes:
        details = state["testCaseResolutionStatusDetails"]
        assert (state["stateId"], details["testCaseFailureComment"]) == (incident_id, "AutoResolved")
        events = administrator.get("/events", params={"entityId": case["id"], "format": "tocsin"}).json()["data"]
        changed_names = [one["name"] for one in events[-1]["changeDescription"]["fieldsUpdated"]]
        assert changed_names == ["testCaseResult", "incidentStatus"], "one event"
        _fail(administrator, 4_000)
        assert administrator.get(path).json()["incidentId"] != incident_id


@pytest.mark.parametrize(("ahead_ms", "is_ahead"), [(0, False), (600_000, True)])
def test_who_reports_a_time_that_is_still_to_come_is_told_so(
    administrator: httpx.Client, case: Json, pipeline: Json, ahead_ms: int, is_ahead: bool
) -> None:
    del case
    at_ms = SystemClock().now_ms() + ahead_ms
    result = {"timestamp": at_ms, "testCaseStatus": "Failed"}
    run = {"timestamp": at_ms, "executionStatus": "Failed"}
    runs = f"/pipelines/{pipeline['fullyQualifiedName']}/status"
    answers = [
        administrator.post(_RESULTS, json=result),
        administrator.put(runs, json=run),
        administrator.put(f"{runs}/bulk", json=[run, run | {"timestamp": at_ms - ahead_ms}]),
    ]
    for answer in answers:
        assert answer.status_code == 200, answer.text
        remarks = json.loads(answer.headers.get("X-Tocsin-Remarks", "[]"))
        assert [(one["kind"], one["field"]) for one in remarks] == [("datedAhead", "timestamp")] * is_ahead
    assert ("incidentId" in answers[0].json()) is not is_ahead


def test_a_test_is_created_with_the_wish_that_its_incidents_end(administrator: httpx.Client, orders: Json) -> None:
    del orders
    link = f"<#E::table::{_ORDERS}::columns::email>"
    request = {"name": "closing", "entityLink": link, "testDefinition": "columnValuesToBeNotNull"}
    response = administrator.post("/dataQuality/testCases", json=request | {"autoCloseIncident": True})
    assert (response.status_code, response.json()["autoCloseIncident"]) == (201, True)
    wrong = administrator.post("/dataQuality/testCases", json=request | {"name": "b", "autoCloseIncident": "yes"})
    assert wrong.status_code == 400


def test_tests_are_listed_by_several_results(administrator: httpx.Client, case: Json) -> None:
    del case
    _fail(administrator, 1_000)

    def list_cases(query: str) -> httpx.Response:
        return administrator.get(f"/dataQuality/testCases?{query}")

    for query in ("testCaseStatus=Failed&testCaseStatus=Aborted", "testCaseStatus=Aborted&testCaseStatus=Failed"):
        assert [one["name"] for one in list_cases(query).json()["data"]] == ["no_nulls"]
    assert list_cases("testCaseStatus=Success&testCaseStatus=Aborted").json()["data"] == []
    refusal = list_cases("testCaseStatus=Failed&testCaseStatus=Broken")
    assert (refusal.status_code, refusal.json()["message"]) == (
        400,
        "testCaseStatus: must be one of Success, Failed, Aborted, Queued, not 'Broken'",
    )


@pytest.mark.parametrize("api_version", ["1.13.0", "2.0.0"])
def test_the_state_of_the_last_incident_is_a_field_of_the_test_since_2_0(
    sqlite_engine: Engine, started_store: StartedStore, api_version: str
) -> None:
    settings = server_settings(api_version=api_version)
    with (
        running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as server,
        server.administrator() as administrator,
    ):
        warehouse(administrator)
        request = {"name": "no_nulls", "entityLink": f"<#E::table::{_ORDERS}::columns::email>"}
        created_case = administrator.post(
            "/dataQuality/testCases", json=request | {"testDefinition": "columnValuesToBeNotNull"}
        ).json()
        path = f"/dataQuality/testCases/{created_case['id']}"
        assert "incidentStatus" not in administrator.get(path, params={"fields": "incidentStatus"}).json()
        _fail(administrator, 1_000)
        shown_case = administrator.get(path, params={"fields": "incidentStatus"}).json()
        (listed_case,) = administrator.get("/dataQuality/testCases", params={"fields": "incidentStatus"}).json()["data"]
        assert "incidentStatus" not in administrator.get(path, params={"fields": "*"}).json()
    if api_version == "1.13.0":
        assert "incidentStatus" not in shown_case.keys() | listed_case.keys()
        return
    assert shown_case["incidentStatus"] == listed_case["incidentStatus"]
    assert problems("tests/testCaseResolutionStatus.json", shown_case["incidentStatus"]) == []
    assert shown_case["incidentStatus"]["testCaseResolutionStatusType"] == "New"
    assert shown_case["incidentStatus"]["stateId"] == shown_case["incidentId"]
