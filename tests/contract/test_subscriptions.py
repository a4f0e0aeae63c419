"""Tests of the alert routes: validation, masking and status. seeds/001, by HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, Served
from tests.startedserver import lasting_administrator
from tests.startedstore import StartedStore

from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.database.tables import destination_status
from tocsin.store.outbox.pauses import pauses_at
from tocsin.store.upkeep.fsck.inspection import inspect

PATCH = {"Content-Type": "application/json-patch+json"}
MASK = "*********"
HOOK: Json = {
    "category": "External",
    "type": "Webhook",
    "config": {
        "endpoint": "http://127.0.0.1:9/hook",
        "secretKey": "s3cret",
        "headers": {"Authorization": "Bearer XXX", "X-Team": "data"},
    },
}


def alert(**fields: Json) -> Json:
    return {
        "name": "SchemaChanges",
        "alertType": "Notification",
        "filteringRules": {
            "resources": ["table"],
            "rules": [{"name": "columns", "effect": "include", "condition": "fieldChanged == 'columns'"}],
        },
        "destinations": [HOOK],
        **fields,
    }


OAUTH = {"type": "oauth2", "tokenUrl": "https://login.example.org/token", "clientId": "id", "clientSecret": "s"}


def alert_with_auth(**auth: Json) -> Json:
    return alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "authType": auth}}])


def send_patch(client: httpx.Client, path: str, *operations: Json) -> httpx.Response:
    return client.patch(path, content=json.dumps(operations), headers=PATCH)


@pytest.fixture
def created_alert(administrator: httpx.Client) -> Json:
    answer = administrator.post("/events/subscriptions", json=alert())
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_an_alert_gets_the_seeds_defaults_and_ids(created_alert: Json) -> None:
    assert (created_alert["batchSize"], created_alert["retries"], created_alert["pollInterval"]) == (100, 3, 60)
    assert (created_alert["enabled"], created_alert["trigger"], created_alert["provider"]) == (
        True,
        {"triggerType": "RealTime"},
        "user",
    )
    assert len(created_alert["destinations"][0]["id"]) == 36
    assert created_alert["version"] == 0.1


@pytest.mark.parametrize(
    "trigger",
    [
        {"triggerType": "Scheduled", "scheduleInfo": "Daily", "cronExpression": "0 0 8 * * ?"},
        {"triggerType": "Scheduled", "scheduleInfo": "Monthly"},
        {"triggerType": "Scheduled", "scheduleInfo": "Custom", "cronExpression": "30 8 * * 1-5"},
        {"triggerType": "Scheduled", "cronExpression": "0 0 8 LW * ? 2026-2030", "timezone": "Europe/Berlin"},
        {"triggerType": "RealTime", "timezone": "Europe/Berlin"},
    ],
)
def test_a_trigger_is_kept_as_it_was_sent(administrator: httpx.Client, trigger: Json) -> None:
    response = administrator.post("/events/subscriptions", json=alert(trigger=trigger))
    assert (response.status_code, response.json().get("trigger")) == (201, trigger), response.text


@pytest.mark.parametrize(
    ("trigger", "seconds"),
    [
        ({"triggerType": "Scheduled", "scheduleInfo": "Weekly"}, 10),  # a create request of upstream's models
        ({"triggerType": "Scheduled", "scheduleInfo": "Daily"}, 60),  # one of its entities
        ({"triggerType": "RealTime", "scheduleInfo": "Weekly"}, 10),
    ],
)
def test_defaults_of_upstreams_models_are_accepted_where_they_do_nothing(
    administrator: httpx.Client, trigger: Json, seconds: int
) -> None:
    response = administrator.post("/events/subscriptions", json=alert(trigger=trigger, pollInterval=seconds))
    assert (response.status_code, response.json().get("pollInterval")) == (201, seconds), response.text


def test_an_alert_that_becomes_scheduled_gives_up_its_interval(administrator: httpx.Client) -> None:
    created = administrator.post("/events/subscriptions", json=alert(pollInterval=30)).json()
    path, daily = f"/events/subscriptions/{created['id']}", {"triggerType": "Scheduled", "scheduleInfo": "Daily"}
    schedule = {"op": "replace", "path": "/trigger", "value": daily}
    refused = send_patch(administrator, path, schedule)
    assert (refused.status_code, refused.json()["message"].split(":")[0]) == (400, "pollInterval")
    changed = send_patch(administrator, path, schedule, {"op": "remove", "path": "/pollInterval"})
    assert (changed.status_code, changed.json().get("pollInterval")) == (200, 60), changed.text


def test_an_older_scheduled_alert_keeps_its_interval(
    served: Served, administrator: httpx.Client, created_alert: Json
) -> None:
    stored = {"trigger": {"triggerType": "Scheduled", "scheduleInfo": "Daily"}, "pollInterval": 30}
    changes = [{"op": "add", "path": f"/{key}", "value": value} for key, value in stored.items()]
    served.app.state.parts.writes.patch("eventsubscription", Key.by_id(created_alert["id"]), changes, actor=SYSTEM)
    path = f"/events/subscriptions/{created_alert['id']}"
    described = send_patch(administrator, path, {"op": "add", "path": "/description", "value": "Changed."})
    assert (described.status_code, described.json().get("pollInterval")) == (200, 30), described.text
    refusal = send_patch(administrator, path, {"op": "replace", "path": "/pollInterval", "value": 31})
    assert refusal.status_code == 400


def test_secrets_never_leave(served: Served, administrator: httpx.Client, created_alert: Json) -> None:
    config = administrator.get(f"/events/subscriptions/{created_alert['id']}").json()["destinations"][0]["config"]
    assert config["secretKey"] == MASK
    assert config["headers"] == {"Authorization": MASK, "X-Team": MASK}
    everything = [
        administrator.get(path).text
        for path in ("/events/subscriptions", f"/events/subscriptions/{created_alert['id']}/versions", "/events")
    ]
    assert not any("s3cret" in text or "Bearer XXX" in text for text in everything)
    stored = served.app.state.parts.subscriptions.with_secrets(created_alert["id"])
    assert stored.destinations[0].config.secret_key == "s3cret"
    assert stored.destinations[0].config.headers["Authorization"] == "Bearer XXX"
    assert stored.created_at_ms == created_alert["updatedAt"]


def test_a_mask_that_is_written_back_keeps_the_secret(
    served: Served, administrator: httpx.Client, created_alert: Json
) -> None:
    subscriptions = served.app.state.parts.subscriptions
    path = f"/events/subscriptions/{created_alert['id']}"
    endpoint_operation = {
        "op": "replace",
        "path": "/destinations/0/config/endpoint",
        "value": "http://127.0.0.1:9/moved",
    }
    assert send_patch(administrator, path, endpoint_operation).status_code == 200
    assert subscriptions.with_secrets(created_alert["id"]).destinations[0].config.secret_key == "s3cret"
    read = administrator.get(path).json()
    again = alert(destinations=read["destinations"], description="Read and put back.")
    assert administrator.put("/events/subscriptions", json=again).status_code == 200
    assert subscriptions.with_secrets(created_alert["id"]).destinations[0].config.secret_key == "s3cret"
    key_operation = {"op": "replace", "path": "/destinations/0/config/secretKey", "value": "n3w"}
    answer = send_patch(administrator, path, key_operation)
    assert answer.json()["destinations"][0]["config"]["secretKey"] == MASK
    assert subscriptions.with_secrets(created_alert["id"]).destinations[0].config.secret_key == "n3w"
    removal = {"op": "remove", "path": "/destinations/0/config/secretKey"}
    assert send_patch(administrator, path, removal).status_code == 200
    assert subscriptions.with_secrets(created_alert["id"]).destinations[0].config.secret_key is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("secretKey", "n3w-canary"),
        ("headers", {"Authorization": "Bearer n3w-canary", "X-Team": "data"}),
        ("endpoint", "http://127.0.0.1:9/hook/n3w-canary"),
    ],
)
def test_a_change_of_nothing_but_a_secret_is_a_version_and_resumes_what_is_stopped(
    administrator: httpx.Client, sqlite_engine: Engine, key: str, value: Json
) -> None:
    secret_path = {**HOOK, "config": {**HOOK["config"], "endpoint": "http://127.0.0.1:9/hook/0ld"}}
    created_alert = administrator.post("/events/subscriptions", json=alert(destinations=[secret_path])).json()
    destination_id, path = created_alert["destinations"][0]["id"], f"/events/subscriptions/{created_alert['id']}"
    with sqlite_engine.begin() as connection:
        stopped_status = {"status": "awaitingRetry", "timestamp_ms": 5, "opened_at_ms": 5, "stopped_at_ms": 5}
        keys = {"subscription_id": created_alert["id"], "destination_id": destination_id}
        counts = {"delivered_count": 0, "failed_count": 1, "configured_at_ms": created_alert["updatedAt"]}
        connection.execute(destination_status.insert().values(**keys, **stopped_status, **counts))
    assert pauses_at(sqlite_engine, 10**13).waiting == {destination_id}

    change = {"op": "replace", "path": f"/destinations/0/config/{key}", "value": value}
    changed_alert = send_patch(administrator, path, change).json()
    assert (changed_alert["version"], changed_alert["destinations"]) == (0.2, created_alert["destinations"])
    assert changed_alert["changeDescription"]["fieldsUpdated"] == [
        {"name": "changedSecrets", "newValue": [destination_id]}
    ]
    assert pauses_at(sqlite_engine, 10**13).probed == {destination_id}
    assert send_patch(administrator, path, change).json()["version"] == 0.2
    (event,) = (
        update
        for update in administrator.get("/events", params={"entityType": "eventsubscription"}).json()["data"]
        if update["entityId"] == created_alert["id"] and update["eventType"] == "entityUpdated"
    )
    assert (event["previousVersion"], event["currentVersion"]) == (0.1, 0.2)
    assert "n3w-canary" not in json.dumps([changed_alert, event, administrator.get(f"{path}/versions").json()])
    assert not inspect(sqlite_engine, deep=True).counts


def test_receivers_may_be_named_by_their_fqn(served: Served, administrator: httpx.Client) -> None:
    served.person("dana.whitlock", email="dana@example.org")[1].close()
    to = {"category": "Users", "type": "Email", "config": {"receivers": ['"dana.whitlock"']}}
    response = administrator.post("/events/subscriptions", json=alert(destinations=[to]))
    assert response.status_code == 201, response.text
    assert response.json()["destinations"][0]["config"]["receivers"] == ["dana.whitlock"]
    again = administrator.put("/events/subscriptions", json=alert(destinations=[to])).json()
    assert (again["version"], again["destinations"]) == (0.1, response.json()["destinations"])
    unknown = alert(name="Other", destinations=[{**to, "config": {"receivers": ['"dana.whitley"']}}])
    assert administrator.post("/events/subscriptions", json=unknown).status_code == 400


def test_a_mask_without_a_secret_is_refused(administrator: httpx.Client) -> None:
    masked = {**HOOK, "config": {"endpoint": "http://127.0.0.1:9/", "secretKey": MASK}}
    answer = administrator.post("/events/subscriptions", json=alert(destinations=[masked]))
    assert answer.status_code == 400
    assert "destinations[0].config.secretKey" in answer.json()["message"]


def test_putting_the_same_alert_again_changes_nothing(
    served: Served, administrator: httpx.Client, created_alert: Json
) -> None:
    before = served.app.state.parts.subscriptions.revision()
    again = administrator.put("/events/subscriptions", json=alert())
    assert (again.status_code, again.json()["version"]) == (200, 0.1)
    assert again.json()["destinations"] == created_alert["destinations"]
    assert served.app.state.parts.subscriptions.revision() == before


def test_switching_off_is_a_version_and_shows_as_disabled(
    served: Served, administrator: httpx.Client, created_alert: Json
) -> None:
    subscriptions = served.app.state.parts.subscriptions
    before = subscriptions.revision()
    answer = send_patch(
        administrator,
        f"/events/subscriptions/{created_alert['id']}",
        {"op": "replace", "path": "/enabled", "value": False},
    )
    assert (answer.status_code, answer.json()["version"], answer.json()["enabled"]) == (200, 0.2, False)
    assert subscriptions.revision() != before
    assert created_alert["id"] not in [one.id for one in subscriptions.list_enabled()]
    status = administrator.get(f"/events/subscriptions/{created_alert['id']}/status").json()["data"]
    assert [one["statusDetails"]["status"] for one in status] == ["disabled"]


def test_the_credentials_of_oauth_go_to_no_other_token_url(administrator: httpx.Client) -> None:
    response = administrator.post("/events/subscriptions", json=alert_with_auth(**OAUTH, scope="a b"))
    masked = {"type": "oauth2", "tokenUrl": MASK, "clientId": MASK, "clientSecret": MASK, "scope": "a b"}
    assert response.json()["destinations"][0]["config"]["authType"] == masked
    path, auth = f"/events/subscriptions/{response.json()['id']}", "/destinations/0/config/authType"
    unchanged = send_patch(administrator, path, {"op": "replace", "path": f"{auth}/scope", "value": "c"})
    assert (unchanged.status_code, unchanged.json()["destinations"][0]["config"]["authType"]["scope"]) == (200, "c")
    elsewhere = {"op": "replace", "path": f"{auth}/tokenUrl", "value": "https://evil.example.org/token"}
    refused = send_patch(administrator, path, elsewhere)
    assert (refused.status_code, "the token URL's scheme, host or port changed" in refused.text) == (400, True)
    secrets = [{"op": "replace", "path": f"{auth}/{key}", "value": "new"} for key in ("clientId", "clientSecret")]
    assert send_patch(administrator, path, elsewhere, *secrets).status_code == 200


def test_what_was_sent_to_is_not_disabled_when_it_is_switched_off(
    administrator: httpx.Client, created_alert: Json, sqlite_engine: Engine
) -> None:
    sent = {"status": "active", "timestamp_ms": 5, "last_successful_at_ms": 5, "delivered_count": 1, "failed_count": 0}
    keys = {"subscription_id": created_alert["id"], "destination_id": created_alert["destinations"][0]["id"]}
    with sqlite_engine.begin() as connection:
        connection.execute(destination_status.insert().values(**keys, **sent))
    path = f"/events/subscriptions/{created_alert['id']}"
    send_patch(administrator, path, {"op": "replace", "path": "/enabled", "value": False})
    (status,) = administrator.get(f"{path}/status").json()["data"]
    assert status["statusDetails"] == {"status": "active", "lastSuccessfulAt": 5, "timestamp": 5}


def test_the_status_says_when_a_destination_is_paused(
    administrator: httpx.Client, created_alert: Json, sqlite_engine: Engine
) -> None:
    path = f"/events/subscriptions/{created_alert['id']}/status"
    (status,) = administrator.get(path).json()["data"]
    assert status["breaker"] == {"state": "closed"}
    keys = {"subscription_id": created_alert["id"], "destination_id": created_alert["destinations"][0]["id"]}
    paused = {"status": "awaitingRetry", "timestamp_ms": 5, "next_attempt_ms": 35, "delivered_count": 0}
    with sqlite_engine.begin() as connection:
        connection.execute(
            destination_status.insert().values(**keys, **paused, failed_count=0, opened_at_ms=5, probe_at_ms=35)
        )
    (status,) = administrator.get(path).json()["data"]
    assert status["breaker"] == {"state": "open", "openedAt": 5, "nextProbeAt": 35}
    assert status["statusDetails"]["nextAttempt"] == 35


def test_a_stopped_destination_is_resumed_by_who_may_edit_the_alert(
    served: Served, administrator: httpx.Client, created_alert: Json, sqlite_engine: Engine
) -> None:
    path, destination_id = f"/events/subscriptions/{created_alert['id']}/status", created_alert["destinations"][0]["id"]
    stopped_status = {
        "status": "awaitingRetry",
        "timestamp_ms": 5,
        "last_failed_at_ms": 5,
        "last_failed_reason": "gone",
    }
    streak = {"failing_since_ms": 5, "failing_count": 1, "failing_percent": 100, "reported_percent": 100}
    keys = {
        "subscription_id": created_alert["id"],
        "destination_id": destination_id,
        "delivered_count": 0,
        "failed_count": 0,
    }
    with sqlite_engine.begin() as connection:
        row = {**keys, **stopped_status, **streak, "opened_at_ms": 5, "stopped_at_ms": 5}
        connection.execute(destination_status.insert().values(**row))
    (status,) = administrator.get(path).json()["data"]
    assert status["breaker"] == {
        "state": "stopped",
        "stoppedAt": 5,
        "because": "gone",
        "failingSince": 5,
        "failureCount": 1,
        "message": "Stopped since 1970-01-01 00:00 UTC: its receiver answers that it is gone. Its messages wait until"
        " it is resumed (tocsin alerts resume SchemaChanges) or the alert is changed.",
    }
    assert status["statusDetails"]["status"] == "failed"
    body = {"status": "active"}
    with served.person("alice")[1] as alice:
        assert alice.put(f"{path}/{destination_id}", json=body).status_code == 403
    assert administrator.put(f"{path}/{destination_id}", json={"status": "failed"}).status_code == 400
    assert administrator.put(f"{path}/{uuid4()}", json=body).status_code == 404
    assert administrator.put(f"{path}/{destination_id}", json=body).json()["status"] == "awaitingRetry"
    (status,) = administrator.get(path).json()["data"]
    assert status["breaker"] == {"state": "closed"}


def test_status_is_read_for_one_destination_too(administrator: httpx.Client, created_alert: Json) -> None:
    destination_id = created_alert["destinations"][0]["id"]
    status = administrator.get(f"/events/subscriptions/{created_alert['id']}/status/{destination_id}").json()
    assert status == {"status": "active", "timestamp": created_alert["updatedAt"]}
    by_name = administrator.get(f"/events/subscriptions/name/SchemaChanges/status/{destination_id}").json()
    assert by_name == status
    assert (
        administrator.get(f"/events/subscriptions/{created_alert['id']}/status/{created_alert['id']}").status_code
        == 404
    )


def test_upstreams_create_form_is_understood(administrator: httpx.Client) -> None:
    request = {
        "name": "FromUpstream",
        "alertType": "Observability",
        "resources": ["table"],
        "input": {
            "filters": [
                {"name": "filterByFqn", "effect": "include", "arguments": [{"name": "fqnList", "input": ["a.b"]}]}
            ],
            "actions": [{"name": "GetTableSchemaChanges"}],
        },
        "destinations": [{"category": "Owners", "type": "Email"}],
    }
    answer = administrator.post("/events/subscriptions", json=request)
    assert answer.status_code == 201, answer.text
    rules = answer.json()["filteringRules"]
    assert rules["resources"] == ["table"]
    assert rules["rules"][0]["condition"] == "matchAnyEntityFqn({'a.b'})"
    assert rules["actions"][0]["condition"] == "matchAnyFieldChange({'columns','dataModel','joins'})"


def test_a_changed_input_is_compiled_anew_and_rules_by_hand_stay(administrator: httpx.Client) -> None:
    chosen_input = {"filters": [{"name": "filterByFqn", "arguments": [{"name": "fqnList", "input": ["a"]}]}]}
    request = {"name": "Inputs", "alertType": "Notification", "resources": ["table"], "input": chosen_input}
    created_alert = administrator.post("/events/subscriptions", json=request).json()
    path = f"/events/subscriptions/{created_alert['id']}"
    value = {"op": "replace", "path": "/input/filters/0/arguments/0/input", "value": ["b"]}
    answer = send_patch(administrator, path, value)
    assert answer.status_code == 200, answer.text
    assert answer.json()["filteringRules"]["resources"] == ["table"]
    assert answer.json()["filteringRules"]["rules"][0]["condition"] == "matchAnyEntityFqn({'b'})"
    by_hand = {"op": "replace", "path": "/filteringRules/rules/0/condition", "value": "isBot()"}
    answer = send_patch(administrator, path, by_hand)
    assert answer.json()["filteringRules"]["rules"][0]["condition"] == "isBot()"
    again = administrator.put("/events/subscriptions", json={**request, "resources": ["topic"]}).json()
    assert again["filteringRules"]["resources"] == ["topic"]
    assert again["filteringRules"]["rules"][0]["condition"] == "matchAnyEntityFqn({'a'})"


WRONG: dict[str, tuple[Json, str]] = {
    "no name": (alert(name=None), "name"),
    "empty name": (alert(name=" "), "name"),
    "no alert type": (alert(alertType=None), "alertType"),
    "unknown alert type": (alert(alertType="Loud"), "alertType"),
    "unknown key": (alert(colour="red"), "colour"),
    "unknown resource": (alert(filteringRules={"resources": ["tabel"]}), "resources[0]"),
    "unknown team": (
        alert(
            filteringRules={
                "resources": ["all"],
                "rules": [{"effect": "include", "condition": "user.isMemberOf('ghosts')"}],
            }
        ),
        "unknown team 'ghosts'",
    ),
    "resource nearly right": (alert(filteringRules={"resources": ["tabel"]}), "did you mean table?"),
    "named filter without its argument": (
        {"name": "x", "alertType": "Custom", "resources": ["all"], "input": {"filters": [{"name": "filterByFqn"}]}},
        "filterByFqn needs the argument fqnList",
    ),
    "schedule without its times": (
        alert(trigger={"triggerType": "Scheduled", "scheduleInfo": "Custom"}),
        "trigger.cronExpression: is missing",
    ),
    "unknown schedule": (alert(trigger={"triggerType": "Scheduled", "scheduleInfo": "Dayly"}), "Daily"),
    "times that are none": (
        alert(trigger={"triggerType": "Scheduled", "cronExpression": "at noon"}),
        "trigger.cronExpression: is not a cron expression",
    ),
    "time that is none": (
        alert(trigger={"triggerType": "Scheduled", "cronExpression": "0 0 25 * * ?"}),
        "trigger.cronExpression: is not a cron expression: 25 is not between 0 and 23, in the field hour",
    ),
    **{
        f"schedule {expression}": (
            alert(trigger={"triggerType": "Scheduled", "cronExpression": expression}),
            "trigger.cronExpression: is not a cron expression: Quartz demands ?",
        )
        for expression in ("0 0 * * * *", "0 0 * 4 * *", "0 0 * * * 4")
    },
    "schedule with a last day beside others": (
        alert(trigger={"triggerType": "Scheduled", "cronExpression": "0 0 8 ? * SAT,SUN,L"}),
        "trigger.cronExpression: is not a cron expression: 'L' cannot stand beside other days",
    ),
    "time zone nearly right": (
        alert(trigger={"triggerType": "Scheduled", "timezone": "Europe/Berln"}),
        "trigger.timezone: unknown time zone 'Europe/Berln'; it takes names such as Europe/Berlin",
    ),
    "grouping of a schedule": (
        alert(trigger={"triggerType": "Scheduled", "groupBy": "asset"}),
        "trigger.groupBy: is only for RealTime triggers",
    ),
    "interval of a schedule": (
        alert(trigger={"triggerType": "Scheduled", "scheduleInfo": "Daily"}, pollInterval=30),
        "pollInterval: is only for RealTime triggers; omit it (the defaults 60 and 10 are accepted)",
    ),
    "no gathering of a schedule": (
        alert(trigger={"triggerType": "Scheduled"}, pollInterval=0),
        "pollInterval: is only for RealTime triggers",
    ),
    "resolving what is no failure": (
        alert(trigger={"triggerType": "RealTime", "sendResolved": True}),
        "trigger.sendResolved: needs a condition on the status of tests or runs",
    ),
    "reminding of what opens no incidents": (
        alert(trigger={"triggerType": "RealTime", "repeatInterval": 3_600}),
        "trigger.repeatInterval: reminds of incidents, which this alert does not open",
    ),
    "reminding at the times of a schedule": (
        alert(alertType="Observability", trigger={"triggerType": "Scheduled", "repeatInterval": 3_600}),
        "trigger.repeatInterval: is only for RealTime triggers",
    ),
    "reminding every second": (
        alert(alertType="Observability", trigger={"triggerType": "RealTime", "repeatInterval": 1}),
        "trigger.repeatInterval",
    ),
    "reminding by a text": (
        alert(alertType="Observability", trigger={"triggerType": "RealTime", "repeatInterval": "3h"}),
        "trigger.repeatInterval",
    ),
    "grouping by root of what opens no incidents": (
        alert(trigger={"triggerType": "RealTime", "groupBy": "lineageRoot"}),
        "trigger.groupBy: lineageRoot gathers failures under incidents: it needs alertType Observability",
    ),
    "grouping of a schedule by root": (
        alert(trigger={"triggerType": "Scheduled", "groupBy": "lineageRoot"}),
        "trigger.groupBy: is only for RealTime triggers",
    ),
    "grouping by what there is not": (alert(trigger={"triggerType": "RealTime", "groupBy": "owner"}), "groupBy"),
    "time zone that differs between machines": (
        alert(trigger={"triggerType": "RealTime", "timezone": "localtime"}),
        "trigger.timezone",
    ),
    "broken condition": (
        alert(
            filteringRules={"resources": ["all"], "rules": [{"name": "r", "effect": "include", "condition": "a =="}]}
        ),
        "Line 1, column",
    ),
    "unknown field in a condition": (
        alert(filteringRules={"resources": ["all"], "rules": [{"effect": "include", "condition": "eventTipe == 'x'"}]}),
        "eventType",
    ),
    "unknown effect": (
        alert(filteringRules={"resources": ["all"], "rules": [{"effect": "maybe", "condition": "true"}]}),
        "effect",
    ),
    "channel of another alert type": (
        alert(destinations=[{"category": "External", "type": "GovernanceWorkflowChangeEvent", "config": {}}]),
        "destinations[0].type: is for alerts of alertType GovernanceWorkflowChangeEvent",
    ),
    "slack without an address": (
        alert(destinations=[{"category": "External", "type": "Slack", "config": {}}]),
        "destinations[0].config.endpoint",
    ),
    "webhook to owners": (alert(destinations=[{**HOOK, "category": "Owners"}]), "External"),
    "no endpoint": (alert(destinations=[{**HOOK, "config": {}}]), "destinations[0].config.endpoint"),
    "bad endpoint": (alert(destinations=[{**HOOK, "config": {"endpoint": "ftp://x"}}]), "https"),
    "endpoint without a host": (alert(destinations=[{**HOOK, "config": {"endpoint": "http://"}}]), "https"),
    "header with a line break": (
        alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "headers": {"A": "b\r\nC: d"}}}]),
        "headers.A",
    ),
    "broken body template": (
        alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "bodyTemplate": "{{#if a}}"}}]),
        "destinations[0].config.bodyTemplate: Line 1, column 1",
    ),
    "broken header template": (
        alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "headers": {"X-A": "{{lenght a}}"}}}]),
        "destinations[0].config.headers.X-A: Line 1, column",
    ),
    "templated host": (
        alert(destinations=[{**HOOK, "config": {"endpoint": "http://{{entity.name}}.x.y/"}}]),
        "destinations[0].config.endpoint",
    ),
    "body template of a mail": (
        alert(destinations=[{"category": "Owners", "type": "Email", "config": {"bodyTemplate": "{}"}}]),
        "destinations[0].config.bodyTemplate: is for destinations of type Webhook",
    ),
    "unknown compression": (
        alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "compression": "zip"}}]),
        "destinations[0].config.compression: must be gzip or none",
    ),
    "compressed mail": (
        alert(destinations=[{"category": "Owners", "type": "Email", "config": {"compression": "gzip"}}]),
        "destinations[0].config.compression: is for destinations of type Webhook",
    ),
    "unknown verification": (
        alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "verification": "mail"}}]),
        "destinations[0].config.verification: must be challenge or none",
    ),
    **{
        f"metadata service {host}": (
            alert(destinations=[{**HOOK, "config": {"endpoint": f"http://{host}/latest"}}]),
            "destinations[0].config.endpoint: is the metadata service of a cloud",
        )
        for host in (
            "169.254.169.254",
            "2852039166",
            "0xA9FEA9FE:80",
            "0251.0376.43518",
            "169.254.169.254.",
            "①⑥⑨.254.169.254",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[fd00:ec2::254]",
            "168.63.129.16",
            "100.100.100.200",
            "Metadata.Google.Internal",
            "metadata",
            "instance-data.ec2.internal.",
        )
    },
    "metadata service of a chat": (
        alert(destinations=[{**HOOK, "type": "MsTeams", "config": {"endpoint": "http://169.254.169.254/x"}}]),
        "destinations[0].config.endpoint: is the metadata service of a cloud",
    ),
    "metadata service as token URL": (
        alert_with_auth(**OAUTH | {"tokenUrl": "http://169.254.169.254/token"}),
        "config.authType.tokenUrl: is the metadata service of a cloud",
    ),
    "authentication of a bot of Slack": (
        alert(
            destinations=[
                {
                    "category": "Owners",
                    "type": "Slack",
                    "config": {"botToken": "xoxb-1234", "authType": {"type": "bearer", "secretKey": "s"}},
                }
            ]
        ),
        "config.authType: is for an incoming webhook",
    ),
    "unknown authentication of a chat": (
        alert(
            destinations=[{**HOOK, "type": "GChat", "config": {"endpoint": "http://x.y", "authType": {"type": "x"}}}]
        ),
        "config.authType.type: must be none, bearer or oauth2",
    ),
    "unknown authentication": (alert_with_auth(type="mtls"), "config.authType.type: must be none, bearer or oauth2"),
    "authentication without a type": (alert_with_auth(secretKey="s"), "config.authType.type"),
    "bearer without a secret": (alert_with_auth(type="bearer"), "config.authType.secretKey: bearer needs a secretKey"),
    "bearer token that no header carries": (alert_with_auth(type="bearer", secretKey="ü"), "config.authType.secretKey"),
    "sending a secret as text": (
        alert_with_auth(type="bearer", secretKey="s", sendSecret="yes"),
        "authType.sendSecret",
    ),
    "sending the secret of oauth2": (alert_with_auth(**OAUTH, sendSecret=True), "config.authType.sendSecret"),
    "batches by what there is not": (
        alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "batchBy": "day"}}]),
        "destinations[0].config.batchBy: must be all, entityType or none",
    ),
    "batches of a chat": (
        alert(destinations=[{**HOOK, "type": "MsTeams", "config": {"endpoint": "http://x.y", "batchBy": "all"}}]),
        "destinations[0].config.batchBy: is for destinations of type Webhook",
    ),
    "a secret for no authentication": (alert_with_auth(type="none", secretKey="s"), "config.authType.secretKey"),
    "oauth2 without a secret": (alert_with_auth(**OAUTH | {"clientSecret": ""}), "config.authType.clientSecret"),
    "oauth2 without a token URL": (alert_with_auth(**OAUTH | {"tokenUrl": "ftp://x"}), "config.authType.tokenUrl"),
    "oauth2 with scopes as a list": (alert_with_auth(**OAUTH | {"scope": ["a"]}), "config.authType.scope"),
    "oauth2 with what it lacks": (alert_with_auth(**OAUTH, audience="a"), "config.authType.audience"),
    "oauth2 and a header of its own": (
        alert(destinations=[{**HOOK, "config": {**HOOK["config"], "authType": OAUTH}}]),
        "config.headers.Authorization",
    ),
    "mail to nowhere": (alert(destinations=[{"category": "External", "type": "Email"}]), "at least one address"),
    "mail to a broken address": (
        alert(destinations=[{"category": "External", "type": "Email", "config": {"receivers": ["a@"]}}]),
        "not an e-mail address",
    ),
    "mail to an unknown name": (
        alert(destinations=[{"category": "Users", "type": "Email", "config": {"receivers": ["ghost"]}}]),
        "unknown user or team 'ghost'",
    ),
    "users without names": (alert(destinations=[{"category": "Users", "type": "ActivityFeed"}]), "receivers"),
    "feed to outsiders": (alert(destinations=[{"category": "External", "type": "ActivityFeed"}]), "ActivityFeed"),
    "too many retries": (alert(retries=1000), "retries"),
    "batch of nothing": (alert(batchSize=0), "batchSize"),
    "text for a number": (alert(batchSize="many"), "batchSize"),
    "destinations no list": (alert(destinations={"a": 1}), "destinations"),
    "destination no object": (alert(destinations=[1]), "destinations[0]"),
    "destination id no UUID": (alert(destinations=[{**HOOK, "id": "1"}]), "destinations[0].id"),
    "unknown named filter": (
        {"name": "x", "alertType": "Custom", "resources": ["all"], "input": {"filters": [{"name": "byMood"}]}},
        "byMood",
    ),
    "unknown config key": (alert(destinations=[{**HOOK, "config": {"endpoint": "http://x.y", "mood": 1}}]), "mood"),
}


def test_what_has_no_effect_is_kept_and_remarked_upon(administrator: httpx.Client) -> None:
    mail = {"category": "Admins", "type": "Email", "timeout": 300, "readTimeout": 0}
    destinations = [{**mail, "notifyDownstream": True}, {"category": "Owners", "type": "Email", "downstreamDepth": 2}]
    trigger = {"triggerType": "RealTime", "scheduleInfo": "Daily", "cronExpression": "0 0 8 * * ?"}
    request = alert(className="org.example.Alert", config={"a": "1"}, trigger=trigger, destinations=destinations)
    answer = administrator.post("/events/subscriptions", json=request)
    assert answer.status_code == 201, answer.text
    remarks = [(one["kind"], one["field"]) for one in json.loads(answer.headers["X-Tocsin-Remarks"])]
    places = [
        *("className", "config", "trigger.cronExpression", "trigger.scheduleInfo"),
        *("destinations[0].timeout", "destinations[0].readTimeout", "destinations[0].notifyDownstream"),
        "destinations[1].downstreamDepth",
    ]
    assert remarks == [("noEffect", place) for place in places]
    read = administrator.get(f"/events/subscriptions/{answer.json()['id']}").json()
    for document in (answer.json(), read):
        assert {key: document[key] for key in ("className", "config", "trigger")} == {
            key: request[key] for key in ("className", "config", "trigger")
        }
        assert [{**sent, **one} for sent, one in zip(destinations, document["destinations"], strict=True)] == [
            *document["destinations"]
        ]


def test_defaults_of_destinations_are_shown_and_writing_them_back_changes_nothing(administrator: httpx.Client) -> None:
    created = administrator.post("/events/subscriptions", json=alert()).json()
    defaults = {"enabled": True, "timeout": 10, "readTimeout": 12, "notifyDownstream": False, "downstreamDepth": None}
    assert created["destinations"][0].items() >= defaults.items()
    path = f"/events/subscriptions/{created['id']}"
    again = administrator.put("/events/subscriptions", json=administrator.get(path).json()).json()
    assert again["version"] == created["version"]
    patch = [{"op": "test", "path": "/destinations/0/timeout", "value": 10}]
    patch += [{"op": "replace", "path": "/destinations/0/timeout", "value": 7}]
    headers = {"Content-Type": "application/json-patch+json"}
    changed = administrator.patch(path, content=json.dumps(patch), headers=headers).json()
    assert (changed["destinations"][0]["timeout"], changed["version"]) == (7, 0.2)
    assert changed["incrementalChangeDescription"] == changed["changeDescription"]


@pytest.fixture(scope="module")
def server_of_refusals(started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The administrator's client of a server that all requests below leave as it was."""
    with lasting_administrator(started_store, tmp_path_factory.mktemp("refusals")) as client:
        yield client


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_work_is_refused_with_its_place(server_of_refusals: httpx.Client, case: str) -> None:
    request, hint = WRONG[case]
    answer = server_of_refusals.post("/events/subscriptions", json={k: v for k, v in request.items() if v is not None})
    assert (answer.status_code, answer.json()["code"]) == (400, 400), answer.text
    assert hint in answer.json()["message"]


