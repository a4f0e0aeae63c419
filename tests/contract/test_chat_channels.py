"""Tests of alerts to Google Chat over the API: what is accepted, and that the address of a space is never shown."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine

SPACE = "https://chat.example.com/v1/spaces/AAAA/messages?key=key-of-the-space&token=token-of-the-space"
MASKED = "https://chat.example.com/v1/*********?*********"


def alert(config: dict[str, Any], category: str = "External") -> dict[str, Any]:
    return {
        "name": "space",
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": []},
        "destinations": [{"category": category, "type": "GChat", "config": config}],
    }


def test_the_address_of_a_space_is_stored_sealed_and_shown_masked(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    made = administrator.post("/events/subscriptions", json=alert({"endpoint": SPACE}))
    assert made.status_code == 201, made.text
    assert made.json()["destinations"][0]["config"]["endpoint"] == MASKED
    with sqlite_engine.connect() as connection:
        kept = "\n".join(connection.connection.dbapi_connection.iterdump())  # type: ignore[union-attr]
    assert not [secret for secret in ("key-of-the-space", "token-of-the-space") if secret in kept]
    read = administrator.get("/events/subscriptions/name/space").json()
    again = administrator.put("/events/subscriptions", json=read)
    assert again.status_code == 200, "what is shown can be sent back"
    assert "spaces" not in json.dumps(administrator.get("/events?limit=100").json())


@pytest.mark.parametrize(
    ("document", "field", "says"),
    [
        (alert({}), "destinations[0].config.endpoint", "needs an endpoint URL"),
        (alert({"endpoint": "ftp://chat.example.com"}), "destinations[0].config.endpoint", "http or https"),
        (alert({"endpoint": SPACE}, "Owners"), "destinations[0].category", "valid categories: External"),
    ],
)
def test_what_cannot_be_sent_is_refused(
    administrator: httpx.Client, document: dict[str, Any], field: str, says: str
) -> None:
    answer = administrator.post("/events/subscriptions", json=document)
    assert answer.status_code == 400
    assert field in answer.text
    assert says in answer.text


def test_a_test_of_the_destination_does_not_reach_inner_addresses(administrator: httpx.Client) -> None:
    destinations = [{"category": "External", "type": "GChat", "config": {"endpoint": "http://10.0.0.1/v1/spaces"}}]
    answer = administrator.post("/events/subscriptions/testDestination", json={"destinations": destinations})
    assert answer.status_code == 200, answer.text
    assert '"Failed"' in answer.text
    assert "egressRefused" in answer.text
