"""Tests of log-ins and log-outs as change events of the user."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_openid import log_in as log_in_at_provider
from tests.notifying import notify_all
from tests.openidprovider import Provider, provider, settings
from tests.serving import Json, Served, running_server
from tests.startedstore import StartedStore

__all__ = ["provider"]

SESSIONS = "eventType=userLogin,userLogout"


def sessions(client: httpx.Client, name: str) -> list[str]:
    """Return what the log has of somebody's sessions."""
    events = client.get(f"/events?{SESSIONS}&limit=1000").json()["data"]
    return [one["eventType"] for one in events if one["entityFullyQualifiedName"] == name]


def test_a_session_begins_with_one_event_of_the_user_and_ends_with_one(
    served: Served, administrator: httpx.Client
) -> None:
    user_id, alice = served.person("alice")
    with alice:
        assert sessions(administrator, "alice") == ["userLogin"]
        assert alice.get("/tables").status_code == 200
        assert alice.post("/users/logout", json={}).status_code == 200
        alice.post("/users/logout", json={})
    assert sessions(administrator, "alice") == ["userLogin", "userLogout"]
    (begin_event, end_event) = [
        session_event
        for session_event in administrator.get(f"/events?{SESSIONS}&limit=1000").json()["data"]
        if session_event["entityId"] == user_id
    ]
    for event in (begin_event, end_event):
        assert (event["entityType"], event["userName"]) == ("user", "alice")
        assert event["previousVersion"] == event["currentVersion"]
    assert administrator.get(f"/users/{user_id}").json()["version"] == begin_event["currentVersion"]


def test_a_refused_log_in_and_other_uses_of_a_password_are_no_session(
    served: Served, administrator: httpx.Client
) -> None:
    _, alice = served.person("alice")
    with alice, served.client() as stranger:
        wrong = {"email": "alice@example.org", "password": "wrong"}
        assert stranger.post("/users/login", json=wrong).status_code == 401
        body = {"tokenName": "notebook", "JWTTokenExpiry": "7", "password": "alice-password"}
        token = alice.put("/users/security/token", json=body).json()
        change = {"oldPassword": "alice-password", "newPassword": "another-password"}
        assert alice.put("/users/changePassword", json=change).status_code == 200
    with served.client(token["jwtToken"]) as notebook:
        notebook.post("/users/logout", json={})
    assert sessions(administrator, "alice") == ["userLogin"]


def test_only_who_may_see_the_user_sees_their_sessions(served: Served, administrator: httpx.Client) -> None:
    served.person("alice")[1].close()
    _, bob = served.person("bob")
    rule = {"name": "nobody", "effect": "deny", "operations": ["ViewAll"], "resources": ["user"]}
    policy = {"name": "hidden", "rules": [rule | {"condition": "!isOwner()"}]}
    with bob:
        assert sessions(bob, "alice") == ["userLogin"]
        response = administrator.post("/policies", json=policy)
        assert response.status_code == 201, response.text
        root = administrator.get("/teams/name/Organization?fields=policies").json()
        reference = {"id": response.json()["id"], "type": "policy"}
        operation = {"op": "add", "path": "/policies/-", "value": reference}
        patch_answer = administrator.patch(
            f"/teams/{root['id']}", json=[operation], headers={"Content-Type": "application/json-patch+json"}
        )
        assert patch_answer.status_code == 200, patch_answer.text
        assert sessions(bob, "alice") == []


@pytest.fixture
def company(sqlite_engine: Engine, started_store: StartedStore, provider: Provider) -> Iterator[Served]:
    with running_server(sqlite_engine, settings(provider), password=started_store.password) as running:
        yield running


def test_a_log_in_at_the_provider_begins_one_session(company: Served, provider: Provider) -> None:
    assert log_in_at_provider(company, provider).status_code == 200
    with company.administrator() as administrator:
        assert sessions(administrator, "alice") == ["userLogin"]


def alert(name: str, condition: str | None, resource: str = "all") -> Json:
    rules = [{"name": "r", "effect": "include", "condition": condition}] if condition else []
    return {
        "name": name,
        "alertType": "Notification",
        "trigger": {"triggerType": "RealTime"},
        "filteringRules": {"resources": [resource], "rules": rules},
        "destinations": [{"category": "Admins", "type": "ActivityFeed"}],
    }


def test_an_alert_on_everything_tells_of_log_ins_only_if_it_names_them(
    served: Served, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    for name, condition in (
        ("Everything", None),
        ("NotDeleted", "eventType != 'entityDeleted'"),
        ("LogIns", "matchAnyEventType({'userLogin'})"),
    ):
        assert administrator.post("/events/subscriptions", json=alert(name, condition)).status_code == 201
    user_id, alice = served.person("alice")
    with alice:
        notify_all(sqlite_engine)
    admin_id = administrator.get("/users/loggedInUser").json()["id"]
    notifications = administrator.get(f"/users/{admin_id}/notifications?limit=100").json()["data"]
    (of_log_in,) = [one for one in notifications if one["title"].startswith("alice: logged")]
    assert (of_log_in["title"], of_log_in["entityId"]) == ("alice: logged in", user_id)
    assert [reason["subscriptionName"] for reason in of_log_in["reasons"]] == ["LogIns"], of_log_in


def test_an_explanation_says_that_the_alert_does_not_name_log_ins(
    served: Served, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    administrator.post("/events/subscriptions", json=alert("Everything", None, "user")).raise_for_status()
    user_id, alice = served.person("alice")
    alice.close()
    notify_all(sqlite_engine)
    (event,) = [
        log_in
        for log_in in administrator.get("/events?eventType=userLogin").json()["data"]
        if log_in["entityId"] == user_id
    ]
    answer = administrator.get(f"/events/{event['id']}/explain", params={"subscription": "Everything"})
    assert "the alert does not name userLogin" in answer.text
