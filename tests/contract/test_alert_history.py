"""Tests of an alert's history by HTTP: pages, filters, and what the reader may not see."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict, send_patch
from tests.contract.test_explain import Person, alert, assign_owners, describe, person
from tests.notifying import notify_all
from tests.serving import Json, Served, table

__all__ = ["person"]  # a fixture


@pytest.fixture
def fired_alert(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Json:
    """An alert on descriptions that fired for ``orders``, for ``people``, and for ``orders`` again after an edit."""
    user_id, ann = served.person("ann")
    ann.close()
    described = alert(administrator, "Described", {"effect": "include", "condition": "fieldChanged == 'description'"})
    assign_owners(administrator, orders, user_id)
    people = table(administrator, "people")
    describe(administrator, orders, "one")
    describe(administrator, people, "two")
    change = {"op": "add", "path": "/displayName", "value": "Descriptions"}
    assert send_patch(administrator, f"/events/subscriptions/{described['id']}", change).is_success
    describe(administrator, orders, "three")
    notify_all(sqlite_engine)
    return {**described, "people": people}


def test_a_history_lists_edits_and_firings_with_counts(administrator: httpx.Client, fired_alert: Json) -> None:
    path = f"/events/subscriptions/{fired_alert['id']}/history"
    history_page = administrator.get(path).json()
    assert [(one["kind"], one.get("notified"), one.get("suppressed")) for one in history_page["data"]] == [
        ("firing", 1, 0),
        ("edit", None, None),
        ("firing", 0, 0),
        ("firing", 1, 0),
        ("edit", None, None),
    ]
    assert history_page["paging"] == {}
    newest, edit, *_ = history_page["data"]
    assert (newest["entityFullyQualifiedName"], newest["userName"]) == ("warehouse.shop.public.orders", "admin")
    assert (edit["version"], edit["title"], edit["eventType"]) == (
        0.2,
        "alert Descriptions: display name added: Descriptions",
        "entityUpdated",
    )
    entries, after = [], None
    while True:
        page = administrator.get(path, params={"limit": 2, **({"after": after} if after else {})}).json()
        entries += page["data"]
        if (after := page["paging"].get("after")) is None:
            break
    assert entries == history_page["data"]
    assert [one["kind"] for one in administrator.get(f"{path}?kind=edit").json()["data"]] == ["edit", "edit"]
    assert administrator.get(f"{path}?since={newest['timestamp']}").json()["data"][0] == newest
    assert administrator.get(f"{path}?until=2001-01-01").json()["data"] == []


def test_events_that_may_not_be_seen_are_not_in_a_history(
    person: Person, administrator: httpx.Client, fired_alert: Json
) -> None:
    user_id, mallory = person("mallory")
    path = f"/events/subscriptions/{fired_alert['id']}/history"
    assert len(mallory.get(path).json()["data"]) == 5
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    hide = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
    assert send_patch(administrator, f"/tables/{fired_alert['people']['id']}", hide).is_success
    for query in ("", "?limit=1", "?limit=2", "?kind=firing"):
        entries: list[Json] = []
        after: str | None = ""
        while after is not None:
            page = mallory.get(f"{path}{query or '?limit=500'}{after}").json()
            entries += page["data"]
            after = f"&after={page['paging']['after']}" if "after" in page["paging"] else None
        names = {one["entityFullyQualifiedName"] for one in entries}
        assert "warehouse.shop.public.people" not in names
        assert len(entries) == (2 if "firing" in query else 4)


def test_what_may_not_be_seen_of_a_visible_event_is_left_out(
    person: Person, administrator: httpx.Client, fired_alert: Json
) -> None:
    user_id, mallory = person("mallory")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["user"], "condition": "noOwner() || !isOwner()"})
    response = mallory.get(f"/events/subscriptions/{fired_alert['id']}/history")
    assert (response.status_code, len(response.json()["data"])) == (200, 5)


def test_the_history_of_an_alert_that_may_not_be_seen_is_refused(
    person: Person, administrator: httpx.Client, fired_alert: Json
) -> None:
    user_id, mallory = person("mallory")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["eventsubscription"]})
    answer = mallory.get(f"/events/subscriptions/{fired_alert['id']}/history")
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("kind=shot", 400),
        ("since=soon", 400),
        ("until=", 400),
        ("limit=0", 400),
        ("after=x", 400),
        ("after=MXxlbHNl", 400),
        ("spoon=1", 400),
    ],
)
def test_a_broken_question_about_a_history_is_refused(
    administrator: httpx.Client, fired_alert: Json, query: str, status: int
) -> None:
    answer = administrator.get(f"/events/subscriptions/{fired_alert['id']}/history?{query}")
    assert (answer.status_code, set(answer.json())) == (status, {"code", "message"})


def test_no_history_of_an_unknown_alert(administrator: httpx.Client) -> None:
    answer = administrator.get("/events/subscriptions/00000000-0000-0000-0000-000000000001/history")
    assert answer.status_code == 404
