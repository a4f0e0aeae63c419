"""Tests that current permissions apply to earlier results and to bulk effects: backtests, ranks, tasks."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.clock import SystemClock
from tocsin.store.catalogue.alerts.backtests import Backtests

_DENIED = {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"}
_HIDE = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}


def test_a_backtest_shows_what_may_be_seen_when_it_is_read(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, mallory = served.person("mallory")
    zoe_id, zoe = served.person("zoe")
    zoe.close()
    people = table(administrator, "people")
    logged_events = [one.event for one in served.app.state.parts.log.read(0, 1000)]
    ids = {orders["id"], people["id"]}
    samples = [one.model_copy(update={"entity": None}).to_wire() for one in logged_events if one.entity_id in ids]
    result = {
        "matched": 2,
        "assets": [
            {"id": asset["id"], "type": "table", "fullyQualifiedName": asset["fullyQualifiedName"], "matched": 1}
            for asset in (orders, people)
        ],
        "samples": samples,
        "recipients": [{"channel": "ActivityFeed", "notified": 2, "id": zoe_id, "name": "zoe"}],
    }
    backtests, now_ms = Backtests(sqlite_engine), SystemClock().now_ms()
    alert = {"name": "x", "alertType": "Notification", "filteringRules": {"resources": ["table"]}}
    backtest = mallory.post("/events/subscriptions/backtest", params={"wait": 0}, json=alert).json()
    claimed_backtest = backtests.claim("pipeline", now_ms=now_ms, lost_after_ms=1000)
    assert claimed_backtest is not None
    assert backtests.finish(claimed_backtest, "pipeline", result, now_ms=now_ms)
    path = f"/events/subscriptions/backtest/{backtest['id']}"
    assert mallory.get(path).json()["result"] == result
    restrict(administrator, user_id, _DENIED, {"effect": "deny", "resources": ["user"], "condition": "!isOwner()"})
    assert send_patch(administrator, f"/tables/{people['id']}", _HIDE).is_success
    now = mallory.get(path)
    mallory.close()
    reduced_result = now.json()["result"]
    assert [one["id"] for one in reduced_result["assets"]] == [orders["id"]]
    assert {one["entityId"] for one in reduced_result["samples"]} == {orders["id"]}
    assert reduced_result["recipients"] == [{"channel": "ActivityFeed", "notified": 2}]
    assert people["fullyQualifiedName"] not in now.text


def test_ranks_of_a_whole_type_are_not_for_owners_of_some(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, mallory = served.person("mallory")
    owner = {"op": "add", "path": "/owners", "value": [{"id": user_id, "type": "user"}]}
    assert send_patch(administrator, f"/tables/{orders['id']}", owner).is_success
    with mallory:
        assert mallory.post("/usage/compute.percentile/table/2026-01-01").status_code == 403
    assert administrator.post("/usage/compute.percentile/table/2026-01-01").status_code == 201


def test_an_assignee_whom_one_may_not_see_is_not_named(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, mallory = served.person("mallory")
    zoe_id, zoe = served.person("kanarienvogel")
    zoe.close()
    restrict(administrator, user_id, {"effect": "deny", "resources": ["user"], "condition": "!isOwner()"})
    task = {"type": "RequestDescription", "assignees": [{"id": zoe_id, "type": "user"}], "oldValue": ""}
    about = f"<#E::table::{orders['fullyQualifiedName']}::description>"
    body = {"about": about, "message": "x", "type": "Task", "taskDetails": task}
    with mallory:
        refusal = mallory.post("/feed", json=body)
        assert refusal.status_code == 403
        thread = create_entity(administrator, "/feed", **body)
        assert "kanarienvogel" not in mallory.get(f"/feed/{thread['id']}").text
        assert "kanarienvogel" not in mallory.get("/feed").text


def test_a_label_that_a_term_brings_along_protects_from_the_moment_the_term_has_it(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, mallory = served.person("mallory")
    create_entity(administrator, "/glossaries", name="Shop", description="x")
    term = create_entity(administrator, "/glossaryTerms", name="Client", description="x", glossary="Shop")
    people = table(administrator, "people", tags=[{"tagFQN": "Shop.Client", "source": "Glossary"}])
    restrict(administrator, user_id, _DENIED)

    def visible_counts() -> list[object]:
        index_all(sqlite_engine)
        hits = mallory.get("/search/query", params={"q": "people", "index": "table"}).json()["hits"]["hits"]
        return [
            mallory.get(f"/tables/{people['id']}").status_code,
            mallory.get("/tables").json()["paging"]["total"],
            len(hits),
        ]

    path = f"/glossaryTerms/{term['id']}"
    assert visible_counts() == [200, 2, 1]
    assert send_patch(administrator, path, _HIDE).is_success
    assert visible_counts() == [403, 1, 0]
    assert send_patch(administrator, path, {"op": "replace", "path": "/name", "value": "Customer"}).is_success
    assert visible_counts() == [403, 1, 0]
    assert send_patch(administrator, path, {"op": "replace", "path": "/tags", "value": []}).is_success
    assert mallory.get(f"/tables/{orders['id']}").status_code == 200
    mallory.close()


def test_people_who_may_not_view_an_asset_are_not_notified_of_mentions_and_tasks_there(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, mallory = served.person("mallory")
    people = table(administrator, "people", tags=[{"tagFQN": "PII.Sensitive"}])
    restrict(administrator, user_id, _DENIED)
    bell_destinations = [{"category": one, "type": "ActivityFeed"} for one in ("Mentions", "Assignees")]
    rules = {"filteringRules": {"resources": ["all"]}, "alertType": "Notification"}
    create_entity(administrator, "/events/subscriptions", name="People", destinations=bell_destinations, **rules)
    task = {"type": "RequestDescription", "assignees": [{"id": user_id, "type": "user"}], "oldValue": ""}
    for commented_table in (people, orders):
        link = f"<#E::table::{commented_table['fullyQualifiedName']}::description>"
        post = {"about": link, "message": f"<#E::user::mallory> at {commented_table['name']}"}
        create_entity(administrator, "/feed", **post)
        create_entity(administrator, "/feed", type="Task", taskDetails=task, **post)
    notify_all(sqlite_engine)
    with mallory:
        inbox = mallory.get(f"/users/{user_id}/notifications").json()
        assert {one["about"]["id"] for one in inbox["data"]} == {orders["id"]}
        assert inbox["counts"]["total"] == len(inbox["data"])
        for query in ("filterType=MENTIONS", "filterType=ASSIGNED_TO&type=Task"):
            threads = mallory.get(f"/feed?userId={user_id}&{query}").json()["data"]
            assert threads
            assert {one["entityRef"]["id"] for one in threads} == {orders["id"]}
