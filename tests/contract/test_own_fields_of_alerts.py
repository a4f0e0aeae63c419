"""Tests of the fields of alerts that OpenMetadata lacks, from severity to the names of destinations."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.contract.test_access import create_entity, send_patch
from tests.contract.test_explain import Person, alert, assign_owners, describe, explanation_of, person
from tests.notifying import notify_all
from tests.serving import Json

from tocsin.model.notification import parse_reasons
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import destination_status, notification

__all__ = ["person"]  # a fixture

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
    refusal = send_patch(administrator, path, {"op": "add", "path": "/runbook", "value": "javascript:alert(1)"})
    assert (refusal.status_code, refusal.json()["message"].split(":")[0]) == (400, "runbook"), refusal.text


def test_a_test_definition_has_a_runbook_that_only_who_asks_for_it_reads(administrator: httpx.Client) -> None:
    definition = administrator.get("/dataQuality/testDefinitions/name/columnValuesToBeNotNull").json()
    path = f"/dataQuality/testDefinitions/{definition['id']}"
    written = send_patch(administrator, path, {"op": "add", "path": "/runbook", "value": _PAGE})
    assert (written.status_code, "runbook" in written.json()) == (200, False), written.text
    for fields in ("", "?fields=*"):
        assert "runbook" not in administrator.get(f"{path}{fields}").json()
    assert administrator.get(f"{path}?fields=runbook").json()["runbook"] == _PAGE
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


_TO_ALL = [
    {"category": "Owners", "type": "Email"},
    {"category": "Followers", "type": "ActivityFeed"},
    {"category": "Admins", "type": "ActivityFeed"},
    {"category": "Users", "type": "Email", "config": {"receivers": ["ben", "ben@example.org"], "sendToOwners": True}},
    {"category": "Users", "type": "ActivityFeed"},
]


def test_an_alert_to_oneself_tells_its_owner_only_whoever_matches(
    administrator: httpx.Client, orders: Json, person: Person, sqlite_engine: Engine
) -> None:
    ben_id, ben = person("ben")
    ann_id, ann = person("ann")
    assign_owners(administrator, orders, ben_id)
    assert ben.put(f"/tables/{orders['id']}/followers", json=ben_id).is_success
    description_rule = {"effect": "include", "condition": "fieldChanged == 'description'"}
    alert(administrator, "ToOwners", description_rule, destinations=[{"category": "Owners", "type": "Email"}])
    describe(administrator, orders, "before")
    notify_all(sqlite_engine)
    before = _recipients_in(sqlite_engine)
    own_alert = alert(ann, "Mine", description_rule, destinations=_TO_ALL, toMeOnly=True)
    assert "toMeOnly" not in ann.get(f"{_PATH}/{own_alert['id']}").json()
    shown_alert = ann.get(f"{_PATH}/{own_alert['id']}?fields=toMeOnly,owners").json()
    assert (shown_alert["toMeOnly"], [owner["id"] for owner in shown_alert["owners"]]) == (True, [ann_id])
    event_id = describe(administrator, orders, "after")
    notify_all(sqlite_engine)
    assert _recipients_in(sqlite_engine) - before == {
        ("Email", "ann@example.org", "Mine"): 1,
        ("ActivityFeed", ann_id, "Mine"): 1,
        ("Email", "ben@example.org", "ToOwners"): 1,
    }
    assert explanation_of(administrator, event_id, subscription="Mine", user="ben")["answer"].startswith("No")
    assert explanation_of(ann, event_id, subscription="Mine", user="ann")["answer"].startswith("Yes")


def _recipients_in(engine: Engine) -> Counter[tuple[str, str, str]]:
    """Return channel, recipient and each alert of every notification, Tocsin's own alerts excepted."""
    query = select(notification.c.channel, notification.c.recipient, notification.c.reasons)
    with reading(engine) as connection:
        return Counter(
            (channel, recipient, name)
            for channel, recipient, reasons in connection.execute(query)
            for name in {reason.subscription_name for reason in parse_reasons(reasons)} & {"Mine", "ToOwners"}
        )


