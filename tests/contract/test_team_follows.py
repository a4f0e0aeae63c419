"""Tests of what the members of a team follow by default: who decides, what members see, and how they opt out."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict, send_patch
from tests.contract.test_follows import SCHEMA, messages_in, post
from tests.contract.test_preferences import make_team
from tests.notifying import notify_all
from tests.serving import Json, Served, table

NOBODY = "00000000-0000-4000-8000-000000000000"
Person = tuple[str, httpx.Client]


@pytest.fixture
def ann(served: Served) -> Iterator[Person]:
    user_id, client = served.person("ann")
    with client:
        yield user_id, client


@pytest.fixture
def bob(served: Served) -> Iterator[Person]:
    user_id, client = served.person("bob")
    with client:
        yield user_id, client


@pytest.fixture
def tables(administrator: httpx.Client, orders: Json) -> dict[str, Json]:
    """Return two tables beside ``orders``, whose schema they are in."""
    return {name: table(administrator, name) for name in ("carts", "bills")}


def teams_by_name(client: httpx.Client, user_id: str) -> dict[str, str | None]:
    """Return what a person follows, by name, and the team by which they do."""
    page = client.get(f"/users/{user_id}/following").json()["data"]
    return {one["asset"]["name"]: one["team"]["name"] if "team" in one else None for one in page}


def follows_of(client: httpx.Client, team: str) -> list[str]:
    return [one["asset"]["name"] for one in client.get(f"/teams/{team}/follows").json()["data"]]


def test_owners_and_administrators_decide_what_members_follow(
    served: Served, administrator: httpx.Client, ann: Person, bob: Person, tables: dict[str, Json]
) -> None:
    team = make_team(administrator, "buyers", [ann[0]], owners=[{"id": bob[0], "type": "user"}])
    path, names = f"/teams/{team}/follows", {"names": [f"{SCHEMA}.carts", f"{SCHEMA}.nothing"]}
    assert ann[1].post(path, json=names).status_code == 403, "a member that is no owner"
    plan = post(bob[1], path, **names, dryRun=True)
    assert (plan["dryRun"], messages_in(plan)["carts"], plan["followCount"]) == (True, "followed", 1)
    assert follows_of(bob[1], team) == []
    assert messages_in(post(bob[1], path, **names))["carts"] == "followed"
    assert messages_in(post(administrator, path, ids=[tables["carts"]["id"], tables["bills"]["id"]])) == {
        "carts": "already followed",
        "bills": "followed",
    }
    assert follows_of(ann[1], team) == ["bills", "carts"]
    assert ann[1].post(f"/teams/{team}/unfollow", json={"q": "bills"}).status_code == 403
    assert messages_in(post(bob[1], f"/teams/{team}/unfollow", q="bills")) == {"bills": "unfollowed"}
    assert follows_of(ann[1], team) == ["carts"]
    root = administrator.get("/teams/name/Organization").json()["id"]
    assert "everybody" in administrator.post(f"/teams/{root}/follows", json=names).json()["message"]
    assert administrator.post(f"/teams/{NOBODY}/follows", json=names).status_code == 404
    assert administrator.get(f"/teams/{ann[0]}/follows").status_code == 404
    bodies: list[Json] = [
        {},
        {"column": "id", **names},
        {"names": []},
        {"ids": ["x"], "q": "y"},
        {"dryRun": "yes", **names},
    ]
    for body in bodies:
        assert administrator.post(path, json=body).status_code == 400, body
    _, bot = served.person("crawler", isBot=True)
    with bot:
        assert bot.post(path, json=names).status_code == 403


def test_members_see_where_a_follow_comes_from_are_told_and_opt_out(
    sqlite_engine: Engine, administrator: httpx.Client, ann: Person, bob: Person, tables: dict[str, Json]
) -> None:
    team = make_team(administrator, "buyers", [ann[0], bob[0]])
    post(administrator, f"/teams/{team}/follows", names=[f"{SCHEMA}.carts", f"{SCHEMA}.bills"])
    assert teams_by_name(ann[1], ann[0]) == {"bills": "buyers", "carts": "buyers"}
    assert ann[1].get(f"/users/{ann[0]}/follows").json() == {}, "direct ones alone"
    assert messages_in(post(ann[1], f"/users/{ann[0]}/unfollow", names=[f"{SCHEMA}.bills"])) == {"bills": "unfollowed"}
    event = ann[1].delete(f"/tables/{tables['carts']['id']}/followers/{ann[0]}").json()
    assert event["eventType"] == "entityNoChange"
    assert (teams_by_name(ann[1], ann[0]), len(teams_by_name(bob[1], bob[0]))) == ({}, 2)
    for name in tables:
        administrator.patch(
            f"/tables/{tables[name]['id']}",
            json=[{"op": "add", "path": "/description", "value": "changed"}],
            headers={"Content-Type": "application/json-patch+json"},
        )
    notify_all(sqlite_engine)
    reasons = {
        name: [one["reasons"] for one in client.get(f"/users/{user_id}/notifications").json()["data"]]
        for name, (user_id, client) in {"ann": ann, "bob": bob}.items()
    }
    assert reasons["ann"] == []
    assert "your team buyers follows it" in str(reasons["bob"])
    client = ann[1]
    client.put(f"/tables/{tables['carts']['id']}/followers/{ann[0]}")
    assert teams_by_name(client, ann[0]) == {"carts": None}


def test_what_a_member_may_not_see_is_neither_listed_nor_told(
    administrator: httpx.Client, ann: Person, tables: dict[str, Json]
) -> None:
    user_id, client = ann
    team = make_team(administrator, "buyers", [user_id])
    post(administrator, f"/teams/{team}/follows", ids=[one["id"] for one in tables.values()])
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    assert (teams_by_name(client, user_id), follows_of(client, team)) == ({}, [])
    assert messages_in(post(client, f"/users/{user_id}/unfollow", ids=[tables["carts"]["id"]])) != {
        "carts": "unfollowed"
    }


def test_a_team_that_a_member_may_not_view_is_not_named(
    sqlite_engine: Engine, administrator: httpx.Client, ann: Person, tables: dict[str, Json]
) -> None:
    user_id, client = ann
    team = make_team(administrator, "buyers", [user_id])
    post(administrator, f"/teams/{team}/follows", ids=[tables["carts"]["id"]])
    restrict(administrator, user_id, {"effect": "deny", "operations": ["ViewBasic"], "resources": ["team"]})
    change = {"op": "add", "path": "/description", "value": "changed"}
    assert send_patch(administrator, f"/tables/{tables['carts']['id']}", change).is_success
    notify_all(sqlite_engine)
    assert teams_by_name(client, user_id) == {"carts": None}
    inbox = client.get(f"/users/{user_id}/notifications")
    (entry,) = inbox.json()["data"]
    texts = [one.text for one in (inbox, client.get(f"/events/{entry['eventId']}/explain"))]
    assert ["one of your teams follows it" in one for one in texts] == [True, True], texts
    assert not any("buyers" in one for one in texts)


def test_a_team_that_shall_follow_itself_is_told_the_way(
    administrator: httpx.Client, ann: Person, tables: dict[str, Json]
) -> None:
    team = make_team(administrator, "buyers", [ann[0]])
    answer = administrator.put(f"/tables/{tables['carts']['id']}/followers/{team}")
    assert answer.status_code == 400
    assert "tocsin follow --team" in answer.json()["message"]
