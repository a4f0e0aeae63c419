"""Tests of webhook bodies, which may contain tokens: nobody reads them, and what was read can be sent back."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.serving import Json, Served

PATCH = {"Content-Type": "application/json-patch+json"}
MASK, WORD = "*********", "R0123-routing"
BODY = f'{{"routing_key": "{WORD}", "text": "{{{{headline}}}}"}}'
ROUTE = "/events/subscriptions"


@pytest.fixture
def alert(administrator: httpx.Client) -> Json:
    answer = administrator.post(ROUTE, json=request(BODY))
    assert answer.status_code == 201, answer.text
    return answer.json()


def request(body: str, endpoint: str = "https://example.org/hook", **fields: Any) -> Json:
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": endpoint, "bodyTemplate": body}}
    return {"name": "Pager", "alertType": "Notification", "resources": ["table"], "destinations": [hook], **fields}


def stored_template(served: Served, alert: Json) -> str:
    (destination,) = served.app.state.parts.subscriptions.with_secrets(alert["id"]).destinations
    return str(destination.config.body_template)


def test_editors_read_a_mask_and_others_nothing(served: Served, administrator: httpx.Client, alert: Json) -> None:
    path = f"{ROUTE}/{alert['id']}"
    assert alert["destinations"][0]["config"]["bodyTemplate"] == MASK
    _, somebody = served.person("somebody")
    with somebody:
        assert "bodyTemplate" not in str(somebody.get(path).json()["destinations"])
        for client in (administrator, somebody):
            for subpath in ("", "/versions", "/versions/0.1", "/diff", "/history"):
                assert WORD not in client.get(f"{path}{subpath}").text, subpath
            assert WORD not in client.get("/events?limit=1000&format=tocsin").text


def test_what_was_read_can_be_sent_back(served: Served, administrator: httpx.Client, alert: Json) -> None:
    answer = administrator.put(ROUTE, json=alert)
    assert (answer.status_code, answer.json()["version"]) == (200, alert["version"])
    assert administrator.put(ROUTE, json=request(MASK, description="mine")).status_code == 200
    assert stored_template(served, alert) == BODY


def test_a_new_one_replaces_it_and_a_dry_run_names_it_without_showing_it(
    served: Served, administrator: httpx.Client, alert: Json
) -> None:
    new_template = BODY.replace("text", "words")
    dry = administrator.put(f"{ROUTE}?dryRun=true", json=request(new_template))
    assert WORD not in dry.text
    assert json.loads(dry.headers["X-Tocsin-Changed-Secrets"]) == ["destinations[0].config.bodyTemplate"]
    patch = [{"op": "replace", "path": "/destinations/0/config/bodyTemplate", "value": new_template}]
    changed = administrator.patch(f"{ROUTE}/{alert['id']}", content=json.dumps(patch), headers=PATCH)
    assert (changed.status_code, WORD in changed.text) == (200, False)
    assert stored_template(served, alert) == new_template


def test_it_stays_with_its_receiver(administrator: httpx.Client, alert: Json) -> None:
    refused = administrator.put(ROUTE, json=request(MASK, "https://elsewhere.example.org/hook"))
    assert (refused.status_code, "bodyTemplate" in refused.json()["message"]) == (400, True)


def test_one_that_cannot_be_read_is_refused_with_its_place(administrator: httpx.Client) -> None:
    refused = administrator.post(ROUTE, json=request('{"a": {{#if}}'))
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("destinations[0].config.bodyTemplate: Line 1, column")
