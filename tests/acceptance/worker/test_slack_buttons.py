"""Tests of buttons of Slack's bots from the message that a worker sends to what the server does when one is pressed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from slack_sdk.models.blocks import Block
from sqlalchemy import Engine
from tests.acceptance.worker.chat_receivers import listening, statuses
from tests.acceptance.worker.test_acknowledge import BASE, PAGE, failing
from tests.acceptance.worker.test_slack_bot import TOKEN, Workspace, bot, people
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany, destination_id
from tests.contract.slack_workspace import press, running_workspace
from tests.notifying import notify_all
from tests.serving import running_server, server_settings

from tocsin.delivery.channels.slack.interactions import MESSAGE_BYTES
from tocsin.delivery.channels.slack.sender import SlackSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.catalogue.people.identities import People, unsubscribe_key

SECRET = "8f742231b10e8888abcd99f0d5c185a5"
SIGNED = {"signingSecret": SECRET}


async def send_due(engine: Engine, workspace: Workspace) -> list[dict[str, Any]]:
    """Let a worker send what is due; return the messages."""
    key = unsubscribe_key(People(engine))
    async with listening(workspace.answer) as url, HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        slack = SlackSender(requests, base_url=BASE, api_url=f"{url}/api/", link_key=key)
        async with working(engine, senders={"Slack": slack}, base_url=BASE, link_key=key):
            await until(lambda: statuses(engine) == {("delivered", 1): 1})
    return workspace.posts


def blocks_of(post: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message, with those beside its coloured bar."""
    return [*post["blocks"], *(block for one in post.get("attachments", ()) for block in one["blocks"])]


def choices(post: dict[str, Any]) -> dict[str, str]:
    """Return the values of a message's buttons by their texts; the whole is one that Slack takes."""
    values_by_text: dict[str, str] = {}
    for block in blocks_of(post):
        parsed_block = Block.parse(block)
        assert parsed_block is not None
        parsed_block.validate_json()
        if block["type"] == "actions":
            values_by_text |= {one["text"]["text"]: one["value"] for one in block["elements"]}
            names = [one["action_id"] for one in block["elements"]]
            assert len(set(names)) == len(names)
    return values_by_text


def link_words(post: dict[str, Any]) -> list[str]:
    """Return the words of a message's links to the page of the incident, which say whose message was opened."""
    return re.findall(rf"<{re.escape(PAGE)}\?opened=[^|>]+\|([^>]+)>", str(post))


@pytest.mark.parametrize(
    ("to", "texts"),
    [
        (bot("Owners", **SIGNED), ["Acknowledge INC-1", "Mute the asset for a day"]),
        (bot("External", channel="#alerts", **SIGNED), ["Acknowledge INC-1"]),
        (bot("Owners"), []),
    ],
    ids=["person", "channel", "without secret"],
)
async def test_with_a_signing_secret_buttons_come_in_place_of_links(
    sqlite_engine: Engine, to: dict[str, Any], texts: list[str]
) -> None:
    workspace = Workspace()
    people(workspace, "dia")
    failing(sqlite_engine, to)
    (post,) = await send_due(sqlite_engine, workspace)
    assert list(choices(post)) == texts
    assert len(json.dumps(post)) < MESSAGE_BYTES
    assert ("/mute/" in str(post), PAGE in str(post) or "/acknowledge/" in str(post)) == (not texts, not texts)


@pytest.mark.parametrize("secret", [SIGNED, {}], ids=["buttons", "links"])
async def test_a_bot_that_no_administrator_uses_gets_nothing_that_acts_for_its_recipient(
    sqlite_engine: Engine, secret: dict[str, str]
) -> None:
    workspace, company = Workspace(), SmallCompany(sqlite_engine)
    people(workspace, "dia")
    company.pipeline("load", owners=[{"type": "user", "name": "dia"}])
    failure_rule = {"effect": "include", "condition": "pipelineStatus == 'Failed'"}
    request = {
        "name": "Mine",
        "alertType": "Observability",
        "filteringRules": {"resources": ["pipeline"], "rules": [failure_rule]},
        "destinations": [{"id": destination_id("Mine"), **bot("Owners", **secret)}],
    }
    company.writes.create("eventsubscription", request, actor=company.actor("ben"))
    company.run("load", "Failed")
    notify_all(sqlite_engine)
    (post,) = await send_due(sqlite_engine, workspace)
    assert choices(post) == {}
    assert ("/mute/" in str(post), "/acknowledge/" in str(post)) == (False, False)
    assert link_words(post) == ["Open INC-1"], "dia may not change the incident"


async def test_a_message_about_a_change_has_a_button_to_mute(sqlite_engine: Engine) -> None:
    workspace, company = Workspace(), SmallCompany(sqlite_engine)
    people(workspace, "cem")
    company.alert("chat", [bot("Followers", **SIGNED)], poll_interval_s=0)
    company.describe("orders", "ü" * 9_000)
    notify_all(sqlite_engine)
    (post,) = await send_due(sqlite_engine, workspace)
    assert list(choices(post)) == ["Mute the asset for a day"]


async def test_a_digest_keeps_links(sqlite_engine: Engine) -> None:
    workspace, company = Workspace(), SmallCompany(sqlite_engine)
    company.pipeline("load")
    to = bot("External", channel="#alerts", **SIGNED)
    company.alert("Broken", [to], "pipelineStatus == 'Failed'", poll_interval_s=3_600)
    company.run("load", "Failed")
    for _ in range(2):
        company.run("load", "Failed", after_s=1)
    notify_all(sqlite_engine)
    (digest,) = await send_due(sqlite_engine, workspace)
    assert (link_words(digest), choices(digest)) == (["Acknowledge INC-1"], {})


@pytest.mark.parametrize("to", [bot("Owners", **SIGNED), bot("External", channel="#alerts", **SIGNED)])
async def test_whoever_presses_it_in_slack_acknowledges_in_tocsin(sqlite_engine: Engine, to: dict[str, Any]) -> None:
    workspace = Workspace()
    people(workspace, "dia")
    failing(sqlite_engine, to)
    (post,) = await send_due(sqlite_engine, workspace)
    token = choices(post)["Acknowledge INC-1"]
    with running_workspace(TOKEN) as slack:
        slack.join("UDIA", "dia@example.com")
        with running_server(sqlite_engine, server_settings(slack_api_url=f"{slack.url}/api")) as server:
            at_s = server.app.state.parts.clock.now_ms() // 1000
            body, headers = press(token, "UDIA", secret=SECRET, at_s=at_s, response_url=f"{slack.url}/reply")
            with server.client() as nobody:
                assert nobody.post("/slack/interactions", content=body, headers=headers).status_code == 200
            assert slack.next_told() == "You have acknowledged INC-1."
    log = AlertIncidentLog(sqlite_engine)
    incident = log.find("INC-1")
    assert incident is not None
    assert [(one.kind.value, one.user_name) for one in log.steps(incident.id)] == [("acknowledged", "dia")]
