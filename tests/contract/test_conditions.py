"""Tests of condition validation and of the offered filters (upstream's descriptors) by HTTP."""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import Engine, text
from tests.contract import standards
from tests.serving import Json

BELL = [{"category": "Admins", "type": "ActivityFeed"}]


def validate_condition(client: httpx.Client, condition: object) -> Json:
    answer = client.post("/conditions/validate", json={"condition": condition})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_invalid_condition_is_reported_with_position_and_nearest_name(administrator: httpx.Client) -> None:
    verdict = validate_condition(administrator, "isBot() &&\n  evntType == 'a'")
    assert verdict["valid"] is False
    (error,) = verdict["errors"]
    assert (error["line"], error["column"], error["suggestion"]) == (2, 3, "eventType")
    assert "eventType" in error["expected"]


def test_a_valid_condition_may_get_warnings(administrator: httpx.Client) -> None:
    assert validate_condition(administrator, "isBot()") == {
        "valid": True,
        "errors": [],
        "warnings": [],
        "indexedBy": [["isBot"]],
        "asksOfPeople": [],
    }
    assert [
        warning["kind"]
        for warning in validate_condition(administrator, "tier == 'Tier.a' && tier == 'Tier.b'")["warnings"]
    ] == ["neverTrue"]
    unindexed_condition = validate_condition(administrator, "entity.name.startsWith('a')")
    assert unindexed_condition["indexedBy"] == []
    assert [one["kind"] for one in unindexed_condition["warnings"]] == ["unindexed"]
    assert validate_condition(administrator, "user.isMemberOf('a')")["asksOfPeople"] == ["isMemberOf:a"]


@pytest.mark.parametrize("body", [{}, {"condition": 1}, {"condition": None}, []])
def test_no_condition_is_refused(administrator: httpx.Client, body: object) -> None:
    assert administrator.post("/conditions/validate", json=body).status_code == 400


def test_upstreams_validation_answers_nothing_or_400(administrator: httpx.Client) -> None:
    path = "/events/subscriptions/validation/condition/"
    assert administrator.get(path + quote("matchAnyFieldChange({'a/b'})", safe="")).status_code == 204
    answer = administrator.get(path + quote("matchAnyFieldChang({'a'})", safe=""))
    assert answer.status_code == 400
    assert "matchAnyFieldChange" in answer.json()["message"]


def alert_request(condition: str, resource: str, effect: str = "include") -> Json:
    """Return the request for an alert with one rule."""
    rules = {"resources": [resource], "rules": [{"effect": effect, "condition": condition}]}
    return {"name": "Waiting", "alertType": "Notification", "filteringRules": rules, "destinations": BELL}


@pytest.mark.parametrize(
    ("condition", "resource", "says"),
    [
        ("matchAnyEventType({'entitySoftDeleted'})", "domain", "choose from entityCreated, entityUpdated, "),
        ("eventType == 'entitySoftDeleted' || eventType == 'entityRestored'", "Domain", "entitySoftDeleted"),
        ("eventType == 'userLogin'", "table", "entitySoftDeleted"),
        ("eventType == 'usageDrop'", "all", "POST /events/subscriptions/capabilities"),
    ],
)
def test_a_new_alert_on_types_of_events_that_its_resources_lack_is_refused(
    administrator: httpx.Client, condition: str, resource: str, says: str
) -> None:
    answer = administrator.post("/events/subscriptions", json=alert_request(condition, resource))
    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert "filteringRules.rules[0].condition" in answer.json()["message"]
    assert says in answer.json()["message"]


