"""Tests of activity as OpenMetadata 2 has it: an event for each changed field, by actor, follows, owners and entity."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import Engine, event
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import Person, person
from tests.contract.test_feed import ORDERS, alice, bob, patch
from tests.serving import Json, table

__all__ = ["alice", "bob", "person"]  # fixtures

User = tuple[str, httpx.Client]
SENSITIVE = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
TIER = SENSITIVE | {"tagFQN": "Tier.Tier1"}


def activities(client: httpx.Client, path: str = "", **query: object) -> list[Json]:
    answer = client.get(f"/activity{path}", params=query)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    activity_events: list[Json] = answer.json()["data"]
    assert answer.json()["paging"]["total"] == len(activity_events)
    return activity_events


def kinds(activity_events: list[Json]) -> list[tuple[str, object]]:
    return [(one["eventType"], one.get("fieldName")) for one in activity_events]


def change(client: httpx.Client, asset: Json, *operations: Json) -> None:
    answer = patch(client, f"/tables/{asset['id']}", *operations)
    assert answer.is_success, answer.text


def add(path: str, value: Json) -> Json:
    return {"op": "add", "path": path, "value": value}


def test_each_changed_field_is_an_event_in_the_form_of_upstream(
    administrator: httpx.Client, orders: Json, alice: User
) -> None:
    place = [one["name"] for one in orders["columns"]].index("email")
    owners = [{"id": alice[0], "type": "user"}]
    email = f"/columns/{place}"
    change(
        administrator,
        orders,
        add("/description", "An order."),
        add("/tags", [SENSITIVE]),
        add("/owners", owners),
        add(f"{email}/description", "Where to write to."),
        add(f"{email}/tags", [SENSITIVE]),
        add("/displayName", "Orders"),
    )
    change(administrator, orders, add("/tags/-", TIER))
    path = f"/entity/table/{orders['id']}"
    found_events = activities(alice[1], path)
    assert kinds(found_events[:1]) == [("TierUpdated", "tags")]
    assert set(kinds(found_events[1:7])) == {
        ("DescriptionUpdated", "description"),
        ("TagsUpdated", "tags"),
        ("OwnerUpdated", "owners"),
        ("ColumnDescriptionUpdated", "columns.email.description"),
        ("ColumnTagsUpdated", "columns.email.tags"),
        ("EntityUpdated", "displayName"),
    }
    assert kinds(found_events[7:]) == [("EntityCreated", None)]
    of_email = next(one for one in found_events if one.get("fieldName") == "columns.email.description")
    assert of_email["about"] == ORDERS.removesuffix(">") + "::columns::email::description>"
    assert (of_email["newValue"], "oldValue" in of_email) == ("Where to write to.", False)
    assert of_email["actor"]["name"] == "admin"
    assert (of_email["entity"]["id"], of_email["entity"]["name"]) == (orders["id"], "orders")
    assert "email" in of_email["summary"]
    assert len({one["id"] for one in found_events}) == len(found_events)
    name = orders["fullyQualifiedName"]
    assert activities(alice[1], f"/entity/table/name/{name}") == found_events
    assert alice[1].get(f"/activity{path}?limit=0").json() == {"data": [], "paging": {"total": len(found_events)}}
    column = ORDERS.removesuffix(">") + "::columns::email>"
    assert len(activities(alice[1], "/about", entityLink=column)) == 2
    assert activities(alice[1], "/about", entityLink=ORDERS) == found_events
    assert activities(alice[1], "/my-feed") == found_events


def test_what_is_followed_and_who_did_it(administrator: httpx.Client, orders: Json, alice: User, bob: User) -> None:
    other_table = table(administrator, "other")
    alice[1].put(f"/tables/{orders['id']}/followers/{alice[0]}")
    change(bob[1], orders, add("/description", "By bob."))
    change(bob[1], other_table, add("/description", "By bob."))
    followed_events = activities(alice[1], "/following")
    assert (kinds(followed_events[:1]), {one["entity"]["id"] for one in followed_events}) == (
        [("DescriptionUpdated", "description")],
        {orders["id"]},
    )
    of_bob = activities(alice[1], f"/user/{bob[0]}")
    assert [one["entity"]["name"] for one in of_bob] == ["other", "orders"]
    assert activities(alice[1], actorId=bob[0]) == of_bob
    assert activities(alice[1], actorId=bob[0], entityId=orders["id"]) == of_bob[1:]
    assert activities(alice[1], entityType="table", entityId=other_table["id"], actorId=bob[0]) == of_bob[:1]
    assert activities(alice[1], entityType="dashboard") == []
    assert alice[1].get("/activity/count").json() == len(activities(alice[1], limit=200))
    assert alice[1].get("/activity/user/00000000-0000-4000-8000-000000000000").status_code == 404
    assert activities(alice[1], actorId="00000000-0000-4000-8000-000000000000") == []


def test_domains_narrow_and_are_shown(administrator: httpx.Client, orders: Json, alice: User) -> None:
    domain = create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    change(administrator, orders, add("/domains", [{"id": domain["id"], "type": "domain"}]))
    change(administrator, orders, add("/description", "Sold."))
    description_event, domain_event = activities(alice[1], domain="Sales")
    assert kinds([description_event, domain_event]) == [
        ("DescriptionUpdated", "description"),
        ("DomainUpdated", "domains"),
    ]
    assert description_event["domains"][0]["name"] == "Sales"
    assert activities(alice[1], domains=domain["id"]) == [description_event, domain_event]
    assert activities(alice[1], domain="Nothing") == []
    assert alice[1].get("/activity/count?domain=Sales").json() == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_pages_hold_each_event_once_while_new_ones_arrive(
    administrator: httpx.Client, orders: Json, alice: User, limit: int
) -> None:
    for number in range(3):
        change(administrator, orders, add("/description", f"{number}"), add("/displayName", f"{number}"))
    path = f"/entity/table/{orders['id']}"
    whole_feed = activities(alice[1], path)
    assert len(whole_feed) == 7
    walked_events, after = [], ""
    while True:
        page = alice[1].get(f"/activity{path}", params={"limit": limit, "after": after}).json()
        assert len(page["data"]) <= limit
        walked_events += page["data"]
        change(administrator, orders, add("/description", f"new {len(walked_events)}"))
        after = page["paging"].get("after", "")
        if not after:
            break
    assert walked_events == whole_feed


def test_what_is_hidden_is_neither_shown_nor_counted(administrator: httpx.Client, orders: Json, person: Person) -> None:
    user_id, mallory = person("mallory")
    secret = table(administrator, "salaries", tags=[SENSITIVE])
    mallory.put(f"/tables/{secret['id']}/followers/{user_id}")
    change(administrator, secret, add("/description", "Who gets what."))
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    shown_events = activities(mallory, limit=200)
    assert secret["id"] not in {one["entity"]["id"] for one in shown_events}
    assert "Who gets what" not in str(shown_events)
    assert mallory.get("/activity/count").json() == len(shown_events)
    assert activities(mallory, "/following") == []
    assert activities(mallory, entityType="table", entityId=secret["id"]) == []
    link = f"<#E::table::{secret['fullyQualifiedName']}>"
    answers = [
        mallory.get(f"/activity/entity/table/{secret['id']}"),
        mallory.get(f"/activity/entity/table/{secret['id']}?limit=0"),
        mallory.get(f"/activity/entity/table/name/{secret['fullyQualifiedName']}"),
        mallory.get("/activity/about", params={"entityLink": link}),
    ]
    assert {one.status_code for one in answers} <= {403, 404}


def test_an_actor_who_may_not_be_seen_is_left_out(
    administrator: httpx.Client, orders: Json, bob: User, person: Person
) -> None:
    user_id, mallory = person("mallory")
    change(bob[1], orders, add("/description", "By bob."))
    restrict(administrator, user_id, {"effect": "deny", "resources": ["user"]})
    (latest, *_) = activities(mallory, f"/entity/table/{orders['id']}")
    assert "actor" not in latest
    assert mallory.get(f"/activity/user/{bob[0]}").status_code in (403, 404)
    assert activities(mallory, actorId=bob[0]) == []


def test_the_fates_of_wholes_are_single_events_and_runs_are_told_by_their_status(
    administrator: httpx.Client, orders: Json
) -> None:
    assert administrator.delete(f"/tables/{orders['id']}").is_success
    assert administrator.put("/tables/restore", json={"id": orders["id"]}).is_success
    path = f"/entity/table/{orders['id']}"
    assert kinds(activities(administrator, path)) == [
        ("EntityRestored", None),
        ("EntitySoftDeleted", None),
        ("EntityCreated", None),
    ]
    case = create_entity(
        administrator,
        "/dataQuality/testCases",
        name="has_rows",
        entityLink=ORDERS,
        testDefinition="tableRowCountToBeBetween",
        parameterValues=[{"name": "minValue", "value": "1"}],
    )
    for status in ("Failed", "Success"):
        result = {"timestamp": 1_000 + len(status), "testCaseStatus": status}
        results = f"/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
        assert administrator.post(results, json=result).is_success
    of_case = kinds(activities(administrator, f"/entity/testCase/{case['id']}"))
    assert of_case.count(("TestCaseStatusChanged", "testCaseResult")) >= 1


@pytest.mark.parametrize(
    "path",
    [
        "?limit=0",
        "?limit=201",
        "?days=31",
        "?since=yesterday",
        "?since=24h&days=7",
        "?since=32d",
        "?since=2020-01-01",
        "/count?since=32d",
        "/my-feed?since=32d",
        "/count?since=soon",
        "?after=x",
        "?after=1_x",
        "?entityId=x",
        "/my-feed?days=0",
        "/about?entityLink=x",
        "/about",
        "/user/x",
    ],
)
def test_mistaken_questions_are_refused(administrator: httpx.Client, path: str) -> None:
    assert administrator.get(f"/activity{path}").status_code == 400


@pytest.mark.parametrize("feed", ["", "/my-feed", "/following", "/entity/table/{id}"])
def test_activity_starts_when_it_is_asked_to(administrator: httpx.Client, orders: Json, feed: str) -> None:
    me = administrator.get("/users/loggedInUser").json()["id"]
    assert administrator.put(f"/tables/{orders['id']}/followers", json=me).is_success
    change(administrator, orders, add("/owners", [{"type": "user", "id": me}]))
    change(administrator, orders, add("/description", "All orders."))
    newest = activities(administrator, feed.format(id=orders["id"]))[0]
    path = f"/activity{feed.format(id=orders['id'])}"

    def is_in_feed(since: str | int) -> bool:
        page = administrator.get(path, params={"since": since}).json()["data"]
        return any(one["id"] == newest["id"] for one in page)

    assert is_in_feed("24h")
    days_ago = datetime.fromtimestamp(newest["timestamp"] / 1000, UTC) - timedelta(days=29)
    assert is_in_feed(days_ago.date().isoformat())
    assert is_in_feed(newest["timestamp"])
    assert not is_in_feed(newest["timestamp"] + 1)


def test_what_is_counted_starts_when_it_is_asked_to(administrator: httpx.Client, orders: Json) -> None:
    change(administrator, orders, add("/description", "All orders."))
    newest = activities(administrator)[0]
    assert administrator.get("/activity/count?since=24h").json() > 0
    assert administrator.get("/activity/count", params={"since": newest["timestamp"] + 1}).json() == 0


def test_unknown_types_are_not_found(administrator: httpx.Client) -> None:
    assert administrator.get("/activity/entity/nothing/name/x").status_code == 404


def test_a_page_asks_no_statement_per_event(
    administrator: httpx.Client, orders: Json, alice: User, sqlite_engine: Engine
) -> None:
    for number in range(6):
        change(administrator, orders, add("/description", f"{number}"))
    statements: list[object] = []

    def note(*arguments: object) -> None:
        statements.append(arguments[2])

    def statement_count(limit: int) -> int:
        counts = []
        for _ in range(3):
            statements.clear()
            assert len(activities(alice[1], limit=limit)) == limit
            counts.append(len(statements))
        return min(counts)

    event.listen(sqlite_engine, "before_cursor_execute", note)
    assert statement_count(6) == statement_count(2) > 0
    event.remove(sqlite_engine, "before_cursor_execute", note)


def test_a_feed_is_shown_by_day_in_the_readers_zone_and_by_asset(
    administrator: httpx.Client, orders: Json, alice: User
) -> None:
    user_id, client = alice
    other_table = table(administrator, "other")
    for asset in (orders, other_table):
        client.put(f"/tables/{asset['id']}/followers/{user_id}")
    for number in range(2):
        change(administrator, orders, add("/description", f"{number}"))
    change(administrator, other_table, add("/description", "x"))
    assert client.post("/feed", json={"about": ORDERS, "message": "Why?"}).is_success
    entries = client.get(f"/users/{user_id}/activity").json()["data"]
    page = client.get(f"/users/{user_id}/activity?groupBy=day").json()
    days = page["data"]
    assert [entry for day in days for group in day["groups"] for entry in group["entries"]] != []
    assert sum(day["count"] for day in days) == len(entries)
    counts = {group["entity"]["name"]: group["count"] for day in days for group in day["groups"]}
    assert counts["orders"] > counts["other"] == 2
    assert days[0]["groups"][0]["entity"]["name"] == "orders", "a thread belongs to its asset"
    first_page = client.get(f"/users/{user_id}/activity?groupBy=day&limit=1").json()
    assert (first_page["data"][0]["count"], "after" in first_page["paging"]) == (1, True)
    assert client.get(f"/tables/{orders['id']}/activity?groupBy=day").json()["data"][0]["count"] >= 3
    assert client.get(f"/users/{user_id}/activity?groupBy=week").status_code == 400