def test_a_patch_is_checked_as_a_new_alert_is(administrator: httpx.Client, created_alert: Json) -> None:
    path = f"/events/subscriptions/{created_alert['id']}"
    channel = {"op": "replace", "path": "/destinations/0/type", "value": "GovernanceWorkflowChangeEvent"}
    assert send_patch(administrator, path, channel).status_code == 400
    condition = {"op": "replace", "path": "/filteringRules/rules/0/condition", "value": "(("}
    assert "Line 1" in send_patch(administrator, path, condition).json()["message"]
    assert send_patch(administrator, path, {"op": "remove", "path": "/nothing"}).status_code == 400
    assert administrator.get(path).json()["version"] == 0.1


def test_alerts_are_listed_by_type(administrator: httpx.Client, created_alert: Json) -> None:
    names = [one["name"] for one in administrator.get("/events/subscriptions?limit=100").json()["data"]]
    assert names == [
        "ActivityFeedAlert",
        "AssignedIncidents",
        "BrokenAlerts",
        "ChangeRequests",
        "ConversationAlert",
        "EventLag",
        "MessagesOfAssets",
        "MessagesOfConversations",
        "PersonalNotices",
        "SchemaChanges",
    ]
    page = administrator.get("/events/subscriptions?alertType=Notification&limit=10").json()
    of_messages = ["MessagesOfAssets", "MessagesOfConversations"]
    of_notifications = ["AssignedIncidents", "BrokenAlerts", "ChangeRequests", "EventLag", *of_messages]
    of_notifications += ["PersonalNotices", "SchemaChanges"]
    assert [one["name"] for one in page["data"]] == of_notifications
    assert page["paging"]["total"] == 8
    first = administrator.get("/events/subscriptions?limit=1").json()
    assert first["data"][0]["name"] == "ActivityFeedAlert"
    second = administrator.get(f"/events/subscriptions?limit=1&after={first['paging']['after']}").json()
    assert second["data"][0]["name"] == "AssignedIncidents"
    assert administrator.get("/events/subscriptions?alertType=Loud").status_code == 400


