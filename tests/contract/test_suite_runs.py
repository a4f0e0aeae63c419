"""Tests of completed runs of test suites by HTTP: events, the trigger for them, explanations, and who hears of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.notifying import notify_all
from tests.serving import Json, Served, table

RUN = "testSuiteRunCompleted"
FAILED = "testStatus == 'Failed'"
ACTION = "GetTestSuiteStatusUpdates"
SCHEMA = "warehouse.shop.public"
CASES = "/dataQuality/testCases"
TO_BOB = [{"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["bob"]}}]


def add_test(client: httpx.Client, of_table: str, name: str) -> Json:
    link = f"<#E::table::{SCHEMA}.{of_table}>"
    return create_entity(client, CASES, name=name, entityLink=link, testDefinition="tableRowCountToEqual")


def report(client: httpx.Client, fqn: str, status: str, at_ms: int | None = None) -> None:
    result = {"timestamp": at_ms or int(time.time() * 1000), "testCaseStatus": status}
    answer = client.post(f"{CASES}/testCaseResults/{fqn}", json=result)
    assert answer.status_code == 200, answer.text


def action_on(*statuses: str) -> Json:
    return {"name": ACTION, "arguments": [{"name": "testResultList", "input": list(statuses)}]}


def add_alert(client: httpx.Client, name: str, **fields: Json) -> Json:
    return create_entity(
        client, "/events/subscriptions", name=name, alertType="Observability", destinations=TO_BOB, **fields
    )


Person = tuple[str, httpx.Client]


@pytest.fixture
def bob(served: Served) -> Iterator[Person]:
    user_id, client = served.person("bob")
    with client:
        yield user_id, client


def inbox(person: Person) -> list[Json]:
    user_id, client = person
    entries: list[Json] = client.get(f"/users/{user_id}/notifications?limit=100").json()["data"]
    return entries


def alert_names(person: Person, title: str) -> list[str]:
    """Return the alerts of each of somebody's notifications that says this."""
    entries = [one for one in inbox(person) if title in one["title"]]
    return [reason["subscriptionName"] for one in entries for reason in one["reasons"]]


@pytest.fixture
def fqns(administrator: httpx.Client, orders: Json) -> list[str]:
    """The FQNs of two tests of ``orders``."""
    del orders
    return [add_test(administrator, "orders", name)["fullyQualifiedName"] for name in ("enough", "not_too_many")]


def test_a_run_is_one_event_of_the_suite_in_every_format(administrator: httpx.Client, fqns: list[str]) -> None:
    report(administrator, fqns[0], "Failed")
    assert administrator.get(f"/events?eventType={RUN}").json()["data"] == []
    report(administrator, fqns[1], "Success")
    (event,) = administrator.get(f"/events?eventType={RUN}&format=tocsin").json()["data"]
    assert (event["entityType"], event["entityFullyQualifiedName"]) == ("testSuite", f"{SCHEMA}.orders.testSuite")
    (change,) = event["changeDescription"]["fieldsAdded"]
    summary = change["newValue"]
    assert (summary["status"], summary["failed"], summary["total"]) == ("Failed", 1, 2)
    (of_upstream,) = administrator.get(f"/events?eventType={RUN}&format=openmetadata").json()["data"]
    assert of_upstream["eventType"] == "entityUpdated"
    (text,) = (one["newValue"] for one in of_upstream["changeDescription"]["fieldsAdded"])
    assert json.loads(text)["testCaseResultSummary"][0]["testCaseName"] == fqns[0]
    (of_seed,) = administrator.get(f"/events?eventType={RUN}&format=seed").json()["data"]
    assert (of_seed["eventType"], of_seed["entityType"]) == ("entityUpdated", "testSuite")


def test_the_trigger_is_offered_and_notifies_once_of_each_run(
    administrator: httpx.Client, fqns: list[str], bob: Person, sqlite_engine: Engine
) -> None:
    offered_resources = administrator.get("/events/subscriptions/Observability/resources").json()["data"]
    (of_suites,) = [one for one in offered_resources if one["name"] == "testSuite"]
    (action,) = [one for one in of_suites["supportedActions"] if one["name"] == ACTION]
    assert (action["condition"], action["arguments"]) == ("matchTestResult(${testResultList})", ["testResultList"])
    function_text = administrator.get("/events/subscriptions/functions").text
    assert ACTION in function_text
    by_input = {"resources": ["testSuite"], "input": {"actions": [action_on("Failed")]}}
    by_hand = {"name": ACTION, "effect": "include", "condition": "matchTestResult({'Failed'})"}
    without_name = {"name": "failed", "effect": "include", "condition": "matchTestResult({'Failed'})"}
    add_alert(administrator, "ByInput", **by_input)
    add_alert(administrator, "ByHand", filteringRules={"resources": ["testSuite"], "actions": [by_hand]})
    add_alert(administrator, "Successes", resources=["testSuite"], input={"actions": [action_on("Success")]})
    add_alert(administrator, "Unnamed", filteringRules={"resources": ["testSuite"], "actions": [without_name]})
    notify_all(sqlite_engine)
    for status in ("Failed", "Success"):
        report(administrator, fqns[0], status)
        report(administrator, fqns[1], "Success")
    notify_all(sqlite_engine)
    assert sorted(alert_names(bob, "test run failed")) == ["ByHand", "ByInput"]
    assert alert_names(bob, "test run passes again") == ["Successes"]


