"""Tests of notification preferences by HTTP and on the command line."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_explain import alert, assign_owners, describe, explanation_of
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.model.preferences import Layers, Preferences
from tocsin.store.outbox.preferences import SqlPreferences

DEFAULTS = {"timezone": "UTC", "digestAt": "09:00", "digestDay": "monday", "categories": {}, "kinds": {}}
DEFAULTS |= {"roles": {}}
NIGHT = {"quietHours": {"start": "20:00", "end": "08:00"}, "timezone": "Europe/Berlin"}


def test_preferences_are_set_whole_and_read_back(served: Served) -> None:
    ann, client = served.person("ann")
    with client:
        assert client.get(f"/users/{ann}/preferences").json() == DEFAULTS
        preferences = NIGHT | {
            "frequency": "immediate",
            "categories": {"description": "daily", "usage": "weekly"},
            "kinds": {"deletion": {"Email": "hourly", "ActivityFeed": "never"}},
            "digestDay": "friday",
            "workingDays": ["monday", "tuesday", "thursday"],
            "leaveOutRead": True,
            "inboxDays": 30,
        }
        assert client.put(f"/users/{ann}/preferences", json=preferences).json() == DEFAULTS | preferences
        assert client.get(f"/users/{ann}/preferences").json() == DEFAULTS | preferences
        assert client.put(f"/users/{ann}/preferences", json={}).json() == DEFAULTS
        assert client.get(f"/users/{ann}/preferences").json() == DEFAULTS


def test_a_second_tab_does_not_overwrite_what_the_first_has_changed(served: Served) -> None:
    ann, client = served.person("ann")
    address = f"/users/{ann}/preferences"
    with client:
        first_tag = client.get(address).headers["ETag"]
        assert client.get(address).headers["ETag"] == first_tag, "the same for the same preferences"
        first = client.put(address, json={"frequency": "daily"}, headers={"If-Match": first_tag})
        assert first.status_code == 200
        assert first.headers["ETag"] == client.get(address).headers["ETag"] != first_tag
        second = client.put(address, json={"timezone": "Europe/Berlin"}, headers={"If-Match": first_tag})
        assert (second.status_code, second.json()["code"]) == (412, 412)
        assert second.json()["message"].startswith("The preferences have changed since they were read")
        assert client.get(address).json() == DEFAULTS | {"frequency": "daily"}
        for tags in (f'"other", {first.headers["ETag"]}', "*"):
            assert client.put(address, json={"frequency": "daily"}, headers={"If-Match": tags}).status_code == 200
        assert client.put(address, json={}).json() == DEFAULTS, "who does not ask replaces all, as ever"


def test_the_answer_of_a_change_is_what_it_wrote_whoever_changes_it_next(served: Served, sqlite_engine: Engine) -> None:
    ann, client = served.person("ann")
    address = f"/users/{ann}/preferences"

    class ChangedAtOnce(SqlPreferences):
        """Preferences that another tab changes as soon as one has."""

        def put(self, user_id: str, preferences: Preferences, **options: Any) -> Layers:
            written_layers = super().put(user_id, preferences, **options)
            super().put(user_id, Preferences(timezone="Asia/Tokyo"), now_ms=1)
            return written_layers

    served.app.state.parts.alert_stores.preferences = ChangedAtOnce(sqlite_engine)
    with client:
        first = client.put(address, json=NIGHT)
        assert first.json() == DEFAULTS | NIGHT
        of_other_tab = client.get(address)
        assert of_other_tab.json() == DEFAULTS | {"timezone": "Asia/Tokyo"}
        assert first.headers["ETag"] != of_other_tab.headers["ETag"]
        late = client.put(address, json={}, headers={"If-Match": first.headers["ETag"]})
        assert late.status_code == 412


def test_the_tag_changes_with_what_the_server_has_for_all(served: Served, administrator: httpx.Client) -> None:
    ann, client = served.person("ann")
    with client:
        tag = client.get(f"/users/{ann}/preferences").headers["ETag"]
        assert administrator.put("/system/preferences", json={"timezone": "Asia/Tokyo"}).is_success
        late = client.put(f"/users/{ann}/preferences", json={}, headers={"If-Match": tag})
        assert late.status_code == 412


def test_what_is_read_can_be_sent_back_without_making_the_servers_times_ones_own(
    served: Served, administrator: httpx.Client
) -> None:
    ann, client = served.person("ann")
    evening = NIGHT | {"digestAt": "18:00", "digestDay": "friday", "mostPerHour": 5}
    with client:
        assert administrator.put("/system/preferences", json=evening).status_code == 200
        answer = client.get(f"/users/{ann}/preferences").json()
        assert (answer["digestAt"], answer["quietHours"]) == ("18:00", NIGHT["quietHours"])
        choice = answer | {"digestDay": "monday"}
        assert client.put(f"/users/{ann}/preferences", json=choice).json() == choice
        assert client.put(f"/users/{ann}/preferences", json=choice).json() == choice
        morning = {"timezone": "Asia/Tokyo", "digestAt": "07:00", "digestDay": "sunday"}
        assert administrator.put("/system/preferences", json=morning).status_code == 200
        later_answer = client.get(f"/users/{ann}/preferences").json()
        assert (later_answer["timezone"], later_answer["digestAt"], later_answer["digestDay"]) == (
            "Asia/Tokyo",
            "07:00",
            "monday",
        )
        assert "quietHours" not in later_answer and "mostPerHour" not in later_answer
        pinned_choice = later_answer | {"digestDay": "sunday"}
        assert client.put(f"/users/{ann}/preferences", json=pinned_choice).json() == pinned_choice
        assert administrator.put("/system/preferences", json={"digestDay": "tuesday"}).status_code == 200
        assert client.get(f"/users/{ann}/preferences").json()["digestDay"] == "sunday"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"timezone": "Europe/Berln"}, "timezone: unknown time zone 'Europe/Berln'"),
        ({"timezone": "Europe/Berln"}, "did you mean"),
        ({"timezone": "localtime"}, "timezone: "),
        (
            {"quietHours": {"start": "25:00", "end": "8"}},
            "quietHours.start: must be a time of the day from 00:00 to 23:59, such as 20:00, not '25:00'; quiet",
        ),
        ({"quietHours": {"start": "08:00", "end": "08:00"}}, "quietHours.end: must differ from start"),
        ({"quietHours": {"start": "08:00"}}, "quietHours.end"),
        ({"digestAt": "24:00"}, "digestAt: must be a time of the day from 00:00 to 23:59"),
        ({"frequency": "monthly"}, "frequency"),
        ({"digestDay": "someday"}, "digestDay"),
        ({"workingDays": ["someday"]}, "workingDays"),
        ({"workingDays": []}, "workingDays"),
        ({"away": {"start": 5, "until": 5}}, "away.until: must be later than away.start"),
        ({"away": {"start": 5}}, "away.until"),
        ({"kinds": {"descriptions": {"Email": "daily"}}}, "kinds.descriptions: 'descriptions' is not a kind"),
        ({"kinds": {"description": {"Fax": "daily"}}}, "kinds.description.Fax: must be 'Webhook', 'Slack'"),
        (
            {"kinds": {"description": {"GovernanceWorkflowChangeEvent": "daily"}}},
            "kinds.description.GovernanceWorkflowChangeEvent: GovernanceWorkflowChangeEvent takes no preference",
        ),
        ({"kinds": {"description": {"Fax": "daily"}}}, "kinds.description"),
        ({"kinds": {"description": {"Email": "daily 25:00"}}}, "kinds.description.Email: must be immediate"),
        ({"kinds": {"description": {"Email": "daily friday"}}}, "not 'daily friday'"),
        ({"kinds": {"description": {"Email": "never 08:00"}}}, "not 'never 08:00'"),
        ({"categories": {"description": "daily 08:30"}}, "categories.description"),
        ({"categories": {"descriptions": "daily"}}, "categories.descriptions: 'descriptions' is not a category"),
        ({"categories": {"description": "monthly"}}, "categories.description"),
        ({"inboxDays": 0}, "inboxDays"),
        ({"inboxDays": "30"}, "inboxDays"),
        ({"color": "blue"}, "color"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(served: Served, body: Json, message: str) -> None:
    ann, client = served.person("ann")
    with client:
        answer = client.put(f"/users/{ann}/preferences", json=body)
        assert (answer.status_code, message in answer.json()["message"]) == (400, True), answer.text
        assert client.get(f"/users/{ann}/preferences").json() == DEFAULTS


def test_preferences_are_ones_own(served: Served, administrator: httpx.Client) -> None:
    ann, client_of_ann = served.person("ann")
    _, client_of_bob = served.person("bob")
    with client_of_ann, client_of_bob:
        assert client_of_bob.get(f"/users/{ann}/preferences").status_code == 403
        assert client_of_bob.put(f"/users/{ann}/preferences", json=NIGHT).status_code == 403
        assert administrator.put(f"/users/{ann}/preferences", json=NIGHT).status_code == 200
        assert client_of_ann.get(f"/users/{ann}/preferences").json()["timezone"] == "Europe/Berlin"
    unknown = "00000000-0000-0000-0000-000000000000"
    assert administrator.get(f"/users/{unknown}/preferences").status_code == 404


def test_one_is_away_by_oneself_and_the_server_is_not(served: Served, administrator: httpx.Client) -> None:
    ann, client = served.person("ann")
    _, client_of_bob = served.person("bob")
    away = {"away": {"start": 1, "until": 4_000_000_000_000}}
    with client, client_of_bob:
        assert client.put(f"/users/{ann}/preferences", json=away).json() == DEFAULTS | away
        assert client_of_bob.put(f"/users/{ann}/preferences", json={"away": None}).status_code == 403
        assert client.put(f"/users/{ann}/preferences", json={"away": None}).json() == DEFAULTS
    team = make_team(administrator, "buyers", [ann])
    for path in ("/system/preferences", f"/teams/{team}/preferences"):
        refusal = administrator.put(path, json=away)
        assert (refusal.status_code, "is for a person" in refusal.json()["message"]) == (400, True), refusal.text


def test_an_inbox_is_kept_no_longer_than_the_server_keeps_notifications(
    served: Served, administrator: httpx.Client
) -> None:
    ann, client = served.person("ann")
    assert administrator.put("/system/retention", json={"notificationDays": 30}).status_code == 200
    with client:
        refusal = client.put(f"/users/{ann}/preferences", json={"inboxDays": 31})
        assert (refusal.status_code, "inboxDays: must be at most 30" in refusal.json()["message"]) == (400, True)
        assert client.put(f"/users/{ann}/preferences", json={"inboxDays": 30}).status_code == 200
        assert client.get(f"/users/{ann}/preferences/effective").json()["inboxDays"] == 30
        assert administrator.put("/system/retention", json={"notificationDays": 9}).status_code == 200
        assert client.put(f"/users/{ann}/preferences", json={"inboxDays": 30, "timezone": "UTC"}).status_code == 200
    team = make_team(administrator, "buyers", [ann])
    for path in ("/system/preferences", f"/teams/{team}/preferences"):
        refusal = administrator.put(path, json={"inboxDays": 9})
        assert (refusal.status_code, "is for a person" in refusal.json()["message"]) == (400, True), refusal.text


def test_an_explanation_says_that_a_message_waits_for_its_recipients_time(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    with client:
        client.put(f"/users/{ann}/preferences", json={"frequency": "weekly"})
        event = describe(administrator, orders, "one")
        notify_all(sqlite_engine)
        explanation = explanation_of(client, event, subscription="Mail", user="ann")
        (first,) = explanation["notified"]["data"]
        client.put(f"/users/{ann}/preferences", json={"frequency": "immediate"})
        new_explanation = explanation_of(client, event, subscription="Mail", user="ann")
    assert "as you prefer everything weekly (not delivered yet, 0 attempts)" in explanation["answer"]
    assert f"by mail in {first['digest']['says']} as you prefer" in explanation["answer"]
    assert re.fullmatch(r"the weekly digest of Monday \d+ \w+ \d{4}, 09:00 UTC", first["digest"]["says"])
    assert (first["digest"]["dueAt"], first["digest"]["sentAt"]) == (first["dueAt"], None)
    assert new_explanation["notified"]["data"][0]["digest"] is None
    assert " after your preferences changed (not delivered yet, 0 attempts)" in new_explanation["answer"]


@pytest.mark.parametrize(
    ("preferences", "defaults", "says"),
    [
        (
            {"kinds": {"description": {"ActivityFeed": "never"}}},
            {},
            "No: you were not notified in the app (not shown: you never want to hear of changed descriptions (to change"
            " that: tocsin kinds description --frequency immediate)), although you own it",
        ),
        (
            {},
            {"kinds": {"description": {"ActivityFeed": "never"}}},
            "No: you were not notified in the app (not shown: by the server's defaults nobody hears of changed"
            " descriptions (to change that: tocsin kinds description --frequency immediate)), although you own it",
        ),
        (
            {"kinds": {"description": {"ActivityFeed": "never"}}},
            {"mandatory": ["description"]},
            "as the server, for which this is mandatory, sends changed descriptions at once (unread)",
        ),
    ],
)
def test_an_explanation_names_the_rule_that_kept_a_message_back_and_how_to_change_it(
    served: Served,
    administrator: httpx.Client,
    orders: Json,
    sqlite_engine: Engine,
    preferences: Json,
    defaults: Json,
    says: str,
) -> None:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    alert(administrator, "Bell", destinations=[{"category": "Owners", "type": "ActivityFeed"}])
    with client:
        client.put(f"/users/{ann}/preferences", json=preferences)
        administrator.put("/system/preferences", json=defaults)
        event = describe(administrator, orders, "one")
        notify_all(sqlite_engine)
        explanation = explanation_of(client, event, subscription="Bell", user="ann")
    assert says in explanation["answer"]


def test_the_kinds_of_change_are_listed_with_whether_anything_writes_their_events(served: Served) -> None:
    _, client = served.person("ann")
    with client:
        kinds = {kind["name"]: kind for kind in client.get("/changeKinds").json()["data"]}
    assert kinds["description"] == {
        "name": "description",
        "label": "Descriptions",
        "group": "metadata",
        "frequency": "daily",
        "hasEvents": True,
        "crosses": False,
        "isUrgent": False,
    }
    assert kinds["profileAnomaly"]["hasEvents"] is False


def test_times_that_are_unset_are_shown_as_those_of_the_server(served: Served, administrator: httpx.Client) -> None:
    ann, client = served.person("ann")
    path, votes = f"/users/{ann}/preferences", {"kinds": {"vote": {"Email": "weekly"}}}
    with client:
        assert client.put(path, json=votes).json() == DEFAULTS | votes
        administrator.put("/system/preferences", json=NIGHT | {"digestAt": "07:00"})
        assert client.get(path).json() == DEFAULTS | votes | NIGHT | {"digestAt": "07:00"}
        awake = votes | {"quietHours": None, "timezone": "UTC"}
        assert client.put(path, json=awake).json() == DEFAULTS | awake | {"digestAt": "07:00"}
        assert client.put(path, json=client.get(path).json()).json() == DEFAULTS | awake | {"digestAt": "07:00"}
        administrator.put("/system/preferences", json={"workingDays": ["monday"]})
        assert client.get(path).json() == DEFAULTS | votes | {"workingDays": ["monday"]}
        always = votes | {"workingDays": None}
        assert client.put(path, json=always).json() == DEFAULTS | always
        administrator.put("/system/preferences", json={})
        assert client.get(path).json() == DEFAULTS | votes


def test_administrators_set_defaults_and_what_is_mandatory_cannot_be_switched_off(
    served: Served, administrator: httpx.Client
) -> None:
    ann, client = served.person("ann")
    assert administrator.get("/system/preferences").json() == DEFAULTS | {"mandatory": [], "mandatoryRoles": {}}
    preset_answer = administrator.put("/system/preferences", json={"preset": "recommended"}).json()
    assert preset_answer["kinds"]["description"] == {"Email": "daily"}
    assert preset_answer["kinds"]["usage"] == {"Email": "weekly"}
    assert "deletion" not in preset_answer["kinds"]
    answer = administrator.put("/system/preferences", json={"preset": "recomended"})
    assert "'recomended' is no preset; there is 'recommended'" in answer.json()["message"]
    answer = administrator.put("/system/preferences", json={"preset": "recommended", "mandatory": ["deletion"]})
    assert "stands alone: it sets all other keys" in answer.json()["message"]
    answer = administrator.put("/system/preferences", json={"mandatory": ["delation"]})
    assert (answer.status_code, "did you mean deletion" in answer.json()["message"]) == (400, True)
    assert administrator.put("/system/preferences", json={"mandatory": ["deletion"]}).status_code == 200
    off = {"kinds": {"deletion": {"Email": "never"}}}
    with client:
        assert client.put("/system/preferences", json={}).status_code == 403
        assert client.get("/system/preferences").json()["mandatory"] == ["deletion"]
        answer = client.put(f"/users/{ann}/preferences", json=off)
        assert (answer.status_code, "kinds.deletion: is mandatory" in answer.json()["message"]) == (400, True)
        assert client.put(f"/users/{ann}/preferences", json={"kinds": {"vote": {"Email": "never"}}}).status_code == 200
        administrator.put("/system/preferences", json={"mandatory": ["deletion", "vote"]})
        same_choice = {"kinds": {"vote": {"Email": "never"}}, "digestAt": "10:00"}
        assert client.put(f"/users/{ann}/preferences", json=same_choice).status_code == 200, (
            "other keys can still be set"
        )
        further = {"kinds": {"vote": {"Email": "never", "ActivityFeed": "never"}}}
        assert client.put(f"/users/{ann}/preferences", json=further).status_code == 400
        assert client.put(f"/users/{ann}/preferences", json={"frequency": "never"}).status_code == 200


def cells(client: httpx.Client, user_id: str, kind: str) -> Json:
    """Return what holds for a person of a kind of change, by channel."""
    effective = client.get(f"/users/{user_id}/preferences/effective").json()
    (channels,) = (row["channels"] for row in effective["kinds"] if row["kind"] == kind)
    return dict(channels)


def test_the_matrix_says_of_each_cell_how_often_when_and_whose_choice_it_is(
    served: Served, administrator: httpx.Client
) -> None:
    ann, client = served.person("ann")
    with client:
        assert cells(client, ann, "description")["Email"] == {"frequency": "immediate", "from": "nobody"}
        administrator.put("/system/preferences", json={"preset": "recommended"})
        daily = {"frequency": "daily", "at": "09:00", "from": "recommended", "by": "description"}
        assert cells(client, ann, "description")["Email"] == daily
        team = make_team(administrator, "buyers", [ann])
        weekly = {"kinds": {"description": {"Email": "weekly"}}, "digestAt": "07:30"}
        assert administrator.put(f"/teams/{team}/preferences", json=weekly).json() == weekly
        cell = cells(client, ann, "description")["Email"]
        assert (cell["frequency"], cell["at"], cell["from"]) == ("weekly", "monday 07:30", "team")
        assert (cell["team"]["id"], cell["team"]["name"]) == (team, "buyers")
        client.put(f"/users/{ann}/preferences", json={"kinds": {"description": {"Email": "weekly friday"}}})
        assert cells(client, ann, "description")["Email"]["at"] == "friday 07:30"
        client.put(f"/users/{ann}/preferences", json={"categories": {"description": "never"}})
        assert cells(client, ann, "description")["Email"] == {"frequency": "never", "from": "own", "by": "description"}
        administrator.put("/system/preferences", json={"mandatory": ["description"]})
        assert cells(client, ann, "description")["Email"]["from"] == "mandatory"
        assert cells(client, ann, "bot")["Email"] == {"from": "nobody"}


def test_a_kind_may_be_mandatory_in_a_role_alone(served: Served, administrator: httpx.Client) -> None:
    ann, client = served.person("ann")
    wrong = {"mandatoryRoles": {"owned": ["delation"]}}
    answer = administrator.put("/system/preferences", json=wrong)
    assert (answer.status_code, "mandatoryRoles.owned" in answer.json()["message"]) == (400, True)
    assert administrator.put("/system/preferences", json={"mandatoryRoles": {"boss": ["deletion"]}}).status_code == 400
    by_role = {"mandatoryRoles": {"owned": ["deletion"]}}
    assert administrator.put("/system/preferences", json=by_role).json()["mandatoryRoles"] == {"owned": ["deletion"]}
    off: dict[str, Any] = {"kinds": {"deletion": {"Email": "never"}}}
    with client:
        path = f"/users/{ann}/preferences"
        assert client.put("/system/preferences", json={}).status_code == 403
        assert client.put(path, json=by_role).status_code == 400
        answer = client.put(path, json={"roles": {"owned": off["kinds"]}})
        assert (answer.status_code, "roles.owned.deletion: is mandatory" in answer.json()["message"]) == (400, True)
        assert client.put(path, json=off | {"roles": {"followed": off["kinds"]}}).status_code == 200
        kinds = client.get(f"{path}/effective").json()["kinds"]
        row = next(one for one in kinds if one["kind"] == "deletion")
        assert (row["isMandatory"], row["mandatoryRoles"]) == (False, ["owned"])
        sources = {role: cells["Email"]["from"] for role, cells in row["roles"].items()}
        assert (sources["owned"], sources["followed"]) == ("mandatory", "own")
        assert row["channels"]["Email"]["frequency"] == "never"


def make_team(administrator: httpx.Client, name: str, user_ids: list[str], **fields: object) -> str:
    """Create a team; return its id."""
    users = [{"id": one, "type": "user"} for one in user_ids]
    created = administrator.post("/teams", json={"name": name, "teamType": "Group", "users": users, **fields})
    assert created.status_code == 201, created.text
    return str(created.json()["id"])


def test_a_teams_defaults_are_set_by_its_owners_and_administrators_alone(
    served: Served, administrator: httpx.Client
) -> None:
    ann, client_of_ann = served.person("ann")
    bob, client_of_bob = served.person("bob")
    team = make_team(administrator, "buyers", [ann, bob], owners=[{"id": bob, "type": "user"}])
    path, weekly = f"/teams/{team}/preferences", {"frequency": "weekly"}
    with client_of_ann, client_of_bob:
        assert client_of_ann.put(path, json=weekly).status_code == 403
        assert client_of_ann.get(path).json() == {}
        assert client_of_bob.put(path, json=weekly).json() == weekly
        assert client_of_ann.get(path).json() == weekly
        assert client_of_bob.put(path, json={"kinds": {"deletoin": {"Email": "daily"}}}).status_code == 400
        assert client_of_bob.put(path, json={"mandatory": ["deletion"]}).status_code == 400
        administrator.put("/system/preferences", json={"mandatory": ["deletion"]})
        off = client_of_bob.put(path, json={"kinds": {"deletion": {"Email": "never"}}})
        assert (off.status_code, "kinds.deletion: is mandatory" in off.json()["message"]) == (400, True)
        assert client_of_bob.get(f"/users/{ann}/preferences/effective").status_code == 403
    unknown = "00000000-0000-0000-0000-000000000000"
    root = administrator.get("/teams/name/Organization").json()["id"]
    assert "of the server" in administrator.put(f"/teams/{root}/preferences", json=weekly).json()["message"]
    assert administrator.put(f"/teams/{unknown}/preferences", json={}).status_code == 404
    assert administrator.get(f"/teams/{ann}/preferences").status_code == 404


def test_a_bot_sets_neither_a_persons_preferences_nor_a_teams(served: Served, administrator: httpx.Client) -> None:
    ann, _ = served.person("ann")
    _, bot = served.person("crawler", isBot=True)
    team = make_team(administrator, "buyers", [ann])
    with bot:
        assert bot.put(f"/users/{ann}/preferences", json={}).status_code == 403
        assert bot.put(f"/teams/{team}/preferences", json={}).status_code == 403
        assert bot.put("/system/preferences", json={}).status_code == 403


def test_a_team_that_is_hidden_from_a_member_decides_without_being_named(
    served: Served, administrator: httpx.Client
) -> None:
    ann, client = served.person("ann")
    team = make_team(administrator, "secretives", [ann])
    administrator.put(f"/teams/{team}/preferences", json={"frequency": "weekly"})
    deny = {
        "name": "HideTeams",
        "rules": [{"name": "hide", "effect": "deny", "operations": ["All"], "resources": ["team"]}],
    }
    assert administrator.post("/policies", json=deny).status_code == 201
    root = administrator.get("/teams/name/Organization?fields=policies").json()
    (policy,) = [administrator.get("/policies/name/HideTeams").json()]
    add = [{"op": "add", "path": "/policies/-", "value": {"id": policy["id"], "type": "policy"}}]
    answer = administrator.patch(
        f"/teams/{root['id']}", json=add, headers={"Content-Type": "application/json-patch+json"}
    )
    assert answer.status_code == 200, answer.text
    with client:
        effective = client.get(f"/users/{ann}/preferences/effective")
        assert "secretives" not in effective.text and team not in effective.text
        cell = cells(client, ann, "description")["Email"]
        assert (cell["frequency"], cell["from"], "team" in cell) == ("weekly", "team", False)
        assert client.get(f"/teams/{team}/preferences").status_code in (403, 404)
