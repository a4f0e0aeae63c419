"""Tests of counts shown to people with limited access: of an inbox, a suite, lineage and an alert's noise."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
from sqlalchemy import Engine, Row, select
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.store.database.tables import change_event, notification

_CASES = "/dataQuality/testCases"
_HIDDEN = [{"tagFQN": "PII.Sensitive"}]
_ALERT = {
    "name": "mine",
    "alertType": "Notification",
    "filteringRules": {"resources": ["table"]},
    "destinations": [{"category": "Followers", "type": "ActivityFeed"}],
}


def create_mixed_suite(administrator: httpx.Client, people: Json) -> Json:
    cases = []
    for name in ("orders", people["name"]):
        link = f"<#E::table::warehouse.shop.public.{name}::columns::email>"
        case = create_entity(
            administrator, _CASES, name=f"of_{name}", entityLink=link, testDefinition="columnValuesToBeNotNull"
        )
        result = {"timestamp": 1, "testCaseStatus": "Failed"}
        assert administrator.post(f"{_CASES}/testCaseResults/{case['fullyQualifiedName']}", json=result).is_success
        cases.append(case["id"])
    suite = create_entity(administrator, "/dataQuality/testSuites", name="mixed")
    body = {"testSuiteId": suite["id"], "testCaseIds": cases}
    assert administrator.put(f"{_CASES}/logicalTestCases", json=body).is_success
    return suite


def hidden_entries(engine: Engine, user_id: str, asset_id: str) -> Sequence[Row[str, int | None]]:
    """Return id and time of reading of what a person was told of an asset."""
    query = select(notification.c.id, notification.c.read_at_ms).where(notification.c.recipient_id == user_id)
    query = query.join(change_event, change_event.c.log_offset == notification.c.log_offset)
    with engine.connect() as connection:
        return connection.execute(query.where(change_event.c.entity_id == asset_id)).all()


def test_what_may_not_be_seen_is_not_counted(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, mallory = served.person("mallory")
    people = table(administrator, "people")
    suite = create_mixed_suite(administrator, people)
    ends = {"fromEntity": {"id": people["id"], "type": "table"}, "toEntity": {"id": orders["id"], "type": "table"}}
    assert administrator.put("/lineage", json={"edge": ends}).is_success
    alert = create_entity(mallory, "/events/subscriptions", **_ALERT)
    for asset in (orders, people):
        assert mallory.put(f"/tables/{asset['id']}/followers/{user_id}").is_success
        change = {"op": "add", "path": "/description", "value": "x"}
        assert send_patch(administrator, f"/tables/{asset['id']}", change).is_success
    notify_all(sqlite_engine)
    inbox, noise = f"/users/{user_id}/notifications", f"/events/subscriptions/{alert['id']}/noise"

    def counts() -> list[Json]:
        suite_summary = mallory.get(f"/dataQuality/testSuites/{suite['id']}?fields=summary").json()["summary"]
        graph = mallory.get("/lineage/getLineage", params={"fqn": orders["fullyQualifiedName"]}).json()
        inbox_page = mallory.get(inbox).json()
        of_alert, of_all = (mallory.get(path).json() for path in (noise, "/events/subscriptions/noise"))
        return [
            (suite_summary["total"], suite_summary["failed"]),
            graph["nodes"][orders["fullyQualifiedName"]]["paging"]["entityUpstreamCount"],
            (inbox_page["paging"]["total"], inbox_page["counts"]["unread"], inbox_page["counts"]["total"]),
            (
                of_alert["fired"],
                of_alert["notifiedInApp"],
                [(one["fired"], one["newest"]["events"]) for one in of_all["data"] if one["id"] == alert["id"]],
            ),
        ]

    full_counts = counts()
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    hide = {"op": "add", "path": "/tags", "value": _HIDDEN}
    assert send_patch(administrator, f"/tables/{people['id']}", hide).is_success
    notify_all(sqlite_engine)
    reduced_counts = counts()
    hidden_id = hidden_entries(sqlite_engine, user_id, people["id"])[0].id
    assert mallory.put(f"{inbox}/{hidden_id}/read").status_code == 404
    visible_count = mallory.get(inbox).json()["counts"]["unread"]
    assert mallory.put(f"{inbox}/read").json() == {"marked": visible_count}
    assert mallory.get(inbox).json()["counts"]["unread"] == 0
    assert {one.read_at_ms for one in hidden_entries(sqlite_engine, user_id, people["id"])} == {None}
    mallory.close()
    fired_count = full_counts[3][0]
    assert full_counts[:3] == [(2, 2), 1, (2, 2, 2)]
    assert reduced_counts[:3] == [(1, 1), 0, (1, 1, 1)]
    assert reduced_counts[3] == (fired_count // 2, 1, [(fired_count // 2, 1)]), (
        "and of the change that hid it, nothing fired either"
    )
