"""Tests of noise reports by HTTP: noisy alerts are found, and suggestions match what was actually sent."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict, send_patch
from tests.contract.test_explain import Person, alert, ann, assign_owners, describe, person
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.conditions.check import parse_and_check

__all__ = ["ann", "person"]  # fixtures


@pytest.fixture
def noisy(
    served: Served, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> Json:
    """An alert that notified ann of nine changes, eight of them of ``orders``; she opened the other one."""
    rule = {"name": "described", "effect": "include", "condition": "fieldChanged == 'description'"}
    noisy_alert = alert(administrator, "Noisy", rule)
    alert(administrator, "Quiet", {"effect": "include", "condition": "isBot() && !isBot()"})
    customers = table(administrator, "customers")
    assign_owners(administrator, customers, ann[0])
    notify_all(sqlite_engine)
    for number in range(8):
        describe(administrator, orders, f"text {number}")
    describe(administrator, customers, "opened")
    notify_all(sqlite_engine)
    inbox = ann[1].get(f"/users/{ann[0]}/notifications").json()["data"]
    opened_entry = next(one for one in inbox if one["entityId"] == customers["id"])
    assert ann[1].put(f"/users/{ann[0]}/notifications/{opened_entry['id']}/read").status_code == 200
    return noisy_alert


def test_the_noisiest_come_first_with_what_was_opened(
    administrator: httpx.Client, noisy: Json, ann: tuple[str, httpx.Client]
) -> None:
    ann[1].put(f"/users/{ann[0]}/mutes", json={"kind": "alert", "id": noisy["id"]})
    answer = administrator.get("/events/subscriptions/noise").json()
    assert [one["name"] for one in answer["data"]] == ["ActivityFeedAlert", "Noisy"]
    row = answer["data"][1]
    assert (row["fired"], row["notified"], row["notifiedInApp"], row["opened"], row["noise"]) == (9, 9, 9, 1, 8)
    assert row["notifiedNobody"] == 0
    assert (row["people"], row["muted"], row["unsubscribed"]) == (1, 1, 0)
    assert answer["paging"]["total"] == 2
    assert administrator.get("/events/subscriptions/noise?limit=1").json()["paging"]["total"] == 2
    assert administrator.get("/events/subscriptions/noise?since=4000000000000").json()["data"] == []


@pytest.fixture
def noisy_twice(
    administrator: httpx.Client, noisy: Json, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> Json:
    """Another alert, which told of two changes that the noisy one told of as well; ann is done with the last."""
    same_alert = alert(administrator, "Same", {"effect": "include", "condition": "fieldChanged == 'description'"})
    for number in (8, 9):
        describe(administrator, orders, f"text {number}")
    notify_all(sqlite_engine)
    inbox = f"/users/{ann[0]}/notifications"
    last_id = ann[1].get(inbox).json()["data"][0]["id"]
    assert ann[1].post(f"{inbox}/marks", json={"as": "done", "ids": [last_id]}).is_success
    return same_alert


def newest_by_name(client: httpx.Client) -> Json:
    noisy_alerts = client.get("/events/subscriptions/noise").json()["data"]
    return {one["name"]: one["newest"] for one in noisy_alerts}


def test_what_others_tell_too_and_what_was_acted_on_are_counted(
    administrator: httpx.Client, noisy: Json, noisy_twice: Json
) -> None:
    newest = newest_by_name(administrator)
    noisy_counts, same_counts = newest["Noisy"], newest["Same"]
    assert (noisy_counts["events"], noisy_counts["toldByOthers"], noisy_counts["actedOn"]) == (11, 2, 1)
    assert (same_counts["events"], same_counts["toldByOthers"], same_counts["actedOn"]) == (2, 2, 1)
    assert noisy_counts["otherAlerts"] == 1
    assert noisy_counts["others"] == [{"id": noisy_twice["id"], "name": "Same", "displayName": None, "events": 2}]
    assert newest["ActivityFeedAlert"]["others"] == []
    of_noisy = administrator.get(f"/events/subscriptions/{noisy['id']}/noise").json()
    assert of_noisy["newest"] == noisy_counts


def test_an_alert_that_a_person_may_not_view_overlaps_none_of_theirs(
    administrator: httpx.Client, noisy_twice: Json, person: Person
) -> None:
    user_id, zoe = person("zoe")
    assert newest_by_name(zoe)["Noisy"]["toldByOthers"] == 2
    hidden = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
    assert send_patch(administrator, f"/events/subscriptions/{noisy_twice['id']}", hidden).is_success
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    newest = newest_by_name(zoe)
    assert "Same" not in newest
    assert (newest["Noisy"]["toldByOthers"], newest["Noisy"]["otherAlerts"], newest["Noisy"]["others"]) == (0, 0, [])


def test_one_alert_says_where_its_noise_comes_from_and_what_would_spare_it(
    administrator: httpx.Client, noisy: Json, orders: Json
) -> None:
    answer = administrator.get(f"/events/subscriptions/{noisy['id']}/noise?since=1d").json()
    assert [(one["fullyQualifiedName"], one["notified"], one["opened"]) for one in answer["assets"]] == [
        ("warehouse.shop.public.orders", 8, 0),
        ("warehouse.shop.public.customers", 1, 1),
    ]
    assert (answer["fired"], answer["examined"]) == (9, 9)
    (rule,) = answer["rules"]
    assert (rule["name"], rule["held"], rule["examined"]) == ("described", 9, 9)
    savings = {one["condition"]: (one["saved"], one["notified"], one["missed"]) for one in answer["suggestions"]}
    assert savings == {"!matchAnyEntityFqn('warehouse.shop.public.orders')": (8, 9, 0)}
    for condition in savings:
        parse_and_check(condition)


def test_the_numbers_of_an_alert_are_for_who_may_edit_it(person: Person, noisy: Json) -> None:
    _, zoe = person("zoe")
    assert zoe.get(f"/events/subscriptions/{noisy['id']}/noise").status_code == 403
    assert zoe.get("/events/subscriptions/noise").status_code == 200


def test_a_window_begins_as_one_of_a_backtest_does(administrator: httpx.Client) -> None:
    for since in ("2026-01-31", "20260131", "1769817600000"):
        answer = administrator.get("/events/subscriptions/noise", params={"since": since})
        assert (answer.status_code, answer.json().get("since")) == (200, 1_769_817_600_000)


@pytest.mark.parametrize(
    "query", ["since=", "since=soon", "since=0d", "since=9999999999999999", "limit=-1", "since=-1"]
)
def test_a_broken_window_is_refused(administrator: httpx.Client, query: str) -> None:
    answer = administrator.get(f"/events/subscriptions/noise?{query}")
    assert (answer.status_code, "code" in answer.json()) == (400, True)
