"""Tests of what a person's preferences of now would have made of their last 30 days."""

from __future__ import annotations

from typing import Any

import httpx
from sqlalchemy import Engine, update
from tests.contract.test_explain import describe
from tests.contract.test_next_digest import ann, stored_rows
from tests.notifying import notify_all
from tests.serving import Json, Served
from tests.store.test_subscriptions import counted_statements

from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification

__all__ = ["ann"]


def month_of(person: tuple[str, httpx.Client]) -> Any:
    user_id, client = person
    answer = client.get(f"/users/{user_id}/preferences/month")
    assert answer.status_code == 200, answer.text
    return answer.json()


def counts_of(month: Json, channel: str) -> tuple[int, int, int, int]:
    counts = month["channels"][channel]
    return counts["atOnceCount"], counts["digestCount"], counts["inDigestsCount"], counts["neverCount"]


def test_the_last_month_is_as_the_preferences_of_now_would_have_made_it(
    ann: Any, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = ann
    month = month_of(ann)
    assert (month["channels"], month["kinds"], month["isCut"]) == ({}, {}, False)
    for text in ("one", "two", "three"):
        describe(administrator, orders, text)
    notify_all(sqlite_engine)
    before = stored_rows(sqlite_engine)
    month = month_of(ann)
    assert counts_of(month, "Email") == (0, 1, 3, 0)
    assert month["kinds"]["description"] == {"all": 3, "owned": 3}
    assert stored_rows(sqlite_engine) == before
    for frequency, counts in [("immediate", (3, 0, 0, 0)), ("never", (0, 0, 0, 3)), ("daily 18:00", (0, 1, 3, 0))]:
        client.put(f"/users/{user_id}/preferences", json={"kinds": {"description": {"Email": frequency}}})
        assert counts_of(month_of(ann), "Email") == counts
    for_owners = {"roles": {"owned": {"description": {"Email": "immediate"}}}, "frequency": "never"}
    client.put(f"/users/{user_id}/preferences", json=for_owners)
    assert counts_of(month_of(ann), "Email") == (3, 0, 0, 0)
    with writing(sqlite_engine) as connection:
        connection.execute(update(notification).values(created_at_ms=notification.c.created_at_ms - 31 * 86_400_000))
    assert month_of(ann)["channels"] == {}


def test_critical_alerts_and_mandatory_kinds_count_as_they_come(
    ann: Any, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = ann
    defaults = {"mandatory": ["description"]}
    describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    client.put(f"/users/{user_id}/preferences", json={"frequency": "never"})
    assert counts_of(month_of(ann), "Email") == (0, 0, 0, 1)
    assert administrator.put("/system/preferences", json=defaults).status_code == 200
    assert counts_of(month_of(ann), "Email") == (1, 0, 0, 0)


def test_what_the_reader_may_not_see_is_not_counted_and_nobody_reads_the_month_of_another(
    ann: Any, served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, _ = ann
    describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    rule = {"name": "Shut", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]}
    administrator.post("/policies", json={"name": "Shut", "rules": [rule]})
    role = administrator.post("/roles", json={"name": "Shut", "policies": ["Shut"]}).json()
    patch = [{"op": "add", "path": "/roles", "value": [{"id": role["id"], "type": "role"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/users/{user_id}", json=patch, headers=headers).status_code == 200
    month = month_of(ann)
    assert (month["channels"], month["kinds"]) == ({}, {})
    assert counts_of(month_of((user_id, administrator)), "Email")[2] == 1
    _, client_of_bob = served.person("bob")
    with client_of_bob, served.client() as client_of_nobody:
        assert client_of_bob.get(f"/users/{user_id}/preferences/month").status_code == 403
        assert client_of_nobody.get(f"/users/{user_id}/preferences/month").status_code == 401


def test_the_number_of_statements_does_not_depend_on_that_of_notifications(
    ann: Any, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    counts = []
    for number in (1, 8):
        for text in range(number):
            describe(administrator, orders, f"text {number} {text}")
        notify_all(sqlite_engine)
        month_of(ann)
        with counted_statements(sqlite_engine) as statements:
            month_of(ann)
        counts.append(len(statements))
    assert counts[0] == counts[1]