def test_the_message_names_the_tests_that_failed(
    administrator: httpx.Client, fqns: list[str], bob: Person, sqlite_engine: Engine
) -> None:
    add_alert(administrator, "Runs", resources=["testSuite"], input={"actions": [action_on("Failed")]})
    notify_all(sqlite_engine)
    report(administrator, fqns[0], "Failed")
    report(administrator, fqns[1], "Success")
    notify_all(sqlite_engine)
    (entry,) = [one for one in inbox(bob) if "test run failed" in one["title"]]
    assert "test run failed: 1 failed, 1 passed (1 new failure)" in entry["title"]
    assert "new failures: enough of orders" in entry["changes"]


def test_alerts_without_the_name_hear_nothing_and_explanations_say_why(
    administrator: httpx.Client, fqns: list[str], bob: Person, sqlite_engine: Engine
) -> None:
    rules = {
        "resources": ["all"],
        "rules": [{"name": "failed", "effect": "include", "condition": FAILED}],
    }
    alert = {"alertType": "Notification", "destinations": TO_BOB, "filteringRules": rules}
    create_entity(administrator, "/events/subscriptions", name="Everything", **alert)
    notify_all(sqlite_engine)
    for fqn in fqns:
        report(administrator, fqn, "Failed")
    notify_all(sqlite_engine)
    assert alert_names(bob, "test run failed") == []
    (event,) = administrator.get(f"/events?eventType={RUN}").json()["data"]
    explanation = administrator.get(f"/events/{event['id']}/explain", params={"subscription": "Everything"}).text
    assert f"does not name {RUN}" in explanation


def test_capabilities_have_the_trigger_and_its_type_of_event(administrator: httpx.Client) -> None:
    request = {"alertType": "Observability", "sources": ["testSuite"], "input": {"actions": [action_on("Failed")]}}
    answer = administrator.post("/events/subscriptions/capabilities", json=request)
    assert answer.status_code == 200, answer.text
    capabilities = answer.json()
    assert ACTION in [one["condition"]["name"] for one in capabilities["triggers"]]
    assert RUN in capabilities["eventTypes"]
    (suites,) = [one for one in capabilities["sources"] if one["name"] == "testSuite"]
    assert "warning" not in suites


@pytest.mark.usefixtures("bob")
def test_a_rule_on_results_of_suites_without_the_name_is_remarked_upon(administrator: httpx.Client) -> None:
    rule = {"name": "failed", "effect": "include", "condition": "matchTestResult({'Failed'})"}
    request = {"name": "Suites", "alertType": "Observability", "destinations": TO_BOB}
    answer = administrator.post(
        "/events/subscriptions", json=request | {"filteringRules": {"resources": ["testSuite"], "rules": [rule]}}
    )
    (remark,) = json.loads(answer.headers["x-tocsin-remarks"])
    assert (remark["kind"], RUN in remark["message"]) == ("outsideResources", True)
    naming_rule = rule | {"condition": f"eventType == '{RUN}' && matchTestResult({{'Failed'}})"}
    answer = administrator.put(
        "/events/subscriptions", json=request | {"filteringRules": {"resources": ["testSuite"], "rules": [naming_rule]}}
    )
    assert json.loads(answer.headers.get("x-tocsin-remarks", "[]")) == []


@pytest.fixture
def alice(served: Served, administrator: httpx.Client, orders: Json) -> Iterator[Person]:
    """Somebody who may see nothing tagged ``PII.Sensitive``, such as the table ``people``."""
    del orders
    table(administrator, "people", tags=[{"tagFQN": "PII.Sensitive"}])
    user_id, client = served.person("alice")
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with client:
        yield user_id, client


def test_a_run_with_a_hidden_test_is_hidden(
    administrator: httpx.Client, fqns: list[str], alice: Person, sqlite_engine: Engine
) -> None:
    hidden_case = add_test(administrator, "people", "secret")
    ids = [administrator.get(f"{CASES}/name/{fqn}").json()["id"] for fqn in fqns]
    for name, case_ids in (("Open", ids), ("Mixed", [*ids, hidden_case["id"]])):
        suite = create_entity(administrator, "/dataQuality/testSuites", name=name)
        body = {"testSuiteId": suite["id"], "testCaseIds": case_ids}
        assert administrator.put("/dataQuality/testCases/logicalTestCases", json=body).is_success
    to_alice = [{"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["alice"]}}]
    request = {"resources": ["testSuite"], "input": {"actions": [action_on("Failed")]}, "destinations": to_alice}
    create_entity(administrator, "/events/subscriptions", name="Runs", alertType="Observability", **request)
    notify_all(sqlite_engine)
    for fqn in (*fqns, hidden_case["fullyQualifiedName"]):
        report(administrator, fqn, "Failed")
    notify_all(sqlite_engine)
    suites = [one["entityFullyQualifiedName"] for one in administrator.get(f"/events?eventType={RUN}").json()["data"]]
    assert sorted(suites) == sorted(["Open", "Mixed", f"{SCHEMA}.orders.testSuite", f"{SCHEMA}.people.testSuite"])
    seen_names = [one["entityFullyQualifiedName"] for one in alice[1].get(f"/events?eventType={RUN}").json()["data"]]
    assert sorted(seen_names) == sorted(["Open", f"{SCHEMA}.orders.testSuite"])
    titles = [one["title"] for one in inbox(alice) if "test run" in one["title"]]
    assert len(titles) == 2 and not any("Mixed" in title or "people" in title for title in titles)
