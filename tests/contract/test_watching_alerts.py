"""Tests of the alerts that watch an asset, and whom they tell, for those who may see all and for those who may not."""

from __future__ import annotations

import httpx
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.serving import Json, Served, table

HOOK = {"category": "External", "type": "Webhook", "config": {"endpoint": "https://hooks.example.org/canary-of-a-path"}}


def _alert(client: httpx.Client, name: str, condition: str, *destinations: Json, resource: str = "table") -> Json:
    rules = [{"effect": "include", "condition": condition}]
    return create_entity(
        client,
        "/events/subscriptions",
        name=name,
        alertType="Notification",
        filteringRules={"resources": [resource], "rules": rules},
        destinations=list(destinations),
    )


def _mail(category: str, **config: Json) -> Json:
    return {"category": category, "type": "Email", "config": config}


def _alerts_watching(client: httpx.Client, asset: Json) -> dict[str, list[Json]]:
    answer = client.get(f"/tables/{asset['id']}/alerts")
    assert answer.status_code == 200, answer.text
    provided = {"ActivityFeedAlert", "AssignedIncidents", "BrokenAlerts", "ChangeRequests", "EventLag"}
    return {one["name"]: one["tells"] for one in answer.json()["data"] if one["name"] not in provided}


def test_alerts_that_watch_an_asset_are_listed_with_whom_they_tell(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    ann_id, ann = served.person("ann")
    ben_id, ben = served.person("ben")
    with ann, ben:
        owners = [{"op": "add", "path": "/owners", "value": [{"id": ann_id, "type": "user"}]}]
        assert send_patch(administrator, f"/tables/{orders['id']}", *owners).is_success
        assert administrator.put(f"/tables/{orders['id']}/followers", json=ben_id).is_success
        _alert(administrator, "Owned", "matchAnyOwnerName('ann')", _mail("Owners"), _mail("Followers"), HOOK)
        _alert(administrator, "Named", "isBot()", _mail("Users", receivers=["ben"]), _mail("Admins"))
        _alert(administrator, "OfBen", "matchAnyOwnerName('ben')", _mail("Owners"))
        off = _alert(administrator, "Off", "true", _mail("Owners"))
        switch_operation = {"op": "replace", "path": "/enabled", "value": False}
        assert send_patch(administrator, f"/events/subscriptions/{off['id']}", switch_operation).is_success
        watching = _alerts_watching(administrator, orders)
        assert set(watching) == {"Owned", "Named"}
        tellings = {(name, one["relation"]): one for name, many in watching.items() for one in many}
        assert [one["name"] for one in tellings["Owned", "owner"]["people"]] == ["ann"]
        assert [one["name"] for one in tellings["Owned", "follower"]["people"]] == ["ben"]
        assert [one["name"] for one in tellings["Named", "user"]["people"]] == ["ben"]
        assert tellings["Named", "admin"]["people"] == []
        assert (tellings["Owned", "external"]["type"], tellings["Owned", "external"]["total"]) == ("Webhook", 0)
        assert "canary-of-a-path" not in str(watching)
        assert set(_alerts_watching(administrator, table(administrator, "customers"))) == {"Named"}


def test_what_one_may_not_see_is_not_named(served: Served, administrator: httpx.Client, orders: Json) -> None:
    ann_id, ann = served.person("ann")
    ben_id, ben = served.person("ben")
    with ann, ben:
        assert administrator.put(f"/tables/{orders['id']}/followers", json=ben_id).is_success
        secret = _alert(administrator, "Secret", "true", _mail("Followers"))
        _alert(ann, "OfAnn", "true", _mail("Followers"))
        assert set(_alerts_watching(ann, orders)) == {"Secret", "OfAnn"}
        tag = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
        assert send_patch(administrator, f"/events/subscriptions/{secret['id']}", tag).is_success
        hides = {"effect": "deny", "resources": ["eventsubscription"], "condition": "matchAnyTag('PII.Sensitive')"}
        policy = restrict(
            administrator, ann_id, hides, {"effect": "deny", "resources": ["user"], "condition": "!isOwner()"}
        )
        ((name, (telling,)),) = _alerts_watching(ann, orders).items()
        assert (name, telling["people"], telling["total"]) == ("OfAnn", [], 1), "ben is counted, and not named"
        nothing = {"effect": "deny", "resources": ["table"], "name": "r9", "operations": ["All"]}
        rule_operation = {"op": "add", "path": "/rules/-", "value": nothing}
        assert send_patch(administrator, f"/policies/{policy['id']}", rule_operation).is_success
        assert ann.get(f"/tables/{orders['id']}/alerts").status_code in (403, 404)
        assert set(_alerts_watching(administrator, orders)) == {"Secret"}, "OfAnn covers what ann may view"


def _names_between(client: httpx.Client, asset: Json) -> dict[str, list[str] | None]:
    """Return through which tests and suites each alert watches a table, None of those that watch it itself."""
    answer = client.get(f"/tables/{asset['id']}/alerts")
    assert answer.status_code == 200, answer.text
    alerts = [one for one in answer.json()["data"] if one["name"].startswith("Of")]
    return {alert["name"]: _names(alert["through"]) if "through" in alert else None for alert in alerts}


def _names(references: list[Json]) -> list[str]:
    return [one["name"] for one in references]


def test_alerts_on_tests_of_a_table_and_on_their_suites_watch_it_through_these(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    ann_id, ann = served.person("ann")
    customers = table(administrator, "customers")
    fqn = orders["fullyQualifiedName"]
    for name, link in (
        ("has_rows", fqn),
        ("has_names", f"{fqn}::columns::email"),
        ("other", customers["fullyQualifiedName"]),
    ):
        owners = [{"id": ann_id, "type": "user"}] if name == "has_names" else []
        create_entity(
            administrator,
            "/dataQuality/testCases",
            name=name,
            entityLink=f"<#E::table::{link}>",
            testDefinition="columnValuesToBeNotNull" if "::columns" in link else "tableRowCountToEqual",
            owners=owners,
        )
    _alert(administrator, "OfFailures", "testStatus == 'Failed'", _mail("Owners"), resource="testCase")
    _alert(administrator, "OfOneTest", "entity.name == 'has_names'", _mail("Owners"), resource="testCase")
    _alert(administrator, "OfAnother", "entity.name == 'other'", _mail("Owners"), resource="testCase")
    _alert(administrator, "OfAll", "true", _mail("Owners"), resource="all")
    _alert(administrator, "OfSuites", "isBot()", _mail("Owners"), resource="testSuite")
    suite = f"{fqn}.testSuite"
    with ann:
        assert _names_between(administrator, orders) == {
            "OfAll": None,
            "OfFailures": ["has_names", "has_rows"],
            "OfOneTest": ["has_names"],
            "OfSuites": [suite],
        }
        assert _names(_alerts_watching(administrator, orders)["OfFailures"][-1]["people"]) == ["ann"]
        assert _names_between(administrator, customers)["OfAnother"] == ["other"]
        hides = {"effect": "deny", "resources": ["testCase"], "condition": "isOwner()"}
        restrict(administrator, ann_id, hides, {"effect": "deny", "resources": ["testSuite"]})
        assert _names_between(ann, orders) == {"OfAll": None, "OfFailures": ["has_rows"]}
