"""Tests of the fields of alerts that OpenMetadata lacks: severity, runbook, expiry."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest
from tests.contract.test_access import create_entity, send_patch
from tests.contract.test_explain import alert
from tests.serving import Json

_PATH = "/events/subscriptions"
_PAGE = "https://wiki.example.com/orders"


def test_severity_and_runbook_are_answered_on_request_only(administrator: httpx.Client) -> None:
    created = alert(administrator, "Quality", severity="Severity2", runbook=_PAGE)
    path = f"{_PATH}/{created['id']}"
    for fields in ("", "?fields=*", "?fields=owners"):
        assert {"severity", "runbook"}.isdisjoint(administrator.get(f"{path}{fields}").json())
    shown_alert = administrator.get(f"{path}?fields=severity,runbook").json()
    assert (shown_alert["severity"], shown_alert["runbook"]) == ("Severity2", _PAGE)
    alerts = administrator.get(f"{_PATH}?fields=severity").json()["data"]
    assert [(row["severity"], "runbook" in row) for row in alerts if row["name"] == "Quality"] == [("Severity2", False)]


def test_what_does_not_name_them_keeps_them_and_a_patch_removes_them(administrator: httpx.Client) -> None:
    created = alert(administrator, "Quality", severity="Severity2", runbook=_PAGE)
    path = f"{_PATH}/{created['id']}"
    request = {key: created[key] for key in ("name", "alertType", "filteringRules", "destinations")}
    assert administrator.put(_PATH, json={**request, "severity": "Severity1"}).is_success
    shown_alert = administrator.get(f"{path}?fields=severity,runbook").json()
    assert (shown_alert["severity"], shown_alert["runbook"]) == ("Severity1", _PAGE)
    assert send_patch(administrator, path, {"op": "remove", "path": "/runbook"}).is_success
    assert "runbook" not in administrator.get(f"{path}?fields=runbook").json()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"severity": "high"}, "severity: must be 'Severity1', 'Severity2'"),
        ({"severity": 1}, "severity: must be"),
        ({"runbook": "javascript:alert(1)"}, "runbook: must begin with http:// or https://"),
        ({"runbook": " "}, "runbook: must be an address or a text"),
        ({"runbook": 7}, "runbook: must be"),
        ({"runbok": "x"}, "runbok: unknown key; did you mean runbook?"),
    ],
)
def test_others_are_refused(administrator: httpx.Client, fields: Json, message: str) -> None:
    request = {"name": "Quality", "alertType": "Notification", "resources": ["table"], **fields}
    answer = administrator.post(_PATH, json=request)
    assert (answer.status_code, answer.json()["message"].startswith(message)) == (400, True), answer.text


def test_a_test_has_a_runbook_which_no_event_for_strict_clients_holds(
    administrator: httpx.Client, orders: Json
) -> None:
    link = f"<#E::table::{orders['fullyQualifiedName']}::columns::email>"
    request = {"name": "null", "entityLink": link, "testDefinition": "columnValuesToBeNotNull"}
    case = create_entity(administrator, "/dataQuality/testCases", **request, runbook=_PAGE)
    path = f"/dataQuality/testCases/{case['id']}"
    for fields in ("", "?fields=*"):
        assert "runbook" not in administrator.get(f"{path}{fields}").json()
    assert administrator.get(f"{path}?fields=runbook").json()["runbook"] == _PAGE
    assert "runbook" not in case
    for event_format in ("default", "openmetadata", "seed", "tocsin"):
        query = {"entityId": case["id"], "format": event_format}
        (event,) = administrator.get("/events", params=query).json()["data"]
        assert "runbook" not in json.dumps(event["entity"])
    refused = send_patch(administrator, path, {"op": "add", "path": "/runbook", "value": "javascript:alert(1)"})
    assert (refused.status_code, refused.json()["message"].split(":")[0]) == (400, "runbook"), refused.text


def test_an_expiry_is_a_later_moment_and_kept_as_milliseconds(administrator: httpx.Client) -> None:
    created = alert(administrator, "Trial", expires="2999-12-31T18:00:00+01:00")
    path = f"{_PATH}/{created['id']}"
    moment_ms = int(datetime(2999, 12, 31, 17, tzinfo=UTC).timestamp() * 1_000)
    assert "expires" not in administrator.get(f"{path}?fields=*").json()
    shown_alert = administrator.get(f"{path}?fields=expires,owners").json()
    assert shown_alert["expires"] == moment_ms
    assert [owner["name"] for owner in shown_alert["owners"]] == ["admin"], "somebody must be told"
    assert send_patch(administrator, path, {"op": "add", "path": "/expires", "value": "3000-01-01"}).is_success
    assert send_patch(administrator, path, {"op": "remove", "path": "/expires"}).is_success
    assert "expires" not in administrator.get(f"{path}?fields=expires").json()


@pytest.mark.parametrize("moment", ["2020-01-01", 1, 0, -5, True, "soon", 1.5, 10**18, ["2999-01-01"]])
def test_an_expiry_that_is_over_or_none_is_refused(administrator: httpx.Client, moment: Json) -> None:
    request = {"name": "Trial", "alertType": "Notification", "resources": ["table"], "expires": moment}
    answer = administrator.post(_PATH, json=request)
    assert (answer.status_code, answer.json()["message"].split(":")[0]) == (400, "expires"), answer.text
