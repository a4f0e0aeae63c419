"""Tests of ``PUT /events/subscriptions?dryRun=true``: what would be saved, and nothing is."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.serving import Json, Served

HOOK = {
    "category": "External",
    "type": "Webhook",
    "config": {
        "endpoint": "https://example.org/hook/t1",
        "secretKey": "one",
        "headers": {"X-Key": "one", "X-Team": "a"},
    },
}
ALERT: Json = {
    "name": "Schema",
    "alertType": "Notification",
    "filteringRules": {"resources": ["table"]},
    "destinations": [HOOK],
}
DRY = {"dryRun": "true"}


def put(client: httpx.Client, alert: Json, **query: str) -> httpx.Response:
    return client.put("/events/subscriptions", json=alert, params=query)


def hook_alert(**config: Json) -> Json:
    return {**ALERT, "destinations": [{**HOOK, "config": {**HOOK["config"], **config}}]}  # type: ignore[dict-item]


def log_and_versions(client: httpx.Client, path: str) -> list[Json]:
    return [client.get("/events").json(), client.get(f"{path}/versions").json(), client.get(path).json()]


def test_a_new_alert_is_returned_and_not_created(administrator: httpx.Client) -> None:
    before = administrator.get("/events").text
    answer = put(administrator, ALERT, **DRY)
    assert (answer.status_code, answer.json()["name"], answer.json()["retries"]) == (200, "Schema", 3)
    assert "one" not in json.dumps(answer.json()["destinations"])
    assert administrator.get("/events/subscriptions/name/Schema").status_code == 404
    assert administrator.get("/events").text == before


def test_a_change_is_returned_and_not_made(administrator: httpx.Client) -> None:
    created = put(administrator, ALERT).json()
    path = f"/events/subscriptions/{created['id']}"
    before = log_and_versions(administrator, path)
    answer = put(administrator, {**ALERT, "retries": 5}, **DRY)
    assert (answer.json()["retries"], answer.json()["version"], answer.json()["id"]) == (5, 0.2, created["id"])
    assert log_and_versions(administrator, path) == before
    same = put(administrator, ALERT, **DRY)
    assert (same.json()["version"], same.headers.get("x-tocsin-changed-secrets")) == (0.1, None)


def test_secrets_that_would_change_are_named_and_stay(served: Served, administrator: httpx.Client) -> None:
    created_alert = put(administrator, ALERT).json()
    subscriptions = served.app.state.parts.subscriptions
    secrets = subscriptions.secrets_of(created_alert["id"])
    changed_alert = hook_alert(endpoint="https://example.org/hook/t2", secretKey="two", headers={"X-Key": "one"})
    answer = put(administrator, changed_alert, **DRY)
    assert sorted(json.loads(answer.headers["x-tocsin-changed-secrets"])) == [
        "destinations[0].config.endpoint",
        "destinations[0].config.secretKey",
    ]
    assert "two" not in answer.text
    assert subscriptions.secrets_of(created_alert["id"]) == secrets
    assert "x-tocsin-changed-secrets" not in put(administrator, hook_alert(secretKey="two")).headers
    assert "x-tocsin-changed-secrets" not in put(administrator, hook_alert(secretKey="*********"), **DRY).headers


@pytest.mark.parametrize("is_known", [False, True])
def test_what_would_be_refused_is_refused(administrator: httpx.Client, *, is_known: bool) -> None:
    if is_known:
        put(administrator, ALERT)
    answer = put(administrator, {**ALERT, "retrys": 1}, **DRY)
    assert (answer.status_code, answer.json()["message"]) == (400, "retrys: unknown key; did you mean retries?")
    assert put(administrator, {**ALERT, "retries": 200}, **DRY).status_code == 400
    owned = {**ALERT, "owners": [{"type": "user", "name": "nobody"}]}
    assert put(administrator, owned, **DRY).status_code == 404


def test_who_may_not_save_it_may_not_try(served: Served, administrator: httpx.Client) -> None:
    put(administrator, ALERT)
    _, dana = served.person("dana")
    with dana:
        assert put(dana, {**ALERT, "retries": 5}, **DRY).status_code == 403