@pytest.mark.parametrize(
    "destination",
    [
        {"category": "External", "type": "Email", "config": {"receivers": ["boss@example.com"]}},
        {"category": "External", "type": "Slack", "config": {"endpoint": "https://hooks.slack.com/services/T/B/x"}},
        {"category": "External", "type": "Webhook", "config": {"endpoint": "https://hooks.example.com/x"}},
        {"category": "Owners", "type": "Slack", "config": {"botToken": "xoxb-1-2-abc"}},
        {"category": "External", "type": "GovernanceWorkflowChangeEvent"},
    ],
)
def test_an_alert_to_oneself_has_no_address_of_its_own(person: Person, destination: Json) -> None:
    _, ann = person("ann")
    request = {"name": "Mine", "alertType": "Custom", "resources": ["table"], "toMeOnly": True}
    answer = ann.post(_PATH, json={**request, "destinations": [destination]})
    assert answer.status_code == 400, answer.text
    stored = alert(ann, "Stored", destinations=[{"category": "Users", "type": "Email"}], toMeOnly=True)
    change = {"op": "add", "path": "/destinations/0", "value": destination}
    assert send_patch(ann, f"{_PATH}/{stored['id']}", change).status_code == 400


def test_nobody_makes_an_alert_to_oneself_for_others(administrator: httpx.Client, person: Person) -> None:
    ben_id, _ = person("ben")
    ann_id, ann = person("ann")
    to_ann, to_ben = ({"id": user_id, "type": "user"} for user_id in (ann_id, ben_id))
    second = alert(administrator, "Second")
    team = create_entity(administrator, "/teams", name="shop", teamType="Group")
    request = {"name": "Mine", "alertType": "Notification", "resources": ["table"], "toMeOnly": True}
    request["destinations"] = [{"category": "Users", "type": "Email"}]
    wrong_owners = (
        ([to_ben], 403),
        ([{"type": "user", "name": "ben"}], 403),
        ([{"id": ann_id, "type": "user", "name": "ben"}], 403),
        ([{"type": "user", "fullyQualifiedName": "ben"}], 403),
        ([to_ann, to_ben], 400),
        ([{"id": team["id"], "type": "team"}], 400),
    )
    for owners, status in wrong_owners:
        answer = ann.post(_PATH, json={**request, "owners": owners})
        assert answer.status_code == status, answer.text
    own_alert = ann.post(_PATH, json={**request, "owners": [to_ann]}).json()
    path = f"{_PATH}/{own_alert['id']}"
    for change, status in (
        ({"op": "replace", "path": "/owners", "value": [to_ben]}, 403),
        ({"op": "add", "path": "/owners/-", "value": to_ben}, 400),
        ({"op": "add", "path": "/triggers", "value": [{"id": second["id"], "type": "eventsubscription"}]}, 400),
    ):
        answer = send_patch(ann, path, change)
        assert answer.status_code == status, answer.text
    removal = send_patch(ann, path, {"op": "remove", "path": "/owners"})
    assert [owner["id"] for owner in removal.json()["owners"]] == [ann_id]
    description_answer = send_patch(
        administrator, path, {"op": "add", "path": "/description", "value": "by an administrator"}
    )
    assert [owner["id"] for owner in description_answer.json()["owners"]] == [ann_id]


