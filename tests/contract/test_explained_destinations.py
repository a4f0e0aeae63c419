"""Tests that explanations say what destinations are called, beside the addresses that are masked."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_explain import alert, alert_in, assign_owners, describe, explanation_of
from tests.notifying import notify_all
from tests.serving import Json, Served

HOOK = {
    "name": "#data-alerts",
    "category": "External",
    "type": "Webhook",
    "config": {"endpoint": "http://127.0.0.1:9/services/T0/secret"},
}


def test_a_masked_address_stands_behind_the_name_of_its_destination(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    nameless = {key: value for key, value in HOOK.items() if key != "name"}
    unnamed_hook = {**nameless, "config": {"endpoint": "http://127.0.0.1:9/services/T1/secret"}}
    alert(administrator, "Watch", destinations=[HOOK, unnamed_hook])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Watch")
    reach, notifications = alert_in(answer, "Watch")["reached"]["data"], answer["notified"]["data"]
    for recipients in (reach, notifications):
        assert sorted(one["destinations"] for one in recipients) == [[], ["#data-alerts"]]
    addresses = {one["name"] for one in reach}
    assert addresses == {one["message"]["target"] for one in notifications}
    assert all(one.startswith("http://127.0.0.1:9/") and "#" not in one for one in addresses), addresses
    assert "secret" not in str(answer)


def test_differences_call_an_address_by_its_destination(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    created = alert(administrator, "Watch", destinations=[HOOK])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    moved = {**created["destinations"][0], "config": {"endpoint": "http://127.0.0.1:10/services/T2/new"}}
    patch = [{"op": "replace", "path": "/destinations/0", "value": moved}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/events/subscriptions/{created['id']}", json=patch, headers=headers).is_success
    differences = explanation_of(administrator, event, subscription="Watch")["disagreements"]
    says = {one["kind"]: one["says"] for one in differences}
    assert says.keys() == {"expectedButNotStored", "storedButNotExpected"}
    assert all("#data-alerts (http://127.0.0.1:" in one for one in says.values()), says


def test_destinations_of_alerts_that_the_asker_may_not_view_are_not_named(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = served.person("ann")
    assign_owners(administrator, orders, user_id)
    alert(administrator, "Hidden", destinations=[{"name": "Owners", "category": "Owners", "type": "Email"}])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)

    def names() -> list[list[str]]:
        notified = explanation_of(client, event, user="ann")["notified"]["data"]
        return sorted(one["destinations"] for one in notified)

    with client:
        assert names() == [[], ["Owners"]]
        denying_policy = {"effect": "deny", "resources": ["eventsubscription"], "operations": ["ViewBasic", "ViewAll"]}
        restrict(administrator, user_id, denying_policy)
        assert names() == [[], []]