def test_deleting_is_for_good_and_takes_the_secrets(
    served: Served, administrator: httpx.Client, created_alert: Json
) -> None:
    assert administrator.delete(f"/events/subscriptions/{created_alert['id']}").status_code == 200
    assert administrator.get(f"/events/subscriptions/{created_alert['id']}?include=all").status_code == 404
    assert served.app.state.parts.subscriptions.secrets_of(created_alert["id"]) == {}


def test_the_systems_alert_can_be_disabled_but_not_deleted(administrator: httpx.Client) -> None:
    path = "/events/subscriptions/name/ActivityFeedAlert"
    assert administrator.delete(path).status_code == 403
    off = send_patch(administrator, path, {"op": "replace", "path": "/enabled", "value": False})
    assert (off.status_code, off.json()["provider"]) == (200, "system")


def test_an_alert_is_changed_only_by_who_owns_or_made_it(
    served: Served, administrator: httpx.Client, created_alert: Json
) -> None:
    alice_id, alice = served.person("alice")
    off = {"op": "replace", "path": "/enabled", "value": False}
    with alice:
        path = f"/events/subscriptions/{created_alert['id']}"
        assert send_patch(alice, path, off).status_code == 403
        assert alice.delete(path).status_code == 403
        response = alice.post("/events/subscriptions", json=alert(name="Mine"))
        assert response.status_code == 201
        assert send_patch(alice, f"/events/subscriptions/{response.json()['id']}", off).status_code == 200
        handover = {"op": "add", "path": "/owners", "value": [{"id": alice_id, "type": "user"}]}
        assert send_patch(administrator, path, handover).status_code == 200
        assert send_patch(alice, path, off).status_code == 200


