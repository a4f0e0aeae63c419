"""Tests of alerts that reach owners and teams at their own addresses: what is accepted, and who must may view."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_explain import Person, alert, alert_in, assign_owners, describe, explanation_of, person
from tests.notifying import notify_all
from tests.serving import Json
from tests.verified import verify_addresses

from tocsin.store.database.tables import message, notification

__all__ = ["person"]  # a fixture

SLACK = {"slack": {"endpoint": "https://hooks.slack.com/services/T01/B02/secret"}}
OWNERS = [{"category": "Owners", "type": "Slack"}]


def give(client: httpx.Client, path: str, engine: Engine, by: str) -> None:
    set_ = send_patch(client, path, {"op": "add", "path": "/profile", "value": {"subscription": SLACK}})
    assert set_.status_code == 200, set_.text
    verify_addresses(engine, path.rpartition("/")[2], by)


def targets(engine: Engine, event_id: str) -> list[str]:
    targets_of_messages = select(message.c.target).join(notification, notification.c.message_id == message.c.id)
    query = targets_of_messages.where(notification.c.event_id == event_id, message.c.channel == "Slack")
    with engine.connect() as connection:
        return [target.rpartition(":")[0] for target in connection.scalars(query)]


@pytest.mark.parametrize("channel", ["Slack", "MsTeams", "GChat", "Webhook"])
@pytest.mark.parametrize("category", ["Owners", "Teams", "Followers", "Users", "Admins", "Assignees", "Mentions"])
def test_people_and_teams_need_no_endpoint(administrator: httpx.Client, channel: str, category: str) -> None:
    create_entity(administrator, "/teams", name="crew", teamType="Group")
    config = {"receivers": ["crew" if category == "Teams" else "admin"]} if category in ("Teams", "Users") else {}
    created_alert = alert(
        administrator, "Own", destinations=[{"category": category, "type": channel, "config": config}]
    )
    (destination,) = created_alert["destinations"]
    assert (destination["category"], destination["type"]) == (category, channel)
    body = {"category": category, "type": channel, "config": {**config, "endpoint": "https://example.org/hook"}}
    refusal = administrator.post(
        "/events/subscriptions",
        json={"name": "Other", "alertType": "Notification", "destinations": [body]}
        | {"filteringRules": {"resources": ["table"]}},
    )
    assert refusal.status_code == 400
    trial = administrator.post("/events/subscriptions/testDestination", json={"destinations": [destination]})
    assert "Nothing was sent" in trial.text, trial.text


def test_a_person_is_reached_who_has_an_address_and_an_explanation_says_who_has_none(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    (ann, client), (ben, _) = person("ann"), person("ben")
    assign_owners(administrator, orders, ann, ben)
    alert(administrator, "Own", destinations=OWNERS)
    give(client, f"/users/{ann}", sqlite_engine, ann)
    event = describe(administrator, orders, "New.")
    notify_all(sqlite_engine)
    assert targets(sqlite_engine, event) == [f"own:user:{ann}"]
    answer = explanation_of(administrator, event, subscription="Own", user="ben")["answer"]
    assert answer == "No: Own matched, but ben has no address for Slack in the profile."
    explanation = explanation_of(administrator, event, subscription="Own")
    assert explanation["disagreements"] == []
    assert explanation["answer"] == "1 notification, by Own."
    administrator.delete(f"/users/{ann}")
    event = describe(administrator, orders, "Newer.")
    notify_all(sqlite_engine)
    assert targets(sqlite_engine, event) == []


def test_a_follower_is_told_at_their_address_and_a_team_once_at_its_own(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    (ann, client), (ben, client_of_ben) = person("ann"), person("ben")
    team = create_entity(administrator, "/teams", name="crew", teamType="Group", users=[ann, ben])
    assign_owners(administrator, orders, team["id"], kind="team")
    followers = [{"category": "Followers", "type": "Slack"}]
    alert(administrator, "Own", destinations=[*OWNERS, *followers])
    give(administrator, f"/teams/{team['id']}", sqlite_engine, administrator.get("/users/loggedInUser").json()["id"])
    give(client, f"/users/{ann}", sqlite_engine, ann)
    give(client_of_ben, f"/users/{ben}", sqlite_engine, ben)
    assert client.put(f"/tables/{orders['id']}/followers/{ann}").status_code in (200, 201)
    event = describe(administrator, orders, "New.")
    notify_all(sqlite_engine)
    assert sorted(targets(sqlite_engine, event)) == sorted([f"own:user:{ann}", f"own:team:{team['id']}"])


def test_an_address_that_is_not_verified_gets_nothing_and_an_explanation_says_so(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    (ann, client), (ben, client_of_ben) = person("ann"), person("ben")
    assign_owners(administrator, orders, ann, ben)
    alert(administrator, "Own", destinations=OWNERS)
    give(client_of_ben, f"/users/{ben}", sqlite_engine, ben)
    put = client.put(f"/addresses/{ann}/Slack", json={"endpoint": SLACK["slack"]["endpoint"]})
    assert put.json()["state"] == "unverified"
    event = describe(administrator, orders, "New.")
    notify_all(sqlite_engine)
    assert targets(sqlite_engine, event) == [f"own:user:{ben}"]
    answer = explanation_of(administrator, event, subscription="Own", user="ann")["answer"]
    address = "https://hooks.slack.com/services/"
    says = f"No: Own matched, but ann has an address for Slack in the profile ({address}), which is not verified."
    assert answer == says
    own_answer = explanation_of(client, event, subscription="Own", user="ann")["answer"]
    assert own_answer == says.replace("ann has", "you have").replace("the profile", "your profile")
    recipients = alert_in(explanation_of(administrator, event, subscription="Own"), "Own")["reached"]["data"]
    assert {one["name"]: one["ownAddress"] for one in recipients} == {"ann": address, "ben": address}
    assert "T01" not in str(recipients)


@pytest.mark.parametrize("hidden_from", ["setter", "deleted setter", "editor", "nobody"])
def test_who_set_the_address_of_a_team_must_may_view(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine, hidden_from: str
) -> None:
    (ann, client), (ben, client_of_ben) = person("ann"), person("ben")
    team = create_entity(administrator, "/teams", name="crew", teamType="Group", users=[ann])
    assign_owners(administrator, orders, team["id"], kind="team")
    editing = {"effect": "allow", "resources": ["team"], "operations": ["EditAll"]}
    denial = {"effect": "deny", "resources": ["table"], "operations": ["ViewAll", "ViewBasic"]}
    restrict(administrator, ann, editing, *([denial] if hidden_from == "setter" else []))
    give(client, f"/teams/{team['id']}", sqlite_engine, ann)
    alert(client_of_ben, "Own", destinations=OWNERS)
    if hidden_from == "editor":
        restrict(administrator, ben, denial)
    if hidden_from == "deleted setter":
        assert administrator.delete(f"/users/{ann}").status_code == 200
    event = describe(administrator, orders, "Hidden.")
    notify_all(sqlite_engine)
    assert targets(sqlite_engine, event) == ([f"own:team:{team['id']}"] if hidden_from == "nobody" else [])
    answer = explanation_of(administrator, event, subscription="Own")
    assert answer["disagreements"] == []
    if hidden_from in ("setter", "nobody"):
        assert [one["name"] for one in alert_in(answer, "Own")["reached"]["data"]] == ["team crew"]
