"""The JSON Schemas of events and alerts, read from the server alone, accept what the server sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7
from tests.seedschema import MISSING, SEED, is_here
from tests.serving import Json, Served, table

_SITE = "https://open-metadata.org"
_EVENT, _ALERT = "/schema/type/changeEvent.json", "/schema/events/eventSubscription.json"


@pytest.fixture
def nobody(served: Served) -> Iterator[httpx.Client]:
    """A client without a token, at the root of the server."""
    with httpx.Client(base_url=served.url) as client:
        yield client


def validator_of(nobody: httpx.Client, path: str) -> Draft7Validator:
    """Return the validator of a schema that the server has, with all that it refers to from there."""

    def retrieve(uri: str) -> Resource[Any]:
        assert uri.startswith(f"{_SITE}/schema/")
        answer = nobody.get(urlsplit(uri).path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/schema+json"), uri
        assert answer.json()["$id"] == f"{_SITE}{urlsplit(uri).path}"
        return Resource.from_contents(answer.json(), default_specification=DRAFT7)

    schema = nobody.get(path).json()
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema, registry=Registry(retrieve=retrieve), format_checker=FormatChecker())  # type: ignore[call-arg]  # attrs hides it


def test_events_are_valid(nobody: httpx.Client, administrator: httpx.Client, orders: Json) -> None:
    patch = [
        {"op": "add", "path": "/description", "value": "Orders."},
        {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]},
    ]
    assert administrator.patch(f"/tables/{orders['id']}", json=patch).is_success
    dropped_table = table(administrator, "dropped")
    assert administrator.delete(f"/tables/{dropped_table['id']}", params={"hardDelete": "true"}).is_success
    events = administrator.get("/events", params={"format": "seed"}).json()["data"]
    validator = validator_of(nobody, _EVENT)
    assert {one["eventType"] for one in events} >= {"entityCreated", "entityUpdated", "entityDeleted"}
    for event in events:
        validator.validate(event)
    assert list(validator.iter_errors({**events[0], "entityId": "no-uuid", "further": 1}))


@pytest.mark.parametrize("fields", ["", "owners,domains"])
def test_alerts_are_valid(nobody: httpx.Client, administrator: httpx.Client, fields: str) -> None:
    alert = {
        "name": "schema_changes",
        "alertType": "Notification",
        "trigger": {"triggerType": "RealTime"},
        "filteringRules": {"resources": ["table"], "rules": [{"name": "r", "effect": "include", "condition": "true"}]},
        "destinations": [
            {
                "category": "External",
                "type": "Webhook",
                "config": {"endpoint": "http://127.0.0.1/x", "secretKey": "s"},
            },
            {"category": "Owners", "type": "Email", "config": {"sendToOwners": True}},
        ],
    }
    creation = administrator.post("/events/subscriptions", json=alert)
    assert creation.status_code == 201, creation.text
    validator = validator_of(nobody, _ALERT)
    listed_alerts = administrator.get("/events/subscriptions", params={"fields": fields, "limit": 100}).json()["data"]
    assert creation.json()["id"] in {one["id"] for one in listed_alerts}
    for alert_answer in listed_alerts:
        validator.validate(alert_answer)
    assert list(validator.iter_errors({**listed_alerts[0], "alertType": "Sometimes"}))


def test_the_schemas_are_the_seeds(nobody: httpx.Client) -> None:
    if not is_here():
        pytest.skip(MISSING)
    for path, seed in ((_EVENT, SEED), (_ALERT, next(SEED.parent.glob("001_*")))):
        printed = _printed_schema(seed.read_text())
        served_schema = nobody.get(path).json()
        definitions = {name: served_schema["definitions"][name] for name in printed["definitions"]}
        assert served_schema | {"definitions": definitions} == printed


def test_an_unknown_schema_is_not_found_and_a_path_leads_nowhere_else(nobody: httpx.Client) -> None:
    for path in ("/schema/type/none.json", "/schema/../pyproject.toml", "/schema/%2e%2e/%2e%2e/etc/passwd"):
        answer = nobody.get(path)
        assert answer.status_code == 404, path
        assert "code" in answer.json()


def _printed_schema(text: str) -> Json:
    schema, _ = json.JSONDecoder().raw_decode(text, text.index("{", text.index("Schema Specifications")))
    return schema