class Receiver(BaseHTTPRequestHandler):
    """Answers as the path says and keeps what it got."""

    got: list[Json]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), json.loads(body)))  # type: ignore[attr-defined]
        self.send_response(500 if self.path == "/broken" else 200)
        self.end_headers()
        self.wfile.write(b"inside the network")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[Json]]]:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.got = []  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", server.got  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_destination_is_tried_for_real(administrator: httpx.Client, receiver: tuple[str, list[Json]]) -> None:
    url, got = receiver
    destination = {**HOOK, "config": {"endpoint": f"{url}/hook", "secretKey": "s3cret"}}
    trial = administrator.post("/events/subscriptions/validation/destination", json={"destination": destination})
    assert trial.json()["statusDetails"]["status"] == "Success"
    headers, event = got[0]
    assert event["entityFullyQualifiedName"] == "tocsin.test.destination"
    assert "X-OpenMetadata-Signature" in headers
    broken = {**HOOK, "config": {"endpoint": f"{url}/broken"}}
    many = administrator.post("/events/subscriptions/testDestination", json={"destinations": [destination, broken]})
    assert [one["statusDetails"]["status"] for one in many.json()] == ["Success", "Failed"]
    assert many.json()[1]["statusDetails"]["statusCode"] == 500
    assert "inside the network" not in many.text


