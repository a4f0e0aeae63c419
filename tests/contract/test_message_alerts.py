"""Tests of the default alerts that send messages to owners and followers, where they are enabled and where not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.acceptance.worker.test_email_channel import Mailbox
from tests.acceptance.worker.test_merged import mail_texts, mailing
from tests.acceptance.worker.test_worker import statuses, until
from tests.contract.test_subscriptions import send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.model.preferences import PREFERRED_CHANNELS, DefaultPreferences
from tocsin.store.outbox.preferences import SqlPreferences

ALERTS = ("MessagesOfAssets", "MessagesOfConversations")


@pytest.fixture
def alice(served: Served, orders: Json, sqlite_engine: Engine) -> Iterator[tuple[str, httpx.Client]]:
    """Alice, who follows the table orders."""
    SqlPreferences(sqlite_engine).put_defaults(DefaultPreferences(), now_ms=0)
    user_id, client = served.person("alice")
    with client:
        assert client.put(f"/tables/{orders['id']}/followers", json=user_id).is_success
        yield user_id, client


def enable(administrator: httpx.Client) -> None:
    for name in ALERTS:
        switch_on = {"op": "replace", "path": "/enabled", "value": True}
        assert send_patch(administrator, f"/events/subscriptions/name/{name}", switch_on).is_success


def describe(administrator: httpx.Client, orders: Json, engine: Engine) -> None:
    text = {"op": "add", "path": "/description", "value": "One row per order."}
    assert send_patch(administrator, f"/tables/{orders['id']}", text).is_success
    notify_all(engine)


async def test_followers_get_mails_where_the_alert_is_enabled(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    enable(administrator)
    describe(administrator, orders, sqlite_engine)
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert "One row per order." in text
    assert "you follow it (alert MessagesOfAssets)" in " ".join(text.split())


async def test_who_wants_no_mails_gets_none(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    enable(administrator)
    quiet = {"kinds": {"description": {"Email": "never"}}}
    assert alice[1].put(f"/users/{alice[0]}/preferences", json=quiet).is_success
    describe(administrator, orders, sqlite_engine)
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: "pending" not in statuses(sqlite_engine))
    assert mail_texts(mailbox) == []


def test_until_it_is_enabled_nothing_is_made_and_preferences_say_so(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    describe(administrator, orders, sqlite_engine)
    assert statuses(sqlite_engine) == {}
    path = f"/users/{alice[0]}/preferences/effective"
    without_server, *about_alerts = alice[1].get(path).json()["remarks"]
    assert without_server == "No mail server is set up, so no mails come."
    assert [name in remark for name, remark in zip(ALERTS, about_alerts, strict=True)] == [True, True]
    enable(administrator)
    assert alice[1].get(path).json()["remarks"] == [without_server]


def test_only_administrators_enable_it(alice: tuple[str, httpx.Client]) -> None:
    switch_on = {"op": "replace", "path": "/enabled", "value": True}
    assert send_patch(alice[1], f"/events/subscriptions/name/{ALERTS[0]}", switch_on).status_code == 403


def test_preferences_say_that_a_channel_which_one_chose_has_no_verified_address(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json
) -> None:
    enable(administrator)
    user_id, client = alice

    def remarks(choices: Json) -> list[str]:
        assert client.put(f"/users/{user_id}/preferences", json=choices).is_success
        return list(client.get(f"/users/{user_id}/preferences/effective").json()["remarks"])

    (without_server,) = remarks({})
    about_server, about_slack = remarks({"kinds": {"columns": {"Slack": "daily", "MsTeams": "never"}}})
    assert about_server == without_server
    assert "in Slack" in about_slack
    _, about_webhook = remarks({"roles": {"owned": {"columns": {"Webhook": "immediate"}}}})
    assert "verified" in about_webhook
    assert remarks({"frequency": "daily"}) == [without_server], "all alike"
    path = f"/users/{user_id}/following/{orders['id']}/preferences"
    (of_follow,) = json.loads(client.put(path, json={"channels": {"Slack": "daily"}}).headers["X-Tocsin-Remarks"])
    assert (of_follow["kind"], of_follow["message"]) == ("notReached", about_slack)
    assert "X-Tocsin-Remarks" not in client.put(path, json={}).headers


def test_preferences_name_the_channels_over_which_nothing_comes_though_nobody_chose_them(
    alice: tuple[str, httpx.Client], administrator: httpx.Client
) -> None:
    enable(administrator)
    user_id, client = alice
    path = f"/users/{user_id}/preferences"
    missing = dict.fromkeys(("Slack", "MsTeams", "GChat", "Webhook"), "no verified address")
    assert client.get(f"{path}/effective").json()["unreached"] == {"Email": "no mail server"} | missing
    for answer in (client.get(path), client.put(path, json={})):
        remarks = json.loads(answer.headers["X-Tocsin-Remarks"])
        assert [one["field"] for one in remarks] == ["Email", *missing]
        assert {one["kind"] for one in remarks} == {"notReached"}
        assert remarks[1]["message"] == "There is no verified address: nothing comes in Slack."
    assert client.put(path, json=client.get(path).json()).is_success


def test_a_follow_over_a_channel_where_nothing_comes_says_so_at_once(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json
) -> None:
    def remarks(*channels: str, kinds: Json = None) -> list[str]:
        choices = {"channels": dict.fromkeys(channels, "daily")} if kinds is None else {"kinds": kinds}
        body = {"ids": [orders["id"]], "preferences": choices}
        answer = alice[1].post(f"/users/{alice[0]}/follows", json=body)
        assert answer.is_success, answer.text
        return list(answer.json().get("remarks", []))

    about_server, about_alert = remarks("Email")
    assert (about_server, "MessagesOfAssets" in about_alert) == ("No mail server is set up, so no mails come.", True)
    enable(administrator)
    assert remarks("Email") == [about_server]
    (about_slack,) = remarks(kinds={"columns": {"Slack": "immediate", "Email": "never"}})
    assert "in Slack" in about_slack
    assert remarks("ActivityFeed") == []
    assert remarks(*(one.value for one in PREFERRED_CHANNELS)) == []
