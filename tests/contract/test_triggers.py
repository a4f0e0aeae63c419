"""Tests of alerts that trigger others or depend on them: what is saved, refused, notified and explained."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_explain import Person, alert, describe, explanation_of, person
from tests.notifying import notify_all
from tests.serving import Json

from tocsin.flow.resolve.holding import Waiting
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.holding import Holding

__all__ = ["person"]  # a fixture

_PATH = "/events/subscriptions"
DESCRIBED = {"effect": "include", "condition": "fieldChanged == 'description'"}
NEVER = {"effect": "include", "condition": "eventType == 'entityDeleted'"}


@pytest.fixture
def second(administrator: httpx.Client, person: Person) -> Json:
    """An alert that nothing matches, to a person."""
    person("ben")
    to_ben = {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["ben"]}}
    return alert(administrator, "Second", NEVER, destinations=[to_ben])


def test_a_triggered_alert_notifies_its_recipients_of_the_same_event(
    administrator: httpx.Client, orders: Json, second: Json, person: Person, sqlite_engine: Engine
) -> None:
    first = alert(administrator, "First", DESCRIBED, triggers=["Second"])
    assert [one["name"] for one in first["triggers"]] == ["Second"]
    event = describe(administrator, orders, "text")
    notify_all(sqlite_engine)
    users = administrator.get("/users/name/ben").json()
    (entry,) = administrator.get(f"/users/{users['id']}/notifications").json()["data"]
    assert (entry["eventId"], entry["reasons"][0]["sentence"]) == (event, "the alert names you (alert Second)")
    (explained_alert,) = explanation_of(administrator, event, subscription="Second")["alerts"]
    assert (explained_alert["matched"], explained_alert["gates"][-1]["says"]) == (True, "alert First triggers it")
    assert explanation_of(administrator, event, subscription="Second", user="ben")["answer"].startswith("Yes")
    history = administrator.get(f"{_PATH}/{second['id']}/history?kind=firing").json()["data"]
    assert [one["notified"] for one in history] == [1]


def test_triggers_are_answered_on_request_only(administrator: httpx.Client, second: Json) -> None:
    first = alert(administrator, "First", DESCRIBED, triggers=[{"id": second["id"], "type": "eventsubscription"}])
    assert "triggers" not in administrator.get(f"{_PATH}/{first['id']}").json()
    shown_alert = administrator.get(f"{_PATH}/{first['id']}?fields=triggers").json()
    assert [one["fullyQualifiedName"] for one in shown_alert["triggers"]] == ["Second"]
    assert administrator.delete(f"{_PATH}/{second['id']}").is_success
    assert not administrator.get(f"{_PATH}/{first['id']}?fields=triggers").json().get("triggers")


def test_a_loop_is_refused_with_its_way(administrator: httpx.Client, second: Json) -> None:
    first = alert(administrator, "First", DESCRIBED, triggers=["Second"])
    third = alert(administrator, "Third", DESCRIBED, triggers=["First"])
    assert third["triggers"][0]["id"] == first["id"]
    change = {"op": "add", "path": "/triggers", "value": [{"name": "Third", "type": "eventsubscription"}]}
    answer = send_patch(administrator, f"{_PATH}/{second['id']}", change)
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "triggers[0]: makes a loop: Second -> Third -> First -> Second",
    )
    itself = send_patch(administrator, f"{_PATH}/{first['id']}", {"op": "add", "path": "/triggers", "value": ["First"]})
    assert itself.json()["message"] == "triggers[0]: makes a loop: First -> First"


@pytest.mark.parametrize(
    ("triggers", "message"),
    [
        ("Second", "triggers: must be a list"),
        (["Secnd"], "triggers[0]: unknown alert 'Secnd'; did you mean Second?"),
        ([{"type": "table", "name": "Second"}], "triggers[0]: must be a reference to an alert"),
        ([7], "triggers[0]: must be a reference to an alert"),
        ([{}], "triggers[0]: unknown alert ''"),
        (["Second"] * 21, "triggers: must be a list of at most 20 alerts"),
    ],
)
def test_broken_triggers_are_refused_with_their_place(
    administrator: httpx.Client, second: Json, triggers: Json, message: str
) -> None:
    request = {"name": "First", "alertType": "Notification", "resources": ["table"], "triggers": triggers}
    answer = administrator.post(_PATH, json=request)
    assert (answer.status_code, answer.json()["message"].startswith(message)) == (400, True), answer.text


def test_only_editors_of_an_alert_let_others_trigger_it(
    administrator: httpx.Client, second: Json, person: Person
) -> None:
    _, ann = person("ann")
    request = {"name": "Mine", "alertType": "Notification", "resources": ["table"], "triggers": ["Second"]}
    answer = ann.post(_PATH, json=request)
    assert (answer.status_code, "Only editors of alert Second" in answer.json()["message"]) == (403, True)


def test_who_changes_an_alert_keeps_alerts_that_it_names_and_they_may_not_see(
    administrator: httpx.Client, second: Json, person: Person
) -> None:
    user_id, ann = person("ann")
    first = alert(administrator, "First", DESCRIBED, triggers=["Second"], owners=[{"id": user_id, "type": "user"}])
    deny = {
        "effect": "deny",
        "operations": ["ViewAll", "ViewBasic"],
        "resources": ["eventsubscription"],
        "condition": "!isOwner()",
    }
    restrict(administrator, user_id, deny)
    assert ann.get(f"{_PATH}/{second['id']}").status_code in (403, 404)
    answer = send_patch(ann, f"{_PATH}/{first['id']}", {"op": "add", "path": "/description", "value": "changed"})
    assert answer.is_success, answer.text
    shown_alert = administrator.get(f"{_PATH}/{first['id']}?fields=triggers").json()
    assert (shown_alert["description"], [one["id"] for one in shown_alert["triggers"]]) == ("changed", [second["id"]])
    refusal = send_patch(ann, f"{_PATH}/{first['id']}", {"op": "add", "path": "/triggers", "value": ["Second"]})
    assert refusal.json()["message"].startswith("triggers[0]: unknown alert 'Second'"), refusal.text


FAILED = {"effect": "include", "condition": "testStatus == 'Failed'"}


@pytest.fixture
def upstream(administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Json:
    """An alert on failures of tests, with the open incident INC-1 of a test of ``orders``."""
    rules = {"resources": ["testCase"], "rules": [FAILED]}
    quality = alert(administrator, "Quality", alertType="Observability", filteringRules=rules)
    link = f"<#E::table::{orders['fullyQualifiedName']}::columns::email>"
    definition = "columnValuesToBeNotNull"
    case = create_entity(
        administrator, "/dataQuality/testCases", name="null", entityLink=link, testDefinition=definition
    )
    result = {"timestamp": int(case["updatedAt"]), "testCaseStatus": "Failed"}
    path = f"/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
    assert administrator.post(path, json=result).is_success
    notify_all(sqlite_engine)
    return quality


def test_who_is_held_back_reads_by_what(
    administrator: httpx.Client, orders: Json, upstream: Json, sqlite_engine: Engine
) -> None:
    depending = alert(administrator, "Depending", DESCRIBED, dependsOn=["Quality"])
    assert [one["name"] for one in depending["dependsOn"]] == ["Quality"]
    assert "dependsOn" not in administrator.get(f"{_PATH}/{depending['id']}").json()
    first, second = (describe(administrator, orders, text) for text in ("one", "two"))
    (passing,) = (log.offset for log in (EventLog(sqlite_engine).find(first),) if log)
    waiting = Waiting(passing, orders["id"], depending["id"], (upstream["id"],))
    assert Holding(sqlite_engine).find_held_back([waiting], may_claim=True)
    (notifying,) = explanation_of(administrator, first, subscription="Depending")["alerts"]
    (prevented,) = explanation_of(administrator, second, subscription="Depending")["alerts"]
    says = "INC-1 of an alert that it depends on holds it back, upstream"
    assert (notifying["matched"], prevented["matched"], prevented["gates"][-1]["says"]) == (True, False, says)
    assert prevented["obstacles"] == [says]


def test_an_alert_depends_only_on_what_opens_incidents_and_never_on_itself(
    administrator: httpx.Client, upstream: Json, second: Json
) -> None:
    request = {"name": "First", "alertType": "Notification", "resources": ["table"], "dependsOn": ["Second"]}
    answer = administrator.post(_PATH, json=request)
    message = (
        "dependsOn[0]: alert Second opens no incidents: it needs alertType Observability or a condition on results"
    )
    assert (answer.status_code, answer.json()["message"]) == (400, message)
    itself = {"op": "add", "path": "/dependsOn", "value": ["Quality"]}
    answer = send_patch(administrator, f"{_PATH}/{upstream['id']}", itself)
    assert answer.json()["message"] == "dependsOn[0]: makes a loop: Quality -> Quality"