def test_a_trial_is_checked_like_a_destination(administrator: httpx.Client) -> None:
    trial: Callable[[Json], httpx.Response] = lambda body: administrator.post(  # noqa: E731
        "/events/subscriptions/validation/destination", json=body
    )
    assert trial({}).status_code == 400
    assert trial({"destination": {**HOOK, "config": {"endpoint": "nope"}}}).status_code == 400
    assert trial({"destination": {"category": "External", "type": "Slack"}}).status_code == 400
    assert administrator.post("/events/subscriptions/testDestination", json={"destinations": []}).status_code == 400


FOLLOWED = {"resources": ["all"], "rules": [{"effect": "include", "condition": "user.follows(entity)"}]}


def test_the_seeds_filter_for_followers_is_taken_as_it_stands(administrator: httpx.Client) -> None:
    whoever = {"category": "Users", "type": "ActivityFeed"}
    answer = administrator.post(
        "/events/subscriptions", json=alert(filteringRules=FOLLOWED, destinations=[whoever, HOOK])
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["filteringRules"]["rules"][0]["condition"] == "user.follows(entity)"


def test_a_webhook_on_what_somebody_follows_belongs_to_somebody(administrator: httpx.Client, served: Served) -> None:
    answer = administrator.post("/events/subscriptions", json=alert(filteringRules=FOLLOWED))
    assert [one["name"] for one in answer.json()["owners"]] == ["admin"]
    ann, client = served.person("ann", isAdmin=True)
    with client:
        owners = {"op": "remove", "path": "/owners"}
        assert [
            owner["id"]
            for owner in send_patch(client, f"/events/subscriptions/{answer.json()['id']}", owners).json()["owners"]
        ] == [ann]
    bell = alert(name="Bell", filteringRules=FOLLOWED, destinations=[{"category": "Users", "type": "ActivityFeed"}])
    assert administrator.post("/events/subscriptions", json=bell).json()["owners"] == []


def test_users_need_names_where_nothing_is_asked_of_them(administrator: httpx.Client) -> None:
    for category, rules in (("Users", None), ("Teams", FOLLOWED)):
        nobody = {"category": category, "type": "ActivityFeed"}
        rules_if_any = {"filteringRules": rules} if rules else {}
        answer = administrator.post("/events/subscriptions", json=alert(destinations=[nobody], **rules_if_any))
        assert answer.status_code == 400
        assert "needs at least one receiver" in answer.json()["message"]


def test_an_alert_asks_no_more_of_a_person_than_can_be_kept_apart(administrator: httpx.Client) -> None:
    many = " || ".join(f"user.isMemberOf('team{number}')" for number in range(6))
    rules = {"resources": ["all"], "rules": [{"effect": "include", "condition": many}]}
    answer = administrator.post("/events/subscriptions", json=alert(filteringRules=rules))
    assert answer.status_code == 400
    assert "more than 5 different conditions" in answer.json()["message"]


def test_an_alert_that_asks_for_the_state_of_assets_needs_a_schedule(administrator: httpx.Client) -> None:
    rules = {"resources": ["table"], "rules": [{"name": "red", "effect": "include", "condition": "stillFailing()"}]}
    refused = administrator.post("/events/subscriptions", json=alert(filteringRules=rules))
    assert refused.status_code == 400
    assert "set trigger.triggerType to Scheduled" in refused.text
    trigger = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}
    accepted = administrator.post("/events/subscriptions", json=alert(filteringRules=rules, trigger=trigger))
    assert accepted.status_code == 201, accepted.text
    path = f"/events/subscriptions/{accepted.json()['id']}"
    for other_trigger in ({"triggerType": "RealTime"}, trigger | {"cronExpression": "0 * * * * ?"}):
        back = {"op": "replace", "path": "/trigger", "value": other_trigger}
        assert send_patch(administrator, path, back).status_code == 400