def test_a_named_filter_on_types_of_events_that_its_resources_lack_is_refused(administrator: httpx.Client) -> None:
    arguments = [{"name": "eventTypeList", "input": ["entityRestored"]}]
    filters = {"filters": [{"name": "filterByEventType", "effect": "include", "arguments": arguments}]}
    request = {"name": "Waiting", "alertType": "Notification", "resources": ["domain"], "input": filters}
    answer = administrator.post("/events/subscriptions", json=request | {"destinations": BELL})
    assert (answer.status_code, "entityRestored" in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize(
    ("condition", "effect", "kinds"),
    [
        ("matchAnyEventType({'entityUpdated','entitySoftDeleted'})", "include", ["outsideResources"]),
        ("eventType == 'entitySoftDeleted'", "exclude", ["outsideResources"]),
        ("isBot() && eventType == 'entitySoftDeleted'", "include", ["outsideResources"]),
    ],
)
def test_an_alert_that_asks_for_more_than_such_types_is_remarked_on(
    administrator: httpx.Client, condition: str, effect: str, kinds: list[str]
) -> None:
    answer = administrator.post("/events/subscriptions", json=alert_request(condition, "domain", effect))
    assert answer.status_code == 201, answer.text
    assert [one["kind"] for one in json.loads(answer.headers["X-Tocsin-Remarks"])] == kinds


def test_a_stored_alert_on_such_types_stays_and_can_be_written(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    sound = alert_request("eventType == 'entityDeleted'", "domain")
    alert = administrator.post("/events/subscriptions", json=sound).json()
    with sqlite_engine.begin() as connection:
        changed = "UPDATE entity SET document = replace(document, 'entityDeleted', 'entityRestored') WHERE id = :id"
        connection.execute(text(changed), {"id": alert["id"]})
    stored = administrator.get(f"/events/subscriptions/{alert['id']}").json()
    assert stored["filteringRules"]["rules"][0]["condition"] == "eventType == 'entityRestored'"
    assert administrator.put("/events/subscriptions", json=stored).status_code == 200
    assert administrator.put("/events/subscriptions", json=stored | {"description": "Kept."}).status_code == 200
    moved = stored | {"filteringRules": stored["filteringRules"] | {"resources": ["query"]}}
    assert administrator.put("/events/subscriptions", json=moved).status_code == 400


def test_saving_an_alert_says_what_may_not_be_meant(administrator: httpx.Client) -> None:
    rules = {"resources": ["topic"], "rules": [{"effect": "include", "condition": "entityType == 'table'"}]}
    notified = [{"category": "Owners", "type": "Email"}]
    request = {"name": "Odd", "alertType": "Custom", "filteringRules": rules, "destinations": notified}
    answer = administrator.post("/events/subscriptions", json=request)
    assert answer.status_code == 201
    assert [one["kind"] for one in json.loads(answer.headers["X-Tocsin-Remarks"])] == ["outsideResources"]
    right = {**request, "filteringRules": {"resources": ["table"], "rules": rules["rules"]}}
    assert "X-Tocsin-Remarks" not in administrator.put("/events/subscriptions", json=right).headers
    silent = administrator.put("/events/subscriptions", json={**right, "destinations": []})
    assert [one["kind"] for one in json.loads(silent.headers["X-Tocsin-Remarks"])] == ["noDestinations"]


@standards.needs_standards
@pytest.mark.parametrize("alert_type", ["Notification", "Observability", "ActivityFeed", "Custom"])
def test_resources_are_offered_in_upstreams_shape(administrator: httpx.Client, alert_type: str) -> None:
    answer = administrator.get(f"/events/subscriptions/{alert_type}/resources")
    assert answer.status_code == 200
    offered = {one["name"]: one for one in answer.json()["data"]}
    assert {"table", "container", "storedProcedure"} <= offered.keys()
    for resource in offered.values():
        assert standards.problems("events/filterResourceDescriptor.json", resource) == []
    actions = [one["name"] for one in offered["table"]["supportedActions"]]
    assert ("GetTableSchemaChanges" in actions) == (alert_type == "Observability")


def test_functions_are_listed_and_unknown_types_of_alert_refused(administrator: httpx.Client) -> None:
    functions = administrator.get("/events/subscriptions/functions").json()
    assert {"filterByFqn", "GetTestCaseStatusUpdatesUnderSuite"} <= {one["name"] for one in functions}
    names = administrator.get("/events/subscriptions/resources").json()["data"]
    assert "filterByFqn" in next(one for one in names if one["name"] == "table")["supportedFilters"]
    assert administrator.get("/events/subscriptions/Loud/resources").status_code == 400
    for spelt in ("notification", "NOTIFICATION", "ACTIVITY_FEED"):
        assert administrator.get(f"/events/subscriptions/{spelt}/resources").status_code == 200
