"""Choices for one follow by HTTP: set, shown, explained, refused to others, and gone with the follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import alert, describe, explanation_of
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.store.outbox.preferences import SqlPreferences

NOBODY = "00000000-0000-4000-8000-000000000000"
AT_ONCE: Json = {"channels": {"ActivityFeed": "immediate", "Email": "immediate"}}
ONLY_TESTS: Json = {"kinds": {"testFailure": {"Email": "immediate"}}, "channels": {"Email": "never"}}


@pytest.fixture
def ann(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("ann")
    with client:
        yield user_id, client


def put(client: httpx.Client, user_id: str, followed_id: str, choices: Json, **params: str) -> httpx.Response:
    return client.put(f"/users/{user_id}/following/{followed_id}/preferences", json=choices, params=params)


def choices_shown(client: httpx.Client, user_id: str) -> dict[str, Json]:
    """Return what each follow tells of, by the name of the asset and the column; None where nothing is chosen."""
    entries = client.get(f"/users/{user_id}/following").json()["data"]
    return {f"{one['asset']['name']}{one.get('column', '')}": one.get("preferences") for one in entries}


def preferences_of_mails(explanation: Json) -> list[Json]:
    return [one["preference"] for one in explanation["notified"]["data"] if one["channel"] == "Email"]


def test_what_a_follow_tells_of_is_set_shown_and_explained(
    administrator: httpx.Client, ann: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = ann
    alert(administrator, "all", destinations=[{"category": "Followers", "type": "Email"}])
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    assert choices_shown(client, user_id) == {"orders": None}
    assert put(client, user_id, orders["id"], AT_ONCE).json() == AT_ONCE
    assert choices_shown(client, user_id) == {"orders": AT_ONCE}
    client.put(f"/users/{user_id}/preferences", json={"frequency": "weekly"})
    assert choices_shown(client, user_id) == {"orders": AT_ONCE}, "preferences are set beside it"
    notify_all(sqlite_engine)
    event = describe(administrator, orders, "of today")
    notify_all(sqlite_engine)
    explanation = explanation_of(client, event, user="ann")
    name = orders["fullyQualifiedName"]
    assert f"as your follow of {name} tells of everything at once" in explanation["answer"]
    (preference,) = preferences_of_mails(explanation)
    assert preference == {"kind": None, "frequency": "immediate", "from": "follow"}
    of_administrator = explanation_of(administrator, event, user="ann")["answer"]
    assert f"as the recipient's follow of {name} tells of everything at once" in of_administrator
    assert put(client, user_id, orders["id"], {}).json() == {}
    assert choices_shown(client, user_id) == {"orders": None}


def test_many_follows_are_chosen_for_at_once_also_those_that_were_there(
    administrator: httpx.Client, ann: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = ann
    tables = [orders, *(table(administrator, name) for name in ("refunds", "returns"))]
    client.put(f"/tables/{tables[0]['id']}/followers/{user_id}")
    body = {"ids": [one["id"] for one in tables[:2]], "preferences": ONLY_TESTS}
    assert client.post(f"/users/{user_id}/follows", json=body | {"dryRun": True}).is_success
    assert choices_shown(client, user_id) == {"orders": None}
    assert client.post(f"/users/{user_id}/follows", json=body).json()["numberOfRowsPassed"] == 2
    column = {"ids": [tables[2]["id"]], "column": "id", "preferences": AT_ONCE}
    assert client.post(f"/users/{user_id}/follows", json=column).is_success
    assert choices_shown(client, user_id) == {"orders": ONLY_TESTS, "refunds": ONLY_TESTS, "returnsid": AT_ONCE}
    assert put(client, user_id, tables[2]["id"], ONLY_TESTS, column="id").is_success
    assert put(client, user_id, tables[2]["id"], ONLY_TESTS).status_code == 404, "the table itself is not followed"
    client.post(f"/users/{user_id}/unfollow", json={"ids": [tables[0]["id"]]})
    client.put(f"/tables/{tables[0]['id']}/followers/{user_id}")
    assert choices_shown(client, user_id)["orders"] is None, "a new follow begins without choices"


def test_what_is_chosen_in_another_tab_at_the_same_time_stays(
    administrator: httpx.Client, ann: tuple[str, httpx.Client], orders: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_id, client = ann
    refunds = table(administrator, "refunds")
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    store_choices = SqlPreferences.choose_for_follows

    def store_after_another_tab(self: SqlPreferences, *args: Any, **times: Any) -> None:  # Any: as of the method
        monkeypatch.setattr(SqlPreferences, "choose_for_follows", store_choices)
        request = {"ids": [refunds["id"]], "preferences": ONLY_TESTS}
        assert client.post(f"/users/{user_id}/follows", json=request).is_success
        store_choices(self, *args, **times)

    monkeypatch.setattr(SqlPreferences, "choose_for_follows", store_after_another_tab)
    assert put(client, user_id, orders["id"], AT_ONCE).is_success
    assert choices_shown(client, user_id) == {"orders": AT_ONCE, "refunds": ONLY_TESTS}


def test_a_saved_search_and_what_a_team_follows_by_default_have_choices_too(
    administrator: httpx.Client, ann: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = ann
    team = administrator.post("/teams", json={"name": "shop", "teamType": "Group", "users": [user_id]}).json()
    administrator.post(f"/teams/{team['id']}/follows", json={"ids": [orders["id"]]})
    assert put(client, user_id, orders["id"], AT_ONCE).is_success
    assert choices_shown(client, user_id) == {"orders": AT_ONCE}
    body = {"name": "Mine", "query": "type:table", "follows": True}
    search = client.post(f"/users/{user_id}/searches", json=body).json()["search"]
    assert put(client, user_id, search["id"], ONLY_TESTS).is_success
    (entry,) = client.get(f"/users/{user_id}/searches").json()["data"]
    assert entry["preferences"] == ONLY_TESTS
    client.put(f"/searches/{search['id']}/follow", json={"follows": False})
    (entry,) = client.get(f"/users/{user_id}/searches").json()["data"]
    assert "preferences" not in entry
    client.delete(f"/tables/{orders['id']}/followers/{user_id}")
    assert choices_shown(client, user_id) == {}


def test_choices_are_ones_own(
    served: Served, administrator: httpx.Client, ann: tuple[str, httpx.Client], orders: Json
) -> None:
    user_id, client = ann
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    _, bob = served.person("bob")
    robot = create_entity(administrator, "/users", name="robot", email="robot@example.org", isBot=True)
    token = administrator.put(f"/users/generateToken/{robot['id']}", json={"JWTTokenExpiry": "Unlimited"}).json()
    with bob, served.client(token["JWTToken"]) as bot:
        for stranger in (bob, bot):
            assert put(stranger, user_id, orders["id"], AT_ONCE).status_code == 403
            body = {"ids": [orders["id"]], "preferences": AT_ONCE}
            assert stranger.post(f"/users/{user_id}/follows", json=body).status_code == 403
    assert choices_shown(client, user_id) == {"orders": None}
    assert put(administrator, user_id, orders["id"], AT_ONCE).is_success
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    answer_on_hidden, answer_on_unknown = (put(client, user_id, one, AT_ONCE) for one in (orders["id"], NOBODY))
    assert (answer_on_hidden.status_code, answer_on_unknown.status_code) == (404, 404)
    assert answer_on_hidden.json()["message"].replace(orders["id"], NOBODY) == answer_on_unknown.json()["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kinds": {"descriptions": {"Email": "daily"}}}, "kinds.descriptions: 'descriptions' is not a kind"),
        ({"kinds": {"description": {"Fax": "daily"}}}, "kinds.description"),
        ({"channels": {"GovernanceWorkflowChangeEvent": "daily"}}, "channels.GovernanceWorkflowChangeEvent: "),
        ({"channels": {"Email": "monthly"}}, "channels.Email: must be immediate"),
        ({"kinds": {"testFailure": {"Email": "never"}}}, "kinds.testFailure: is mandatory here"),
        ({"frequency": "daily"}, "frequency"),
        ({"kinds": []}, "kinds"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(
    administrator: httpx.Client, ann: tuple[str, httpx.Client], orders: Json, body: Json, message: str
) -> None:
    user_id, client = ann
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    administrator.put("/system/preferences", json={"mandatory": ["testFailure"]})
    answer = put(client, user_id, orders["id"], body)
    assert (answer.status_code, message in answer.json()["message"]) == (400, True), answer.text
    bulk = client.post(f"/users/{user_id}/follows", json={"ids": [orders["id"]], "preferences": body})
    assert bulk.status_code == 400, bulk.text
    assert choices_shown(client, user_id) == {"orders": None}


def test_rows_by_role_are_set_shown_and_explained(
    administrator: httpx.Client, ann: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = ann
    alert(administrator, "all", destinations=[{"category": "Followers", "type": "Email"}])
    client.put(f"/tables/{orders['id']}/followers/{user_id}")
    preferences = {
        "kinds": {"description": {"Email": "weekly"}},
        "roles": {"followed": {"description": {"Email": "hourly"}}, "owned": {"testFailure": {"Email": "immediate"}}},
    }
    answer = client.put(f"/users/{user_id}/preferences", json=preferences).json()
    assert answer["roles"] == preferences["roles"]
    rows_by_kind = {one["kind"]: one for one in client.get(f"/users/{user_id}/preferences/effective").json()["kinds"]}
    assert rows_by_kind["description"]["channels"]["Email"]["frequency"] == "weekly"
    by_role = {"frequency": "hourly", "from": "own", "by": "description"}
    assert rows_by_kind["description"]["roles"] == {"followed": {"Email": by_role}}
    assert rows_by_kind["tag"]["roles"] == {}
    notify_all(sqlite_engine)
    event = describe(administrator, orders, "of today")
    notify_all(sqlite_engine)
    explanation = explanation_of(client, event, user="ann")
    assert "as you prefer changed descriptions of followed assets hourly" in explanation["answer"]
    by_role = {"kind": "description", "frequency": "hourly", "from": "own", "role": "followed"}
    assert preferences_of_mails(explanation) == [by_role]
    for wrong, message in (
        ({"roles": {"owner": {}}}, "roles.owner"),
        ({"roles": {"owned": {"tags": {"Email": "daily"}}}}, "roles.owned.tags: 'tags' is not a kind"),
        ({"roles": {"owned": {"tag": {"Fax": "daily"}}}}, "roles.owned.tag"),
    ):
        answer = client.put(f"/users/{user_id}/preferences", json=wrong)
        assert (answer.status_code, message in answer.json()["message"]) == (400, True), answer.text
