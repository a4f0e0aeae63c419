"""Tests of incidents of test cases as tasks of OpenMetadata 2."""

from __future__ import annotations

import httpx
import pytest
from tests.contract.test_access import restrict
from tests.contract.test_alert_incidents import case, latest_step, report_result
from tests.contract.test_explain import Person, person
from tests.serving import Json

__all__ = ["case", "person"]  # fixtures


def transitions_of(task: Json) -> list[str]:
    return [one["id"] for one in task["availableTransitions"]]


def take(client: httpx.Client, state_id: str, **request: object) -> httpx.Response:
    return client.post(f"/tasks/{state_id}/resolve", json=request)


def test_a_task_is_the_incident_from_its_opening_to_its_resolution(
    administrator: httpx.Client, case: Json, person: Person
) -> None:
    ann_id, _ = person("ann")
    state_id = latest_step(administrator)["stateId"]
    (task,) = administrator.get("/tasks").json()["data"]
    assert task == administrator.get(f"/tasks/{state_id}").json()
    assert (task["id"], task["status"], task["workflowStageId"]) == (state_id, "Open", "new")
    assert (task["about"]["id"], task["assignees"], task["createdBy"]["name"]) == (case["id"], [], "admin")
    assert transitions_of(task) == ["ack", "assign", "resolve"]

    task = take(administrator, state_id, transitionId="ack").json()
    assert (task["status"], transitions_of(task)) == ("InProgress", ["assign", "resolve"])
    assert administrator.get("/incidents/INC-1").json()["status"] == "acknowledged"
    assignee = {"assignees": [{"id": ann_id, "type": "user"}]}
    task = take(administrator, state_id, transitionId="assign", payload=assignee).json()
    assert ([one["name"] for one in task["assignees"]], transitions_of(task)) == (["ann"], ["reassign", "resolve"])
    assert administrator.get("/incidents/INC-1").json()["assignee"]["name"] == "ann"

    reason = {"testCaseFailureReason": "MissingData"}
    task = take(administrator, state_id, transitionId="resolve", comment="the feed was late", payload=reason).json()
    assert (task["status"], task["workflowStageId"], transitions_of(task)) == ("Completed", "resolved", [])
    assert task["resolution"]["comment"] == "the feed was late"
    assert (task["payload"]["failureReason"], task["resolution"]["resolvedBy"]["name"]) == ("MissingData", "admin")
    assert [one["name"] for one in task["assignees"]] == ["ann"]
    assert administrator.get("/incidents/INC-1").json()["status"] == "resolved"
    again = take(administrator, state_id, transitionId="resolve", comment="again")
    assert (again.status_code, "the incident is resolved" in again.json()["message"]) == (409, True)


def test_a_task_of_an_incident_before_the_last_one_is_over(administrator: httpx.Client, case: Json) -> None:
    state_id = latest_step(administrator)["stateId"]
    assert take(administrator, state_id, resolutionType="Completed", comment="known").is_success
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["now"] + 3)
    (task,) = administrator.get("/tasks").json()["data"]
    assert task["id"] != state_id
    assert take(administrator, state_id, transitionId="ack").status_code == 409
    assert latest_step(administrator)["testCaseResolutionStatusType"] == "New"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"status": "Open"}, 1),
        ({"status": "InProgress"}, 0),
        ({"statusGroup": "open"}, 1),
        ({"statusGroup": "closed"}, 0),
        ({"status": "Completed", "statusGroup": "open"}, 0),
        ({"category": "Incident", "type": "TestCaseResolution"}, 1),
        ({"category": "Approval"}, 0),
        ({"assignee": "admin"}, 0),
        ({"assignee": "nobody"}, 0),
        ({"aboutEntity": "nothing"}, 0),
    ],
)
def test_tasks_are_filtered(administrator: httpx.Client, case: Json, query: Json, count: int) -> None:
    page = administrator.get("/tasks", params=query).json()
    assert (len(page["data"]), page["paging"]["total"]) == (count, count)


@pytest.mark.parametrize(
    ("request_body", "field"),
    [
        ({}, "transitionId"),
        ({"transitionId": "approve"}, "transitionId"),
        ({"transitionId": ["ack"]}, "transitionId"),
        ({"transitionId": {"id": "ack"}}, "transitionId"),
        ({"transitionId": "assign"}, "payload"),
        ({"transitionId": "resolve"}, "comment"),
        ({"transitionId": "resolve", "comment": "x", "payload": {"testCaseFailureReason": "Bored"}}, "testCaseFailure"),
    ],
)
def test_a_transition_needs_what_it_says(
    administrator: httpx.Client, case: Json, request_body: Json, field: str
) -> None:
    answer = administrator.post(f"/tasks/{latest_step(administrator)['stateId']}/resolve", json=request_body)
    assert (answer.status_code, field in answer.json()["message"]) == (400, True)


def test_a_task_of_a_hidden_test_does_not_exist(administrator: httpx.Client, case: Json, person: Person) -> None:
    user_id, mallory = person("mallory")
    state_id = latest_step(administrator)["stateId"]
    assert take(mallory, state_id, transitionId="ack").status_code == 403
    restrict(administrator, user_id, {"effect": "deny", "resources": ["testCase"]})
    assert mallory.get("/tasks").json().get("data", []) == []
    for answer in (mallory.get(f"/tasks/{state_id}"), take(mallory, state_id, transitionId="ack")):
        assert answer.status_code in (403, 404)
        assert case["name"] not in answer.text
