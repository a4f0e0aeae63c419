"""Tests of the figures of incidents by HTTP: they count what the caller may see, by day, by whom, and how long."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_alert_incidents import case, report_result
from tests.contract.test_explain import Person, person
from tests.notifying import notify_all
from tests.serving import Json

__all__ = ["case", "person"]  # fixtures


def test_figures_count_by_day_by_whom_and_how_long_what_the_caller_may_see(
    administrator: httpx.Client, case: Json, person: Person, sqlite_engine: Engine
) -> None:
    figures = administrator.get("/incidents/figures?days=7").json()
    assert (figures["open"], figures["unacknowledged"], figures["mine"], figures["resolved"]) == (1, 1, 0, 0)
    assert (figures["untilResolved"], figures["untilAcknowledged"], figures["repeaters"]) == (None, None, [])
    assert [(one["count"], one["open"]) for one in figures["perDay"]] == [*[(0, 0)] * 6, (1, 1)]

    ann_id, ann = person("ann")
    assert administrator.put("/incidents/INC-1/acknowledge").is_success
    (incident,) = administrator.get("/incidents").json()["data"]
    assert incident["acknowledgedBy"]["name"] == "admin"
    assert incident["acknowledgedAt"] >= incident["openedAt"]
    body = {"reason": "MissingData", "comment": "the feed was late"}
    assert administrator.put("/incidents/INC-1/resolve", json=body).is_success
    (ended_incident,) = administrator.get("/incidents").json()["data"]
    assert ended_incident["resolution"] == {"user": incident["acknowledgedBy"], **body}
    report_result(administrator, case["fullyQualifiedName"], "Failed", case["now"] + 2)
    notify_all(sqlite_engine)
    assignee = {"assignee": {"type": "user", "id": ann_id}}
    newest = administrator.put("/incidents/INC-2/assign", json=assignee).json()
    assert (newest["acknowledgedBy"], newest["resolution"]) == (None, None)

    for client, names in ((ann, ["INC-2"]), (administrator, [])):
        page = client.get("/incidents?mine=true").json()["data"]
        assert [one["name"] for one in page] == names
    assert ann.get("/incidents?mine=true&assignee=admin").json()["data"] == []

    figures = ann.get("/incidents/figures").json()
    assert (figures["open"], figures["unacknowledged"], figures["mine"], figures["resolved"]) == (1, 0, 1, 1)
    assert figures["perDay"][-1] == {"day": figures["perDay"][-1]["day"], "count": 2, "open": 1}
    assert figures["untilResolved"] == ended_incident["resolvedAt"] - ended_incident["openedAt"]
    assert figures["untilAcknowledged"] == incident["acknowledgedAt"] - incident["openedAt"]
    (repeater,) = figures["repeaters"]
    assert (repeater["entity"]["id"], repeater["count"], repeater["latest"]) == (case["id"], 2, "INC-2")
    assert figures["isWhole"] is True

    restrict(administrator, ann_id, {"effect": "deny", "resources": ["testCase"]})
    narrow_figures = ann.get("/incidents/figures").json()
    assert (narrow_figures["open"], narrow_figures["mine"], narrow_figures["repeaters"]) == (0, 0, [])
    assert sum(one["count"] for one in narrow_figures["perDay"]) == 0
    for days in ("0", "91", "x"):
        assert ann.get(f"/incidents/figures?days={days}").status_code == 400


def test_incidents_are_found_by_who_owns_what_failed_or_the_table_that_the_test_checks(
    administrator: httpx.Client, case: Json, person: Person
) -> None:
    ann_id, ann = person("ann")
    address_of_own = "/incidents?owned=true&unattended=true"
    assert ann.get(address_of_own).json()["data"] == ann.get("/incidents?owner=ann").json()["data"] == []

    table = administrator.get("/tables/name/warehouse.shop.public.orders").json()
    owners = [{"op": "add", "path": "/owners", "value": [{"id": ann_id, "type": "user"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/tables/{table['id']}", json=owners, headers=headers).is_success
    for client, address in (
        (ann, address_of_own),
        (administrator, "/incidents?owner=ann"),
        (ann, f"/incidents?owner={ann_id}"),
    ):
        assert [one["name"] for one in client.get(address).json()["data"]] == ["INC-1"]
    assert administrator.get(address_of_own).json()["data"] == []
    assert administrator.get("/incidents?owned=true&owner=ann").json()["data"] == []

    assert administrator.put("/incidents/INC-1/acknowledge").is_success
    assert ann.get(address_of_own).json()["data"] == []
    assert len(ann.get("/incidents?owned=true").json()["data"]) == 1
    restrict(administrator, ann_id, {"effect": "deny", "resources": ["testCase"]})
    assert ann.get("/incidents?owned=true").json()["data"] == []
