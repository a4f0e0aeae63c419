"""Tests of incidents of alerts by HTTP: list, read, acknowledge, assign, resolve, and who may."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_changes import leave_one_post
from tests.contract.test_explain import Person, alert, assign_owners, person
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.engine import writing

__all__ = ["person"]  # a fixture

_CASES = "/dataQuality/testCases"


def report_result(client: httpx.Client, fqn: str, status: str, at_ms: int) -> None:
    result = {"timestamp": at_ms, "testCaseStatus": status}
    assert client.post(f"{_CASES}/testCaseResults/{fqn}", json=result).is_success


@pytest.fixture
def case(administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Json:
    """A test of ``orders`` that failed twice, which the alert ``Quality`` matched."""
    rules = {
        "alertType": "Observability",
        "filteringRules": {
            "resources": ["testCase"],
            "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}],
        },
    }
    alert(administrator, "Quality", **rules)
    link = f"<#E::table::{orders['fullyQualifiedName']}::columns::email>"
    case = create_entity(
        administrator, _CASES, name="not_null", entityLink=link, testDefinition="columnValuesToBeNotNull"
    )
    now_ms = int(case["updatedAt"])
    for at_ms in (now_ms, now_ms + 1):
        report_result(administrator, case["fullyQualifiedName"], "Failed", at_ms)
    notify_all(sqlite_engine)
    return {**case, "now": now_ms}


def test_an_incident_is_handled_and_keeps_a_timeline(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    (incident,) = administrator.get("/incidents?status=open").json()["data"]
    assert (
        incident["name"],
        incident["alert"]["name"],
        incident["entity"]["fullyQualifiedName"],
        incident["assignee"],
    ) == (
        "INC-1",
        "Quality",
        case["fullyQualifiedName"],
        None,
    )
    person("ann")
    acknowledge_answer = administrator.put("/incidents/INC-1/acknowledge")
    assert (acknowledge_answer.status_code, acknowledge_answer.json()["status"]) == (200, "acknowledged")
    body = {"assignee": {"type": "user", "name": "ann"}, "comment": "the feed was late"}
    assigned_incident = administrator.put(f"/incidents/{incident['id']}/assign", json=body).json()
    assert (assigned_incident["assignee"]["name"], assigned_incident["status"]) == ("ann", "acknowledged")
    report_result(administrator, case["fullyQualifiedName"], "Success", case["now"] + 2)
    notify_all(sqlite_engine)
    resolved_incident = administrator.get("/incidents/inc-1").json()
    assert (resolved_incident["status"], resolved_incident["resolvedBy"]) == ("resolved", "recovered")
    timeline = [one for one in resolved_incident["timeline"] if one["kind"] != "message"]
    assert [(one["kind"], (one.get("user") or {}).get("name")) for one in timeline] == [
        ("opened", None),
        ("acknowledged", "admin"),
        ("assigned", "admin"),
        ("recovered", None),
    ]
    assert timeline[2]["comment"] == "the feed was late"
    assert [one["says"] for one in timeline] == [
        "a failure opened it",
        "Administrator acknowledged it",
        "Administrator assigned it to ann: “the feed was late”",
        "a success resolved it",
    ]
    events = administrator.get("/events?eventType=alertIncidentUpdated&format=tocsin").json()["data"]
    assert [one["semanticChanges"] is not None and one["entityId"] for one in events] == [case["id"]] * 2
    again = administrator.put("/incidents/INC-1/assign", json=body | {"comment": "once more"})
    assert (again.status_code, "INC-1 is resolved" in again.json()["message"]) == (409, True)


def test_an_assignment_reaches_who_neither_owns_nor_follows_the_asset(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    (ann_id, ann), (ben_id, ben) = person("ann"), person("ben")

    def inbox(user_id: str, client: httpx.Client) -> list[tuple[str, str]]:
        notify_all(sqlite_engine)
        page = client.get(f"/users/{user_id}/notifications?needsMe=true").json()["data"]
        return [(one["title"], one["reasons"][0]["sentence"]) for one in page]

    def assign(user_id: str) -> None:
        body = {"assignee": {"type": "user", "id": user_id}}
        assert administrator.put("/incidents/INC-1/assign", json=body).is_success

    assign(ann_id)
    ((title, sentence),) = inbox(ann_id, ann)
    assert title.endswith("INC-1 assigned to you")
    assert sentence == "it is assigned to you (alert AssignedIncidents)"
    assert inbox(ben_id, ben) == []
    assign(ben_id)
    assert [sentence for _, sentence in inbox(ben_id, ben)] == ["it is assigned to you (alert AssignedIncidents)"]


def test_what_is_hidden_reaches_nobody_by_an_assignment(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    ann_id, ann = person("ann")
    assert administrator.put("/incidents/INC-1/assign", json={"assignee": {"type": "user", "id": ann_id}}).is_success
    restrict(administrator, ann_id, {"effect": "deny", "resources": ["testCase"]})
    notify_all(sqlite_engine)
    assert ann.get(f"/users/{ann_id}/notifications?tab=all").json()["data"] == []


def test_a_timeline_shows_messages_to_who_may_know_of_them(
    administrator: httpx.Client, case: Json, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    ann_id, ann = person("ann")
    _, mallory = person("mallory")
    assign_owners(administrator, orders, ann_id)
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["now"] + 2)
    assert administrator.put("/incidents/INC-1/acknowledge").is_success
    report_result(administrator, case["fullyQualifiedName"], "Success", case["now"] + 3)
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["now"] + 4)
    notify_all(sqlite_engine)

    def messages_to(client: httpx.Client) -> list[tuple[str, ...]]:
        messages = [one for one in client.get("/incidents/INC-1").json()["timeline"] if one["kind"] == "message"]
        assert all(f"told {one['recipient']['name']} in the app: delivered" in one["says"] for one in messages)
        return [(one["recipient"]["name"], one["channel"], alert_names(one), one["status"]) for one in messages]

    def alert_names(message: Json) -> str:
        return ", ".join(sorted(one["name"] for one in message["alerts"]))

    to_ann = ("ann", "ActivityFeed", "ActivityFeedAlert, Quality", "delivered")
    recovery = ("ann", "ActivityFeed", "ActivityFeedAlert", "delivered")
    assert messages_to(administrator) == messages_to(ann) == [to_ann, recovery]
    assert messages_to(mallory) == []
    assert [client.get("/incidents/INC-1").json()["isWhole"] for client in (administrator, ann)] == [True, False]
    eve_id, eve = person("eve")
    assert messages_to(eve) == []
    quality = administrator.get("/events/subscriptions/name/Quality").json()
    owners = [{"op": "add", "path": "/owners", "value": [{"id": eve_id, "type": "user"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/events/subscriptions/{quality['id']}", json=owners, headers=headers).is_success
    assert messages_to(eve) == [to_ann]
    restrict(administrator, eve_id, {"effect": "deny", "resources": ["user"], "condition": "!isOwner()"})
    (message,) = [one for one in eve.get("/incidents/INC-1").json()["timeline"] if one["kind"] == "message"]
    assert message["recipient"] == {"id": ann_id, "type": "user"}


def test_a_timeline_calls_destinations_by_their_names_as_long_as_they_are_there(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    config = {"endpoint": "https://hooks.slack.com/services/T/B/s3cret"}
    chat = {"name": "#data-alerts", "category": "External", "type": "Slack", "config": config}
    rules = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}]}
    paged_alert = alert(administrator, "Paged", filteringRules=rules, destinations=[chat])
    report_result(administrator, case["fullyQualifiedName"], "Failed", paged_alert["updatedAt"] + 1)
    notify_all(sqlite_engine)

    def destinations() -> list[list[str]]:
        timeline = administrator.get("/incidents/INC-1").json()["timeline"]
        return [one["destinations"] for one in timeline if one["kind"] == "message" and one["channel"] == "Slack"]

    assert destinations() == [["#data-alerts"]]
    assert "s3cret" not in administrator.get("/incidents/INC-1").text
    assert administrator.delete(f"/events/subscriptions/{paged_alert['id']}").is_success
    assert destinations() == [[]]


def test_an_incident_names_the_watching_alerts_that_the_caller_may_see(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    rules = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}]}
    second = alert(administrator, "Second", filteringRules=rules)
    report_result(administrator, case["fullyQualifiedName"], "Failed", second["updatedAt"] + 1)
    notify_all(sqlite_engine)
    (incident,) = administrator.get("/incidents").json()["data"]
    assert [one["name"] for one in incident["watchers"]] == ["Quality", "Second"]
    assert (incident["alert"], incident["mergedInto"]) == (incident["watchers"][0], None)
    assert administrator.get("/incidents?alert=Second").json()["data"] == [incident]

    user_id, mallory = person("mallory")
    of_others = {"effect": "deny", "resources": ["eventsubscription"], "condition": "!isOwner()"}
    restrict(administrator, user_id, of_others)
    (incident_shown,) = mallory.get("/incidents").json()["data"]
    assert (incident_shown["name"], incident_shown["alert"], incident_shown["watchers"]) == ("INC-1", None, [])
    assert mallory.get("/incidents?alert=Second").status_code == 404
    for watcher in incident["watchers"]:
        assert mallory.get("/incidents", params={"alert": watcher["id"]}).json()["data"] == []


_STATUSES = f"{_CASES}/testCaseIncidentStatus"


def latest_step(client: httpx.Client) -> Json:
    (step,) = client.get(_STATUSES, params={"latest": "true"}).json()["data"]
    return dict(step)


def test_what_is_done_to_an_incident_is_done_to_that_of_the_test_case(
    administrator: httpx.Client, case: Json, person: Person
) -> None:
    ann_id, _ = person("ann")
    state_id = latest_step(administrator)["stateId"]
    assert administrator.get("/incidents/INC-1").json()["stateId"] == state_id
    for _ in range(2):
        assert administrator.put("/incidents/INC-1/acknowledge").is_success
    assert latest_step(administrator)["testCaseResolutionStatusType"] == "Ack"
    assert administrator.put("/incidents/INC-1/assign", json={"assignee": {"type": "user", "name": "ann"}}).is_success
    step = latest_step(administrator)
    assert step["testCaseResolutionStatusDetails"]["assignee"]["id"] == ann_id
    body = {"reason": "MissingData", "comment": "the feed was late"}
    resolved_incident = administrator.put("/incidents/INC-1/resolve", json=body).json()
    assert (resolved_incident["stateId"], resolved_incident["timeline"][-1]["reason"]) == (state_id, "MissingData")
    task = administrator.get(f"/tasks/{resolved_incident['stateId']}").json()
    assert (task["id"], task["status"]) == (state_id, "Completed")
    step = latest_step(administrator)
    details = step["testCaseResolutionStatusDetails"]
    assert (step["testCaseResolutionStatusType"], step["stateId"]) == ("Resolved", state_id)
    assert (details["testCaseFailureReason"], details["testCaseFailureComment"]) == tuple(body.values())
    assert details["resolvedBy"]["name"] == "admin"
    assert len(administrator.get(f"{_STATUSES}/stateId/{state_id}").json()["data"]) == 4
    assert "incidentId" not in administrator.get(f"{_CASES}/{case['id']}?fields=*").json()
    events = administrator.get("/events?eventType=alertIncidentUpdated").json()["data"]
    fields = [{one["name"] for one in event["changeDescription"]["fieldsUpdated"]} for event in events]
    assert fields == [{"alertIncident", "incidentStatus"}] * 3
    wrong = administrator.put("/incidents/INC-1/resolve", json={"reason": "Bored"})
    assert (wrong.status_code, wrong.json()["message"].startswith("reason")) == (400, True)


def test_a_step_of_the_test_case_is_one_of_the_incident(
    administrator: httpx.Client, case: Json, person: Person
) -> None:
    ann_id, _ = person("ann")

    def take(status: str, **details: object) -> None:
        step: Json = {"testCaseReference": case["fullyQualifiedName"], "testCaseResolutionStatusType": status}
        step |= {"testCaseResolutionStatusDetails": details} if details else {}
        assert administrator.post(_STATUSES, json=step).is_success

    def incident() -> Json:
        return dict(administrator.get("/incidents/INC-1").json())

    take("Ack")
    take("Ack")
    assert incident()["status"] == "acknowledged"
    take("Assigned", assignee={"id": ann_id, "type": "user"})
    assert incident()["assignee"]["name"] == "ann"
    take("Resolved", testCaseFailureReason="FalsePositive", testCaseFailureComment="as it should be")
    assert (incident()["status"], incident()["resolvedBy"]) == ("resolved", "resolved")
    assert [(one["kind"], one.get("reason"), one.get("comment")) for one in incident()["timeline"]] == [
        ("opened", None, None),
        ("acknowledged", None, None),
        ("assigned", None, None),
        ("resolved", "FalsePositive", "as it should be"),
    ]
    assert len(administrator.get(f"{_STATUSES}/stateId/{latest_step(administrator)['stateId']}").json()["data"]) == 4


def test_a_success_resolves_the_incident_and_not_that_of_the_test_case(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    report_result(administrator, case["fullyQualifiedName"], "Success", case["now"] + 2)
    notify_all(sqlite_engine)
    resolved_incident, step = administrator.get("/incidents/INC-1").json(), latest_step(administrator)
    assert (resolved_incident["status"], resolved_incident["stateId"]) == ("resolved", step["stateId"])
    assert step["testCaseResolutionStatusType"] == "New"
    take = {"transitionId": "ack"}
    assert administrator.post(f"/tasks/{step['stateId']}/resolve", json=take).is_success
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["now"] + 3)
    notify_all(sqlite_engine)
    second = administrator.get("/incidents/INC-2").json()
    task = administrator.get(f"/tasks/{second['stateId']}").json()
    assert (second["status"], second["stateId"], task["status"]) == ("open", step["stateId"], "Open")
    assert "ack" in [one["id"] for one in task["availableTransitions"]]


def test_who_edits_an_alert_and_not_the_asset_may_only_look(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    _, ann = person("ann")
    rules = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}]}
    of_ann = alert(ann, "OfAnn", filteringRules=rules)
    report_result(administrator, case["fullyQualifiedName"], "Failed", of_ann["updatedAt"] + 1)
    notify_all(sqlite_engine)
    assert "OfAnn" in [one["name"] for one in ann.get("/incidents/INC-1").json()["watchers"]]
    assert ann.put("/incidents/INC-1/acknowledge").status_code == 403


def test_the_number_of_a_merged_incident_answers_and_acts_as_the_one_that_stands_for_it(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    incident = administrator.get("/incidents/INC-1").json()
    add_merged_incident(sqlite_engine, 9)
    answer = administrator.get("/incidents/INC-9").json()
    assert answer["mergedInto"] == {"id": incident["id"], "name": "INC-1"}
    identity = ("id", "name", "mergedInto")
    assert {key: answer[key] for key in answer if key not in identity} == {
        key: incident[key] for key in incident if key not in identity
    }
    assert [one["name"] for one in administrator.get("/incidents").json()["data"]] == ["INC-1"]
    acknowledged_incident = administrator.put("/incidents/INC-9/acknowledge").json()
    assert (acknowledged_incident["name"], acknowledged_incident["status"]) == ("INC-9", "acknowledged")
    assert administrator.get("/incidents/INC-1").json()["timeline"] == acknowledged_incident["timeline"]
    (event,) = administrator.get("/events?eventType=alertIncidentUpdated&format=openmetadata").json()["data"]
    assert '"INC-1"' in event["changeDescription"]["fieldsUpdated"][0]["newValue"]


def add_merged_incident(engine: Engine, number: int) -> None:
    """Add an incident that was merged into the only stored one: migrated stores have such."""
    with writing(engine) as connection:
        lead: dict[str, Any] = dict(connection.execute(select(alert_incident)).one()._mapping)
        identity = {"id": "7b1e7a3e-5d0c-4b6e-9a51-0c4a3f1f2a11", "number": number, "merged_into": lead["id"]}
        connection.execute(alert_incident.insert().values(lead | identity))


def test_incidents_are_filtered_and_paged(
    administrator: httpx.Client, case: Json, orders: Json, sqlite_engine: Engine
) -> None:
    assert administrator.put("/incidents/INC-1/resolve", json={"comment": "known"}).json()["resolvedBy"] == "resolved"
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["now"] + 3)
    notify_all(sqlite_engine)

    def names(**query: str) -> list[str]:
        return [one["name"] for one in administrator.get("/incidents", params=query).json()["data"]]

    assert names() == ["INC-2", "INC-1"]
    assert names(status="unresolved") == names(status="open") == ["INC-2"]
    assert names(alert="Quality", asset=case["fullyQualifiedName"]) == ["INC-2", "INC-1"]
    assert names(asset=case["id"], status="resolved") == ["INC-1"]
    table = orders["fullyQualifiedName"]
    assert names(asset=table) == names(asset=orders["id"]) == ["INC-2", "INC-1"]
    assert names(asset=table, status="resolved") == ["INC-1"]
    assert names(severity="Severity1") == []
    assert names(assignee="admin") == names(assignee=str(uuid4())) == names(alert=str(uuid4())) == []
    first = administrator.get("/incidents?limit=1").json()
    second = administrator.get("/incidents", params={"limit": 1, "after": first["paging"]["after"]}).json()
    assert [one["name"] for one in (*first["data"], *second["data"])] == ["INC-2", "INC-1"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"alert": "Qualty"}, "alert Qualty not found; did you mean Quality?"),
        ({"asset": "a.b"}, "test case or pipeline or ingestion pipeline or table a.b not found"),
        ({"assignee": "admim"}, "user or team admim not found; did you mean admin?"),
    ],
)
def test_a_filter_that_names_nothing_is_answered_with_what_is_meant(
    administrator: httpx.Client, case: Json, query: Json, says: str
) -> None:
    answer = administrator.get("/incidents", params=query)
    assert (answer.status_code, answer.json()["message"]) == (404, says)


def test_the_id_of_a_hidden_person_finds_no_incident_of_theirs(
    administrator: httpx.Client, case: Json, orders: Json, person: Person
) -> None:
    ann_id, _ = person("ann")
    bob_id, bob = person("bob")
    assign_owners(administrator, orders, ann_id)
    assert administrator.put("/incidents/INC-1/assign", json={"assignee": {"type": "user", "id": ann_id}}).is_success
    queries = (f"owner={ann_id}", f"assignee={ann_id}", f"assignee={ann_id.upper()}")
    assert [len(bob.get(f"/incidents?{query}").json()["data"]) for query in queries] == [1, 1, 1]
    restrict(administrator, bob_id, {"effect": "deny", "resources": ["user"]})
    assert [bob.get(f"/incidents?{query}").json()["data"] for query in queries] == [[], [], []]
    assert len(bob.get("/incidents").json()["data"]) == 1


def test_who_acknowledged_has_no_display_name_for_who_may_not_see_them(
    administrator: httpx.Client, case: Json, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    (zoe_id, zoe), (bob_id, bob) = person("zoe"), person("bob")
    naming = [{"op": "add", "path": "/displayName", "value": "Zoe Quist"}]
    assert administrator.patch(f"/users/{zoe_id}", json=naming).is_success
    assign_owners(administrator, orders, zoe_id, bob_id)
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["now"] + 2)
    notify_all(sqlite_engine)
    restrict(administrator, bob_id, {"effect": "deny", "resources": ["user"]})
    assert zoe.put("/incidents/INC-1/acknowledge").is_success
    event_id = bob.get(f"/users/{bob_id}/notifications").json()["data"][0]["eventId"]
    for path in (f"/users/{bob_id}/notifications?fields=incident", f"/events/{event_id}/audience"):
        assert "Zoe Quist" in administrator.get(path).text, path
        assert ("acknowledgedBy" in bob.get(path).text, "Zoe Quist" in bob.get(path).text) == (True, False), path


def test_one_person_comments_so_often_in_an_hour_and_acknowledges_still(
    served: Served, administrator: httpx.Client, case: Json, orders: Json, person: Person
) -> None:
    ann_id, ann = person("ann")
    assign_owners(administrator, orders, ann_id)
    leave_one_post(served, ann_id)
    comments = [{"comment": text} for text in ("one", "two")]
    assert [ann.put("/incidents/INC-1/comment", json=one).status_code for one in comments] == [200, 429]
    assert ann.put("/incidents/INC-1/acknowledge", json=comments[1]).status_code == 429
    assert ann.put("/incidents/INC-1/acknowledge").is_success
    timeline = administrator.get("/incidents/INC-1").json()["timeline"]
    assert [moment["comment"] for moment in timeline if "comment" in moment] == ["one"]


def test_comments_of_merges_count_and_what_is_sent_again_does_not(
    served: Served, administrator: httpx.Client, case: Json, sqlite_engine: Engine, person: Person
) -> None:
    ann_id, ann = person("ann")
    fail_second(administrator, sqlite_engine, case)
    for name in ("sales", "orders"):
        table = administrator.get(f"/tables/name/warehouse.shop.public.{name}").json()
        assign_owners(administrator, table, ann_id)
    feed_sales(administrator)
    assignment = {"assignee": {"id": ann_id, "type": "user"}, "comment": "mine"}
    requests: list[tuple[str, Json]] = [
        ("INC-1/comment", {"comment": "late"}),
        ("INC-1/acknowledge", {"comment": "on it"}),
        ("INC-1/assign", assignment),
        ("INC-2/merge", {"into": "INC-1", "comment": "one cause"}),
        ("INC-2/split", {"comment": "two causes"}),
        ("INC-2/dismiss-cause", {"cause": "INC-1", "comment": "it was off"}),
        ("INC-2/restore-cause", {"cause": "INC-1", "comment": "it was on"}),
        ("INC-2/resolve", {"comment": "done"}),
    ]
    for path, body in requests:
        leave_one_post(served, ann_id)
        codes = [ann.put(f"/incidents/{path}", json=body).status_code for _ in range(2)]
        assert codes == [200, 200], path
        assert ann.put("/incidents/INC-1/comment", json={"comment": "more"}).status_code == 429, path
        parts = served.app.state.parts
        limit, now_ms = parts.settings.posts_per_hour, parts.clock.now_ms()
        parts.quotas.give_back(ann_id, "post", limit, taken_at_ms=now_ms)


def test_a_comment_that_comes_in_chunks_is_kept(administrator: httpx.Client, case: Json) -> None:
    chunks = iter([b'{"comment"', b': "the feed was late"}'])
    steps = administrator.put("/incidents/INC-1/acknowledge", content=chunks).json()["timeline"]
    assert steps[-1]["comment"] == "the feed was late"
    empty_answer = administrator.put("/incidents/INC-1/acknowledge", content=iter([]))
    assert empty_answer.is_success, empty_answer.text


def test_a_comment_is_told_and_changes_no_state(administrator: httpx.Client, case: Json, person: Person) -> None:
    ann_id, ann = person("ann")
    remark = {"comment": "the feed comes at <b>ten</b>"}
    assert ann.put("/incidents/INC-1/comment", json=remark).status_code == 403
    assignee = {"assignee": {"type": "user", "id": ann_id}}
    assert administrator.put("/incidents/INC-1/assign", json=assignee).is_success
    for _ in range(2):  # sent again, it is said once
        incident = ann.put("/incidents/INC-1/comment", json=remark).json()
    assert (incident["status"], incident["acknowledgedBy"]) == ("open", None)
    assert [one["says"] for one in incident["timeline"] if one["kind"] == "commented"] == [
        "ann wrote: “the feed comes at <b>ten</b>”"
    ]
    for body in ({}, {"comment": ""}, {"comment": 7}, {"comment": None}, {"comment": "x", "reason": "Other"}):
        answer = ann.put("/incidents/INC-1/comment", json=body)
        assert (answer.status_code, "comment" in answer.json()["message"]) == (400, True)
    events = administrator.get("/events?eventType=alertIncidentUpdated&format=tocsin").json()["data"]
    assert "INC-1 commented on: “the feed comes at <b>ten</b>”" in events[-1]["title"]
    states = administrator.get(f"{_CASES}/testCaseIncidentStatus?limit=20").json()["data"]
    assert "Ack" not in [one["testCaseResolutionStatusType"] for one in states]
    assert administrator.put("/incidents/INC-1/resolve").is_success
    assert ann.put("/incidents/INC-1/comment", json={"comment": "late"}).status_code == 409


def test_an_incident_of_a_hidden_asset_does_not_exist(administrator: httpx.Client, case: Json, person: Person) -> None:
    user_id, mallory = person("mallory")
    assert len(mallory.get("/incidents").json()["data"]) == 1
    restrict(administrator, user_id, {"effect": "deny", "resources": ["testCase"]})
    assert mallory.get("/incidents").json() == {"data": [], "paging": {}}
    filtered_answer = mallory.get("/incidents", params={"asset": case["fullyQualifiedName"]})
    assert (filtered_answer.status_code, "did you mean" in filtered_answer.json()["message"]) == (404, False)
    for method, path in (("GET", ""), ("PUT", "/acknowledge"), ("PUT", "/resolve")):
        answer = mallory.request(method, f"/incidents/INC-1{path}")
        assert (answer.status_code, answer.json()["message"]) == (404, "incident INC-1 not found")
    assert mallory.get("/incidents/INC-2").json()["message"] == "incident INC-2 not found"


def test_who_is_neither_assigned_nor_may_edit_may_only_look(
    administrator: httpx.Client, case: Json, person: Person
) -> None:
    user_id, ann = person("ann")
    answer = ann.put("/incidents/INC-1/acknowledge")
    assert (answer.status_code, ann.get("/incidents/INC-1").status_code) == (403, 200)
    body = {"assignee": {"type": "user", "id": user_id}}
    assert administrator.put("/incidents/INC-1/assign", json=body).is_success
    assert ann.put("/incidents/INC-1/acknowledge").json()["status"] == "acknowledged"


def test_who_owns_the_table_of_a_failing_test_is_on_it_though_others_own_the_test(
    administrator: httpx.Client, case: Json, orders: Json, person: Person
) -> None:
    user_id, ann = person("ann")
    other_id, bob = person("bob")
    patch = [{"op": "add", "path": "/owners", "value": [{"id": other_id, "type": "user"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"{_CASES}/{case['id']}", json=patch, headers=headers).is_success
    assert ann.put("/incidents/INC-1/acknowledge").status_code == 403
    assign_owners(administrator, orders, user_id)
    assert ann.put("/incidents/INC-1/acknowledge").json()["acknowledgedBy"]["name"] == "ann"
    assert bob.put("/incidents/INC-1/assign", json={"assignee": {"type": "user", "id": other_id}}).is_success
    assign_owners(administrator, orders)
    assert ann.put("/incidents/INC-1/acknowledge").status_code == 403


@pytest.mark.parametrize(
    ("action", "body", "field"),
    [
        ("acknowledge", {"comment": ""}, "comment"),
        ("acknowledge", {"comment": "x" * 4_001}, "comment"),
        ("resolve", {"assignee": {"name": "ann"}}, "assignee"),
        ("assign", {}, "assignee"),
        ("assign", {"assignee": "ann"}, "assignee"),
        ("assign", {"assignee": {"type": "table", "name": "x"}}, "assignee"),
    ],
)
def test_a_broken_request_is_refused_with_its_place(
    administrator: httpx.Client, case: Json, action: str, body: Json, field: str
) -> None:
    answer = administrator.put(f"/incidents/INC-1/{action}", json=body)
    assert (answer.status_code, answer.json()["message"].startswith(field)) == (400, True)


def test_an_unknown_assignee_or_filter_is_refused(administrator: httpx.Client, case: Json) -> None:
    body = {"assignee": {"type": "user", "name": "nobody"}}
    assert administrator.put("/incidents/INC-1/assign", json=body).status_code == 404
    for query in ("status=broken", "limit=0", "after=x", "after=eA", "spoon=1"):
        assert administrator.get(f"/incidents?{query}").status_code == 400


def fail_second(administrator: httpx.Client, engine: Engine, case: Json) -> Json:
    """Let a second test fail, of another table: INC-2."""
    create_entity(administrator, "/tables", name="sales", databaseSchema="warehouse.shop.public", columns=[])
    second = create_entity(
        administrator,
        _CASES,
        name="has_rows",
        entityLink="<#E::table::warehouse.shop.public.sales>",
        testDefinition="tableRowCountToEqual",
    )
    report_result(administrator, second["fullyQualifiedName"], "Failed", second["updatedAt"])
    notify_all(engine)
    return second


def feed_sales(administrator: httpx.Client) -> None:
    """Let the table of the second test be made from that of the first."""
    orders, sales = (
        {"id": administrator.get(f"/tables/name/warehouse.shop.public.{name}").json()["id"], "type": "table"}
        for name in ("orders", "sales")
    )
    assert administrator.put("/lineage", json={"edge": {"fromEntity": orders, "toEntity": sales}}).is_success


def test_a_merged_incident_is_handled_by_either_name_and_split_again(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    fail_second(administrator, sqlite_engine, case)
    merged_incident = administrator.put("/incidents/INC-2/merge", json={"into": "INC-1", "comment": "one cause"}).json()
    lead = administrator.get("/incidents/INC-1").json()
    assert merged_incident["mergedInto"] == {"id": lead["id"], "name": "INC-1"}
    assert [(one["name"], one["status"]) for one in lead["parts"]] == [("INC-2", "open")]
    steps = [one for one in lead["timeline"] if one["kind"] == "merged"]
    assert [(one["incident"]["name"], one["comment"]) for one in steps] == [("INC-2", "one cause")]
    assert [one["name"] for one in administrator.get("/incidents").json()["data"]] == ["INC-1"]
    assert [one["name"] for one in administrator.get("/incidents?alert=Quality").json()["data"]] == ["INC-2", "INC-1"]
    assert administrator.put("/incidents/INC-2/acknowledge").json()["status"] == "acknowledged"
    assert administrator.get("/incidents/INC-1").json()["status"] == "acknowledged"
    again = administrator.put("/incidents/INC-1/merge", json={"into": "INC-2"})
    assert (again.status_code, "INC-1" in again.json()["message"]) == (409, True)
    assert administrator.put("/incidents/INC-2/split").json()["mergedInto"] is None
    assert administrator.put("/incidents/INC-2/resolve").json()["status"] == "resolved"
    assert administrator.get("/incidents/INC-1").json()["status"] == "acknowledged"


def test_the_asset_of_an_incident_that_stands_for_others_is_never_named_to_who_may_not_see_it(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    second = fail_second(administrator, sqlite_engine, case)
    ann_id, ann = person("ann")
    refusal = ann.put("/incidents/INC-2/merge", json={"into": "INC-1"})
    assert (refusal.status_code, "Only the assignee of INC-2" in refusal.json()["message"]) == (403, True)
    assert administrator.put("/incidents/INC-2/assign", json={"assignee": {"type": "user", "id": ann_id}}).is_success
    refusal = ann.put("/incidents/INC-2/merge", json={"into": "INC-1"})
    assert (refusal.status_code, "Only the assignee of INC-1" in refusal.json()["message"]) == (403, True)
    hiding_rule = {"effect": "deny", "resources": ["testCase"], "condition": "matchAnyTag('PII.Sensitive')"}
    restrict(administrator, ann_id, hiding_rule)
    tag(administrator, case, "PII.Sensitive")
    assert ann.put("/incidents/INC-2/merge", json={"into": "INC-1"}).status_code == 404
    assert administrator.put("/incidents/INC-2/merge", json={"into": "INC-1"}).is_success
    part = ann.get("/incidents/INC-2").json()
    assert (part["mergedInto"], part["entity"]["id"]) == (None, second["id"])
    assert [one["name"] for one in ann.get("/incidents").json()["data"]] == ["INC-2"]
    assert "INC-1" not in ann.get("/incidents/INC-2").text
    assert ann.put("/incidents/INC-2/acknowledge").json()["status"] == "acknowledged"
    assert administrator.get("/incidents/INC-1").json()["status"] == "open"


def tag(client: httpx.Client, case: Json, name: str) -> None:
    label = {"tagFQN": name, "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    patch = [{"op": "add", "path": "/tags", "value": [label]}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = client.patch(f"{_CASES}/{case['id']}", json=patch, headers=headers)
    assert answer.is_success, answer.text


def test_a_resolution_by_merge_names_what_is_wrong(administrator: httpx.Client, case: Json) -> None:
    for body, status in (({}, 400), ({"into": 7}, 400), ({"into": "INC-9"}, 404), ({"into": "INC-1"}, 409)):
        assert administrator.put("/incidents/INC-1/merge", json=body).status_code == status


def test_what_probably_caused_an_incident_is_named_where_it_may_be_seen(
    administrator: httpx.Client, case: Json, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    second = fail_second(administrator, sqlite_engine, case)
    sales = administrator.get("/tables/name/warehouse.shop.public.sales").json()
    ends = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": sales["id"], "type": "table"}}
    assert administrator.put("/lineage", json={"edge": ends}).is_success

    def causes(client: httpx.Client, name: str) -> list[tuple[str, str]]:
        documents = client.get(f"/incidents/{name}").json()["probableCauses"]
        return [(one["name"], one["asset"]["fullyQualifiedName"]) for one in documents]

    assert causes(administrator, "INC-2") == [("INC-1", orders["fullyQualifiedName"])]
    assert causes(administrator, "INC-1") == []
    user_id, mallory = person("mallory")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["testCase"], "condition": PII})
    tag(administrator, case, "PII.Sensitive")
    answer = mallory.get("/incidents/INC-2")
    assert (answer.json()["probableCauses"], answer.json()["entity"]["id"]) == ([], second["id"])
    assert "INC-1" not in answer.text


def test_a_probable_cause_that_is_none_is_dismissed_and_stays_so(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    fail_second(administrator, sqlite_engine, case)
    feed_sales(administrator)
    path, body = "/incidents/INC-2/dismiss-cause", {"cause": "INC-1", "comment": "the till was off"}
    for wrong, status in (({}, 400), ({"cause": 7}, 400), ({"cause": "INC-9"}, 404), ({"cause": "INC-2"}, 409)):
        assert administrator.put(path, json=wrong).status_code == status
    _, onlooker = person("mallory")
    assert onlooker.put(path, json=body).status_code == 403
    assert [one["name"] for one in administrator.get("/incidents/INC-2").json()["probableCauses"]] == ["INC-1"]
    for _ in range(2):  # what is said already is not said again
        assert administrator.put(path, json=body).json()["probableCauses"] == []
    for name, other_name, comment in (("INC-2", "INC-1", ": “the till was off”"), ("INC-1", "INC-2", "")):
        timeline = administrator.get(f"/incidents/{name}").json()["timeline"]
        says = [moment["says"] for moment in timeline if moment["kind"] == "notCaused"]
        assert says == [f"Administrator said that it and {other_name} have different causes{comment}"]
    reverse = administrator.put("/incidents/INC-1/dismiss-cause", json={"cause": "INC-2"})
    assert (reverse.status_code, reverse.json()["message"]) == (
        400,
        "cause: INC-2 is not among the probable causes of INC-1",
    )
    restoring_answer = administrator.put(
        "/incidents/INC-2/restore-cause", json={"cause": "INC-1", "comment": "it was on"}
    )
    for answer in (restoring_answer, administrator.put("/incidents/INC-2/restore-cause", json={"cause": "INC-1"})):
        assert [one["name"] for one in answer.json()["probableCauses"]] == ["INC-1"]
        assert answer.json()["dismissedCauses"] == []
    says = [one["says"] for one in restoring_answer.json()["timeline"] if one["kind"] == "causeRestored"]
    assert says == ["Administrator said that it and INC-1 may have one cause after all: “it was on”"]
    assert onlooker.put("/incidents/INC-2/restore-cause", json={"cause": "INC-1"}).status_code == 403
    second_answer = administrator.put(path, json=body).json()
    assert second_answer["probableCauses"] == []
    assert [one["name"] for one in second_answer["dismissedCauses"]] == ["INC-1"]
    assert administrator.put("/incidents/INC-2/resolve").is_success
    assert administrator.put(path, json=body).is_success
    assert administrator.put("/incidents/INC-2/restore-cause", json={"cause": "INC-1"}).status_code == 409


PII = "matchAnyTag('PII.Sensitive')"


def take_case_step(client: httpx.Client, fqn: str, status: str, details: Json | None = None) -> None:
    body = {"testCaseReference": fqn, "testCaseResolutionStatusType": status}
    body |= {"testCaseResolutionStatusDetails": details} if details else {}
    assert client.post(f"{_CASES}/testCaseIncidentStatus", json=body).is_success


def inbox_lines(user_id: str, client: httpx.Client, engine: Engine) -> list[tuple[str, str]]:
    notify_all(engine)
    page = client.get(f"/users/{user_id}/notifications?tab=all").json()["data"]
    return [(entry["title"].partition(": ")[2], entry["reasons"][0]["sentence"]) for entry in reversed(page)]


def test_an_incident_of_a_test_alone_tells_its_assignee(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    definition = "tableRowCountToBeBetween"
    case = create_entity(administrator, _CASES, name="rows", entityLink=link, testDefinition=definition)
    (ann_id, ann), (ben_id, ben) = person("ann"), person("ben")
    fqn = case["fullyQualifiedName"]
    take_case_step(administrator, fqn, "Assigned", {"assignee": {"type": "user", "name": "ann"}})
    take_case_step(administrator, fqn, "Ack")
    take_case_step(administrator, fqn, "Assigned", {"assignee": {"type": "user", "name": "ben"}})
    resolution = {"testCaseFailureReason": "MissingData", "testCaseFailureComment": "late"}
    take_case_step(administrator, fqn, "Resolved", resolution)
    take_case_step(administrator, fqn, "New")
    sentence = "it is assigned to you (alert AssignedIncidents)"
    of_ann, of_ben = (inbox_lines(user_id, client, sqlite_engine) for user_id, client in ((ann_id, ann), (ben_id, ben)))
    assert of_ann == [("incident assigned to you", sentence), ("incident acknowledged", sentence)]
    assert of_ben == [("incident assigned to you", sentence), ("incident resolved: missing data", sentence)]


def test_an_incident_that_both_ways_assign_tells_its_assignee_once(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    ann_id, ann = person("ann")
    details = {"assignee": {"type": "user", "name": "ann"}}
    take_case_step(administrator, case["fullyQualifiedName"], "Assigned", details)
    body = {"assignee": {"type": "user", "id": ann_id}}
    assert administrator.put("/incidents/INC-1/assign", json=body).is_success
    assert len(inbox_lines(ann_id, ann, sqlite_engine)) == 1
