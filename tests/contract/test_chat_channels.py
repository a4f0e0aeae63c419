"""Tests of alerts to chats over the API: what is accepted, and that the address of a chat is never shown."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine

from tocsin.store.catalogue.alerts.subscriptions import Subscriptions

CHATS = {
    "GChat": (
        "https://chat.example.com/v1/spaces/AAAA/messages?key=s3cret-key&token=s3cret-token",
        "https://chat.example.com/v1/*********?*********",
    ),
    "Slack": (
        "https://hooks.example.com/services/s3cret-T/s3cret-B/s3cret",
        "https://hooks.example.com/services/*********",
    ),
    "MsTeams": (
        "https://prod.example.com/workflows/s3cret/triggers/manual/paths/invoke?sig=s3cret",
        "https://prod.example.com/*********?*********",
    ),
}


def alert(chat: str, config: dict[str, Any], category: str = "External") -> dict[str, Any]:
    return {
        "name": "chat",
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": []},
        "destinations": [{"category": category, "type": chat, "config": config}],
    }


@pytest.mark.parametrize("chat", CHATS)
def test_the_address_of_a_chat_is_stored_sealed_and_shown_masked(
    administrator: httpx.Client, sqlite_engine: Engine, chat: str
) -> None:
    address, masked = CHATS[chat]
    response = administrator.post("/events/subscriptions", json=alert(chat, {"endpoint": address}))
    assert response.status_code == 201, response.text
    assert response.json()["destinations"][0]["config"]["endpoint"] == masked
    with sqlite_engine.connect() as connection:
        dump = "\n".join(connection.connection.dbapi_connection.iterdump())  # type: ignore[union-attr]
    assert "s3cret" not in dump
    read = administrator.get("/events/subscriptions/name/chat").json()
    again = administrator.put("/events/subscriptions", json=read)
    assert again.status_code == 200, "what is shown can be sent back"
    assert "s3cret" not in json.dumps(administrator.get("/events?limit=100").json())


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize(
    ("config", "category", "field", "says"),
    [
        ({}, "External", "destinations[0].config.endpoint", "needs an endpoint URL"),
        ({"endpoint": "ftp://chat.example.com"}, "External", "destinations[0].config.endpoint", "http or https"),
        (
            {"endpoint": "https://chat.example.com/x"},
            "Owners",
            "destinations[0]",
            "External",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(
    administrator: httpx.Client, chat: str, config: dict[str, Any], category: str, field: str, says: str
) -> None:
    answer = administrator.post("/events/subscriptions", json=alert(chat, config, category))
    assert answer.status_code == 400
    assert field in answer.text
    assert says in answer.text


@pytest.mark.parametrize("chat", CHATS)
def test_a_test_of_the_destination_does_not_reach_inner_addresses(administrator: httpx.Client, chat: str) -> None:
    destinations = [{"category": "External", "type": chat, "config": {"endpoint": "http://10.0.0.1/v1/spaces"}}]
    answer = administrator.post("/events/subscriptions/testDestination", json={"destinations": destinations})
    assert answer.status_code == 200, answer.text
    assert '"Failed"' in answer.text
    assert "egressRefused" in answer.text


TOKEN = "xoxb-12-34-s3cret"


@pytest.mark.parametrize(
    ("config", "category"), [({"channel": "#alerts"}, "External"), ({}, "Owners"), ({"receivers": ["admin"]}, "Users")]
)
def test_the_token_of_a_bot_is_stored_sealed_and_shown_masked(
    administrator: httpx.Client, sqlite_engine: Engine, config: dict[str, Any], category: str
) -> None:
    response = administrator.post("/events/subscriptions", json=alert("Slack", {"botToken": TOKEN, **config}, category))
    assert response.status_code == 201, response.text
    assert response.json()["destinations"][0]["config"]["botToken"] == "*********"
    with sqlite_engine.connect() as connection:
        dump = "\n".join(connection.connection.dbapi_connection.iterdump())  # type: ignore[union-attr]
    assert "s3cret" not in dump
    again = administrator.put("/events/subscriptions", json=administrator.get("/events/subscriptions/name/chat").json())
    assert again.status_code == 200, "what is shown can be sent back"
    (destination,) = Subscriptions(sqlite_engine).with_secrets(response.json()["id"]).destinations  # type: ignore[union-attr]
    assert destination.config.bot_token == TOKEN
    assert "s3cret" not in json.dumps(administrator.get("/events?limit=100").json())


@pytest.mark.parametrize(
    ("chat", "config", "category", "field", "says"),
    [
        ("Slack", {"botToken": TOKEN}, "External", "config.channel", "needs the channel to post to"),
        ("Slack", {"botToken": TOKEN, "channel": "#Alerts here"}, "External", "config.channel", "id or name"),
        ("Slack", {"botToken": TOKEN, "channel": "@ana"}, "External", "config.channel", "id or name"),
        ("Slack", {"botToken": TOKEN, "channel": "#a"}, "Owners", "config.channel", "is for category External"),
        ("Slack", {"botToken": TOKEN, "endpoint": "https://x.example/h"}, "External", "config.endpoint", "omit it"),
        ("Slack", {"botToken": "s3cret", "channel": "#a"}, "External", "config.botToken", "xoxb-"),
        ("Slack", {"botToken": f"{TOKEN}\r\nX: y"}, "Owners", "config.botToken", "xoxb-"),
        ("Slack", {"endpoint": "https://x.example/h", "channel": "#a"}, "External", "config.channel", "botToken"),
        ("Slack", {"botToken": TOKEN, "signingSecret": "s3cret"}, "Owners", "config.signingSecret", "Signing Secret"),
        ("Slack", {"botToken": TOKEN, "signingSecret": ""}, "Owners", "config.signingSecret", "Signing Secret"),
        (
            "Slack",
            {"endpoint": "https://x.example/h", "signingSecret": "s3cret-s3cret-s3cret"},
            "External",
            "config.signingSecret",
            "botToken",
        ),
        ("Slack", {"endpoint": "https://x.example/h"}, "Followers", "config.endpoint", "is for category External"),
        ("Slack", {"botToken": TOKEN}, "Users", "config.receivers", "at least one receiver"),
        ("GChat", {"endpoint": "https://x.example/h", "botToken": TOKEN}, "External", "config.botToken", "type Slack"),
        ("Email", {"channel": "#a"}, "Owners", "config.channel", "type Slack"),
    ],
)
def test_what_a_bot_cannot_do_is_refused(
    administrator: httpx.Client, chat: str, config: dict[str, Any], category: str, field: str, says: str
) -> None:
    answer = administrator.post("/events/subscriptions", json=alert(chat, config, category))
    assert answer.status_code == 400, answer.text
    assert f"destinations[0].{field}" in answer.text
    assert says in answer.text
    assert "s3cret" not in answer.text
