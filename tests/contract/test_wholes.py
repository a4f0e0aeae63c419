"""Tests of what the API says of an entity that is deleted with all below it: to whom, and how much."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import alert_in, explanation_of
from tests.notifying import notify_all
from tests.serving import Json, Served, table

_HOOK = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}
_FOLLOWERS = {"category": "Followers", "type": "ActivityFeed"}


def add_alert(client: httpx.Client, name: str, *destinations: Json) -> None:
    rules = {"resources": ["all"]}
    fields = {"alertType": "Notification", "filteringRules": rules, "destinations": list(destinations)}
    create_entity(client, "/events/subscriptions", name=name, **fields)


def delete_schema(administrator: httpx.Client, schema: Json) -> tuple[Json, Json]:
    """Delete a schema of two tables; return the event of one, and that of the schema."""
    assert administrator.delete(f"/databaseSchemas/{schema['id']}", params={"recursive": True}).is_success
    events = administrator.get("/events", params={"format": "tocsin", "limit": 1_000}).json()["data"]
    part, whole_event = events[-2:]
    assert (whole_event["entityId"], whole_event["recursive"], whole_event["belowCount"]) == (schema["id"], True, 2)
    assert (part["recursive"], part["partOf"]) == (False, whole_event["id"])
    return part, whole_event


@pytest.fixture
def schema(administrator: httpx.Client, orders: Json) -> Json:
    table(administrator, "people")
    return administrator.get(f"/databaseSchemas/{orders['databaseSchema']['id']}").json()


def test_an_explanation_says_that_a_part_is_told_with_the_whole(
    served: Served, administrator: httpx.Client, orders: Json, schema: Json, sqlite_engine: Engine
) -> None:
    bob_id, bob = served.person("bob")
    with bob:
        add_alert(administrator, "everything", _HOOK, _FOLLOWERS)
        assert bob.put(f"/databaseSchemas/{schema['id']}/followers/{bob_id}").is_success
        notify_all(sqlite_engine)
        part, whole_event = delete_schema(administrator, schema)
        notify_all(sqlite_engine)
        of_part, of_whole = (explanation_of(administrator, one["id"]) for one in (part, whole_event))
        (hook,) = [one for one in alert_in(of_part, "everything")["reached"]["data"] if one["channel"] == "Webhook"]
        assert [way["stoppedBy"]["kind"] for way in hook["ways"]] == ["partOfWhole"]
        stops = [way["stoppedBy"] for one in alert_in(of_whole, "everything")["reached"]["data"] for way in one["ways"]]
        assert set(map(str, stops)) == {"None"}
        assert (of_part["disagreements"], of_whole["disagreements"]) == ([], [])


def test_only_who_may_see_everything_reads_how_many_there_were(
    served: Served, administrator: httpx.Client, schema: Json, sqlite_engine: Engine
) -> None:
    add_alert(administrator, "everything", _FOLLOWERS)
    people = {name: served.person(name) for name in ("bob", "mallory")}
    restrict(administrator, people["mallory"][0], {"effect": "deny", "resources": ["table"], "condition": "isOwner()"})
    for user_id, client in people.values():
        assert client.put(f"/databaseSchemas/{schema['id']}/followers/{user_id}").is_success
    notify_all(sqlite_engine)
    _, whole_event = delete_schema(administrator, schema)
    notify_all(sqlite_engine)
    titles = {
        name: client.get(f"/users/{user_id}/notifications").json()["data"][0]["title"]
        for name, (user_id, client) in people.items()
    }
    assert titles == {"bob": "public: deleted, and 2 below it", "mallory": "public: deleted"}
    as_read = people["mallory"][1].get("/events", params={"format": "tocsin", "entityId": schema["id"]}).json()["data"]
    assert (as_read[-1]["id"], as_read[-1]["recursive"], "belowCount" in as_read[-1]) == (
        whole_event["id"],
        False,
        False,
    )
    for _, client in people.values():
        client.close()


def test_an_import_is_explained_as_a_whole_and_its_numbers_are_for_who_may_see_everything(
    served: Served, administrator: httpx.Client, schema: Json, sqlite_engine: Engine
) -> None:
    add_alert(administrator, "everything", _HOOK, _FOLLOWERS)
    mallory_id, mallory = served.person("mallory")
    restrict(administrator, mallory_id, {"effect": "deny", "resources": ["table"], "condition": "isOwner()"})
    with mallory:
        assert mallory.put(f"/databaseSchemas/{schema['id']}/followers/{mallory_id}").is_success
        notify_all(sqlite_engine)
        requests = [
            {"name": f"t{number}", "databaseSchema": schema["fullyQualifiedName"], "columns": []}
            for number in range(12)
        ]
        assert administrator.put("/tables/bulk", json=requests).json()["numberOfRowsPassed"] == 12
        notify_all(sqlite_engine)
        part, whole_event = administrator.get("/events", params={"format": "tocsin", "limit": 1_000}).json()["data"][
            -2:
        ]
        assert whole_event["imported"] == [{"entityType": "table", "created": 12, "updated": 0}]
        assert (whole_event["recursive"], part["partOf"]) == (False, whole_event["id"])
        reached_recipients = alert_in(explanation_of(administrator, part["id"]), "everything")["reached"]["data"]
        (hook,) = [recipient for recipient in reached_recipients if recipient["channel"] == "Webhook"]
        assert [way["stoppedBy"]["kind"] for way in hook["ways"]] == ["partOfWhole"]
        (entry,) = mallory.get(f"/users/{mallory_id}/notifications").json()["data"]
        assert entry["title"] == "public: contents imported"
        visible_event = mallory.get("/events", params={"format": "tocsin", "entityId": schema["id"]}).json()["data"][-1]
        assert (visible_event["id"], "imported" in visible_event) == (whole_event["id"], False)
