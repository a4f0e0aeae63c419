"""Tests of saved searches: saved, listed, shared by address, followed, and deleted."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import describe
from tests.contract.test_feed import hide
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json, Served, table

SCHEMA = "warehouse.shop.public"


def save(client: httpx.Client, user_id: str, **search: Json) -> Json:
    answer = client.post(f"/users/{user_id}/searches", json=search)
    assert answer.status_code == 201, answer.text
    return answer.json()


def sentences_to(client: httpx.Client, user_id: str) -> list[str]:
    entries = client.get(f"/users/{user_id}/notifications").json()["data"]
    return [reason["sentence"] for entry in entries for reason in entry["reasons"]]


def test_a_search_is_saved_followed_and_deleted(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    table(administrator, "customers")
    index_all(sqlite_engine)
    with client:
        counted_search = save(client, ann, query="orders", name="Orders", index="table")
        search = counted_search["search"]
        assert (counted_search["found"], search["name"], search["query"], search["follows"]) == (
            1,
            "Orders",
            "orders",
            False,
        )
        assert client.get(f"/users/{ann}/searches").json()["data"] == [search]
        describe(administrator, orders, "one")
        notify_all(sqlite_engine)
        assert sentences_to(client, ann) == []
        path = f"/searches/{search['id']}"
        assert client.put(f"{path}/follow", json={"follows": True}).json()["search"]["follows"]
        describe(administrator, orders, "two")
        notify_all(sqlite_engine)
        assert sentences_to(client, ann) == ["it matches your saved search Orders"]
        event_id = describe(administrator, orders, "three")
        explanation = client.get(f"/events/{event_id}/explain", params={"user": "ann"}).json()
        assert "it matches your saved search Orders" in str(explanation)
        notify_all(sqlite_engine)
        assert not client.put(f"{path}/follow", json={"follows": False}).json()["search"]["follows"]
        describe(administrator, orders, "four")
        notify_all(sqlite_engine)
        assert len(sentences_to(client, ann)) == 2
        assert client.delete(path).json()["name"] == "Orders"
        assert client.get(path).status_code == 404
        assert client.get(f"/users/{ann}/searches").json()["data"] == []


def test_who_has_the_address_opens_the_search_with_their_own_rights_and_copies_it(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    bob, bob_client = served.person("bob")
    index_all(sqlite_engine)
    with client, bob_client:
        counted_search = save(client, ann, query="orders", index="table", follows=True)
        assert (counted_search["found"], counted_search["search"]["name"]) == (1, "orders")
        hide(administrator, bob, orders)
        path = f"/searches/{counted_search['search']['id']}"
        assert bob_client.get(path).json() == counted_search | {"found": 0}
        for refusal in (bob_client.put(f"{path}/follow", json={"follows": False}), bob_client.delete(path)):
            assert refusal.status_code == 403
        assert bob_client.get(f"/users/{ann}/searches").status_code == 403
        assert bob_client.post(f"/users/{ann}/searches", json={"query": "x"}).status_code == 403
        bobs_search = save(bob_client, bob, original=counted_search["search"]["id"], follows=True)
        assert bobs_search["search"]["id"] != counted_search["search"]["id"]
        describe(administrator, orders, "hidden from bob")
        notify_all(sqlite_engine)
        assert sentences_to(bob_client, bob) == []
        assert set(sentences_to(client, ann)) == {"it matches your saved search orders"}
        assert bob_client.get(f"/searches/{orders['id']}").status_code == 404
        plain_alert = create_entity(client, "/events/subscriptions", **_ALERT)
        assert client.get(f"/searches/{plain_alert['id']}").status_code == 404


_ALERT = {
    "name": "Plain",
    "alertType": "Notification",
    "resources": ["table"],
    "toMeOnly": True,
    "destinations": [{"category": "Users", "type": "ActivityFeed"}],
}


def test_what_cannot_be_saved_or_followed_says_why(served: Served, administrator: httpx.Client) -> None:
    ann, client = served.person("ann")
    with client:
        for body, reason in (
            ({}, "Send a query, or the id"),
            ({"query": "a", "original": ann}, "Send a query, or the id"),
            ({"original": ann}, "not found"),
            ({"query": "name:("}, "column 7"),
            ({"query": "updatedAt:>=5"}, "a search by updatedAt cannot be followed"),
            ({"query": "a", "index": "user"}, "no type that can be followed"),
            ({"query": "a", "index": "policy"}, "no type that can be followed"),
            ({"query": " ".join(f"word{number}" for number in range(20))}, "query: has too many words to be followed"),
            ({"query": "a", "spoon": 1}, "spoon"),
        ):
            refusal = client.post(f"/users/{ann}/searches", json=body)
            assert (refusal.status_code in (400, 404), reason in refusal.text) == (True, True), refusal.text
        save(client, ann, query="a")
        assert client.post(f"/users/{ann}/searches", json={"query": "a"}).status_code == 409
    team = create_entity(administrator, "/teams", name="finance", teamType="Group")
    assert administrator.post(f"/users/{team['id']}/searches", json={"query": "a"}).status_code == 404


def test_a_search_has_any_name_on_one_line_and_unnamed_that_of_its_query(served: Served) -> None:
    ann, client = served.person("ann" * 21)
    with client:
        for search, name in (
            ({"query": 'name:"a::b"\n c'}, 'name:"a::b"  c'),
            ({"query": "a", "name": "two\n::\u202e lines\x07"}, "two ::  lines"),
            ({"query": "a", "name": "n" * 200}, "n" * 200),
            ({"query": " "}, "*"),
            ({"query": "one two three four"}, "one two three four"),
        ):
            assert save(client, ann, **search)["search"]["name"] == name
        assert len(client.get(f"/users/{ann}/searches").json()["data"]) == 5


def test_a_search_of_everything_leaves_out_types_of_which_its_owner_may_view_nothing(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, client = served.person("ann")
    restrict(administrator, ann, {"effect": "deny", "resources": ["dashboard"]})
    index_all(sqlite_engine)
    with client:
        search = save(client, ann, query="orders", index="dataAsset", follows=True)
        assert (search["found"], "table" in search["search"]["index"].split(",")) == (1, True)
        assert "dashboard" not in search["search"]["index"].split(",")
        describe(administrator, orders, "new")
        notify_all(sqlite_engine)
        assert sentences_to(client, ann) == ["it matches your saved search orders"]
        refusal = client.post(f"/users/{ann}/searches", json={"query": "a", "index": "dashboard"})
        assert refusal.status_code == 403


def test_rules_changed_by_hand_take_the_place_of_the_search(served: Served) -> None:
    ann, client = served.person("ann")
    with client:
        search_id = save(client, ann, query="tag:PII.Sensitive")["search"]["id"]
        alert_path = f"/events/subscriptions/{search_id}"
        headers = {"Content-Type": "application/json-patch+json"}
        new_query = [{"op": "replace", "path": "/search/query", "value": "tag:PII.None"}]
        rules = client.patch(alert_path, json=new_query, headers=headers).json()["filteringRules"]["rules"]
        assert "PII.None" in rules[0]["condition"]
        new_rules = [{"op": "replace", "path": "/filteringRules/rules", "value": []}]
        assert client.patch(alert_path, json=new_rules, headers=headers).is_success
        assert client.get(f"/searches/{search_id}").status_code == 404
        assert client.get(f"{alert_path}?fields=*").json().get("search") is None


def test_the_alert_of_a_search_does_not_hold_the_name_of_its_owner(served: Served) -> None:
    """Names of alerts stay when a person is erased."""
    zoe, client = served.person("zoe.quist")
    ben, other_client = served.person("ben")
    with client, other_client:
        for user_id, own_client in ((zoe, client), (ben, other_client)):
            alert = save(own_client, user_id, query="orders", name="Orders")["search"]["alert"]
            assert (alert["name"].startswith("Orders ("), "zoe" in alert["fullyQualifiedName"]) == (True, False)
        assert client.post(f"/users/{zoe}/searches", json={"query": "b", "name": "Orders"}).status_code == 409


def test_a_search_whose_owner_was_deleted_is_followed_by_nobody(served: Served, administrator: httpx.Client) -> None:
    ann, client = served.person("ann")
    with client:
        path = f"/searches/{save(client, ann, query='orders', follows=True)['search']['id']}"
    assert administrator.delete(f"/users/{ann}?hardDelete=true").is_success
    for follows in (False, True):
        refusal = administrator.put(f"{path}/follow", json={"follows": follows})
        assert (refusal.status_code, "save it as your own" in refusal.json()["message"]) == (409, True)
    assert administrator.get(path).is_success
    assert administrator.delete(path).is_success