def test_destinations_have_names_for_who_asks_for_them(administrator: httpx.Client) -> None:
    to_owners = {"category": "Owners", "type": "Email", "name": "Owners' mail"}
    hook = {"category": "External", "type": "Slack", "config": {"endpoint": "https://hooks.slack.com/services/T/B/x"}}
    created_alert = alert(administrator, "Named", destinations=[to_owners, {**hook, "name": "#data-alerts"}])
    path = f"{_PATH}/{created_alert['id']}"
    for fields in ("", "?fields=*", "?fields=owners"):
        assert not [one for one in administrator.get(f"{path}{fields}").json()["destinations"] if "name" in one]
    destinations = administrator.get(f"{path}?fields=destinations").json()["destinations"]
    assert [one["name"] for one in destinations] == ["Owners' mail", "#data-alerts"]
    status = administrator.get(f"{path}/status").json()["data"]
    assert [(one["name"], "services/T" in str(one)) for one in status] == [
        ("Owners' mail", False),
        ("#data-alerts", False),
    ]
    renaming = send_patch(administrator, path, {"op": "replace", "path": "/destinations/1/name", "value": "#data"})
    assert [one["id"] for one in renaming.json()["destinations"]] == [one["id"] for one in destinations]


def test_who_asks_for_destinations_reads_their_status_of_a_page_at_once(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    tried_alert, untried_alert = (alert(administrator, name) for name in ("Tried", "Untried"))
    keys = {"subscription_id": tried_alert["id"], "destination_id": tried_alert["destinations"][0]["id"]}
    status_row = {
        "status": "active",
        "timestamp_ms": 5,
        "last_successful_at_ms": 5,
        "delivered_count": 1,
        "failed_count": 0,
    }
    with sqlite_engine.begin() as connection:
        connection.execute(destination_status.insert().values(**keys, **status_row))
    statuses = {
        row["name"]: [one["statusDetails"] for one in row["destinations"]]
        for row in administrator.get(f"{_PATH}?fields=destinations&limit=100").json()["data"]
    }
    assert statuses["Tried"] == [{"status": "active", "lastSuccessfulAt": 5, "timestamp": 5}]
    assert statuses["Untried"] == [{"status": "active", "timestamp": untried_alert["updatedAt"]}]
    read = administrator.get(f"{_PATH}/{tried_alert['id']}?fields=destinations").json()
    assert [one["statusDetails"] for one in read["destinations"]] == statuses["Tried"]
    for fields in ("", "?fields=*", "?fields=owners"):
        assert "statusDetails" not in str(administrator.get(f"{_PATH}/{tried_alert['id']}{fields}").json())
    write_answer = administrator.put(_PATH, json={key: read[key] for key in ("name", "alertType", "destinations")})
    assert (write_answer.status_code, write_answer.json()["version"]) == (200, read["version"]), (
        "sent back it changes nothing"
    )


def test_a_client_that_sends_back_what_it_has_read_keeps_the_names_of_destinations(
    administrator: httpx.Client,
) -> None:
    to_owners = {"category": "Owners", "type": "Email", "name": "Owners' mail"}
    created = alert(administrator, "Named", destinations=[to_owners])
    path = f"{_PATH}/{created['id']}"
    read = administrator.get(path).json()
    request = {key: read[key] for key in ("name", "alertType", "filteringRules", "destinations")}
    assert administrator.put(_PATH, json={**request, "description": "of a client"}).is_success
    (destination,) = administrator.get(f"{path}?fields=destinations").json()["destinations"]
    assert destination["name"] == "Owners' mail"
    assert send_patch(administrator, path, {"op": "remove", "path": "/destinations/0/name"}).is_success
    (destination,) = administrator.get(f"{path}?fields=destinations").json()["destinations"]
    assert "name" not in destination


@pytest.mark.parametrize("name", ["", " ", "a ", "a\nb", "x" * 101, 7, "#data-alerts"])
def test_a_destination_is_called_by_a_short_text_of_its_own(administrator: httpx.Client, name: Json) -> None:
    destinations = [{"category": "Owners", "type": "Email", "name": "#data-alerts"}]
    destinations.append({"category": "Followers", "type": "Email", "name": name})
    request = {"name": "Named", "alertType": "Notification", "resources": ["table"], "destinations": destinations}
    answer = administrator.post(_PATH, json=request)
    assert (answer.status_code, "destinations" in answer.json()["message"]) == (400, True), answer.text
