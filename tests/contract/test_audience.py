"""Tests of the audience of an event by HTTP: who was told and has read it, who may know that, and what nobody owns."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import describe
from tests.notifying import notify_all
from tests.serving import Json, Served, table

_ALERT = {
    "name": "mine",
    "alertType": "Notification",
    "filteringRules": {"resources": ["table"]},
    "destinations": [{"category": "Followers", "type": "ActivityFeed"}],
}


def audience_of(client: httpx.Client, event_id: str, query: str = "") -> Json:
    answer = client.get(f"/events/{event_id}/audience{query}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def names_in(answer: Json) -> list[str]:
    return [one["name"] for one in answer["data"]]


def follow(client: httpx.Client, orders: Json, user_id: str) -> None:
    assert client.put(f"/tables/{orders['id']}/followers/{user_id}").is_success


def test_administrators_and_editors_know_who_was_told_and_others_only_of_themselves(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    (alice_id, alice), (bob_id, bob), (_, eve) = (served.person(name) for name in ("alice", "bob", "eve"))
    with alice, bob, eve:
        create_entity(alice, "/events/subscriptions", **_ALERT, **{"displayName": "of alice"})
        follow(alice, orders, alice_id)
        follow(bob, orders, bob_id)
        event_id = describe(administrator, orders, "told")
        notify_all(sqlite_engine)
        (entry,) = bob.get(f"/users/{bob_id}/notifications").json()["data"]
        bob.put(f"/users/{bob_id}/notifications/{entry['id']}/read")
        answer = audience_of(administrator, event_id)
        assert (names_in(answer), answer["isComplete"], answer["readCount"]) == (["alice", "bob"], True, 1)
        statuses = [one["channels"] for one in answer["data"]]
        assert statuses == [[{"type": "ActivityFeed", "status": status}] for status in ("unread", "read")]
        assert ["readAt" in one for one in answer["data"]] == [False, True]
        pages = [audience_of(administrator, event_id, f"?limit=1&after={after}") for after in (0, 1)]
        assert [names_in(page) for page in pages] == [["alice"], ["bob"]]
        assert [page["paging"] for page in pages] == [{"total": 2, "after": "1"}, {"total": 2}]
        assert names_in(audience_of(bob, event_id)) == ["bob"]
        assert audience_of(bob, event_id)["isComplete"] is False
        stranger = audience_of(eve, event_id)
        assert (stranger["data"], stranger["readCount"], stranger["paging"]) == ([], 0, {"total": 0})


def test_addresses_stand_behind_the_names_of_their_destinations(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    endpoint = "https://hooks.example.org/hook"
    destinations = [
        {"category": "External", "type": kind, "name": name, "config": {"endpoint": f"{endpoint}/{kind}"}}
        for kind, name in (("GChat", "Space"), ("Webhook", "Pager"))
    ]
    create_entity(administrator, "/events/subscriptions", **{**_ALERT, "destinations": destinations})
    event_id = describe(administrator, orders, "told")
    notify_all(sqlite_engine)
    answer = audience_of(administrator, event_id)
    masked = f"{endpoint}/*********"
    assert [(one["name"], one["destinations"]) for one in answer["data"]] == [(masked, ["Pager"]), (masked, ["Space"])]


def test_assets_that_nobody_owns_are_named_unless_they_are_hidden(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    me = administrator.get("/users/loggedInUser").json()["id"]
    own_asset = table(administrator, "owned", owners=[{"id": me, "type": "user"}])
    lonely = table(administrator, "lonely")
    secret = table(administrator, "secret", tags=[{"tagFQN": "Tier.Tier1"}])
    for asset in (own_asset, lonely, secret):
        edge = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": asset["id"], "type": "table"}}
        assert administrator.put("/lineage", json={"edge": edge}).is_success
    event_id = describe(administrator, orders, "affects others")
    user_id, mallory = served.person("mallory")
    with mallory:
        restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('Tier.Tier1')"})
        found_names = {
            client: {one["name"] for one in audience_of(client, event_id)["unowned"]["data"]}
            for client in (administrator, mallory)
        }
        assert found_names == {administrator: {"lonely", "secret"}, mallory: {"lonely"}}
        assert audience_of(mallory, event_id)["unowned"]["total"] == 1


def test_the_audience_of_a_hidden_event_is_not_there(served: Served, administrator: httpx.Client, orders: Json) -> None:
    event_id = describe(administrator, orders, "hidden")
    user_id, mallory = served.person("mallory")
    with mallory:
        restrict(administrator, user_id, {"effect": "deny"})
        assert mallory.get(f"/events/{event_id}/audience").status_code == 404
