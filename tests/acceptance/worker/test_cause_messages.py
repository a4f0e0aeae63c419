"""Tests of messages about one cause through a worker: a chat message is changed in place, mails answer the first."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.acceptance.worker.chat_receivers import listening, statuses
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_google_chat import ChatSpace, serve_space
from tests.acceptance.worker.test_slack_bot import Workspace, bot, sender
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.mails import read_mail
from tests.notifying import notify_all
from tests.store.test_failing_rows import permit

from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.channels.google_chat.sender import google_chat_sender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests

CHANNEL = bot("External", channel="#alerts")
LONG_AGO_MS = 3_600_000


class Editing:
    """A company whose changes are told by an alert that gathers for a minute; its clock began an hour ago."""

    def __init__(self, engine: Engine, destination: dict[str, Any]) -> None:
        self.engine, self.company = engine, SmallCompany(engine)
        self.company.alert("edits", [destination], resources=("table",))
        self._now_ms, self._delivered = int(time.time() * 1_000) - LONG_AGO_MS, 0
        notify_all(engine, now_ms=self._now_ms)

    async def tell(self, *texts: str, by: str = "dia", table: str = "orders") -> None:
        """Describe a table so often; a minute after the last message, one tells of it."""
        for text in texts:
            self.company.describe(table, text, by=by)
        await self.tell_what_happened()

    async def tell_what_happened(self) -> None:
        self._now_ms, self._delivered = self._now_ms + 61_000, self._delivered + 1
        notify_all(self.engine, now_ms=self._now_ms)
        await until(partial(self._has_delivered, self._delivered))

    def _has_delivered(self, count: int) -> bool:
        return statuses(self.engine) == {("delivered", 1): count}


@asynccontextmanager
async def slack(engine: Engine, workspace: Workspace) -> AsyncIterator[None]:
    async with (
        listening(workspace.answer) as url,
        HttpRequests(egress_of(("127.0.0.0/8",))) as requests,
        working(engine, senders={"Slack": sender(requests, url)}),
    ):
        yield


async def test_a_slack_message_is_changed_in_place_as_more_of_its_cause_arrives(store_engine: Engine) -> None:
    workspace, editing = Workspace(burst=9), Editing(store_engine, CHANNEL)
    async with slack(store_engine, workspace):
        await editing.tell("one")
        await editing.tell("two", table="revenue")
        await editing.tell("three", "four")
        await editing.tell("of another", by="ben")
    assert ["thread_ts" in one for one in workspace.posts] == [False, False], "ben's is a message of its own"
    assert [(one["channel"], one["ts"]) for one in workspace.changes] == [("#alerts", "1.0001")] * 2
    assert [one["text"] for one in workspace.changes] == ["2 changes: orders, revenue", "4 changes: orders, revenue"]
    assert all(one["blocks"] and one["attachments"] == [] for one in workspace.changes)


async def test_what_needs_attention_is_a_reply_that_the_channel_sees(store_engine: Engine) -> None:
    workspace, editing = Workspace(burst=9), Editing(store_engine, CHANNEL)
    async with slack(store_engine, workspace):
        await editing.tell("one")
        company = editing.company
        column = [{"op": "remove", "path": "/columns/1"}]
        company.writes.patch("table", company.key("orders"), column, actor=company.actor("dia"))
        await editing.tell_what_happened()
        await editing.tell("two")
    _, reply = workspace.posts
    assert (reply["channel"], reply["thread_ts"], reply["reply_broadcast"]) == ("#alerts", "1.0001", True)
    (change,) = workspace.changes
    assert (change["ts"], change["text"]) == ("1.0001", "1 breaking change, 2 changes: orders")


@pytest.mark.parametrize("error", ["cant_update_message", "edit_window_closed", "channel_not_found"])
async def test_where_slack_lets_nothing_be_changed_a_message_says_how_much_more_it_is(
    sqlite_engine: Engine, error: str
) -> None:
    workspace, editing = Workspace(burst=9), Editing(sqlite_engine, CHANNEL)
    async with slack(sqlite_engine, workspace):
        await editing.tell("one")
        workspace.fault["chat.update"] = 200, {"ok": False, "error": error}
        await editing.tell("two", "three", table="revenue")
        company = editing.company
        company.describe("orders", "four")
        await editing.tell("five", table="revenue")
    assert [one["text"] for one in workspace.posts[1:]] == [
        "revenue: description added, changed 2 times",
        "dia in pg.store.public, 2 more: 2 changes: orders, revenue",
    ]


async def test_what_its_readers_may_not_see_any_more_is_taken_out_by_the_next_change(sqlite_engine: Engine) -> None:
    """Fault scenario 84."""
    workspace, editing = Workspace(burst=9), Editing(sqlite_engine, bot("Users", receivers=["ben"]))
    workspace.members = {"ben@example.com": "UBEN"}
    async with slack(sqlite_engine, workspace):
        await editing.tell("the secret of revenue", table="revenue")
        rule = {"name": "hidden", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]}
        permit(editing.company, "ben", rule | {"condition": "!isOwner()"})
        await editing.tell("seen", table="orders")
    assert (len(workspace.posts), len(workspace.changes)) == (1, 1)
    assert "seen" in json.dumps(workspace.changes)
    assert "secret" not in json.dumps(workspace.changes)


async def test_mail_programs_show_further_parts_of_a_cause_below_the_first_mail(store_engine: Engine) -> None:
    mailbox, editing = (
        Mailbox(),
        Editing(store_engine, {"category": "Users", "type": "Email", "config": {"receivers": ["cem"]}}),
    )
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(store_engine, senders={"Email": channel}),
    ):
        await editing.tell("one")
        await editing.tell("two", "three", table="revenue")
        editing.company.describe("orders", "four")
        await editing.tell("five", table="revenue")
        await editing.tell("of another", by="ben")
    first, second, third, last = (read_mail(content) for _, content in mailbox.mails)
    assert [one["In-Reply-To"] for one in (first, second, third, last)] == [
        None,
        *[first["Message-ID"]] * 2,
        None,
    ]
    assert third["References"] == first["Message-ID"]
    assert third["Subject"] == "dia in pg.store.public, 2 more: 2 changes: orders, revenue"


async def test_a_space_shows_a_long_run_in_one_thread(sqlite_engine: Engine) -> None:
    """More messages than are looked through for what a message continues."""
    space = ChatSpace()
    async with serve_space(space) as url, HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        editing = Editing(sqlite_engine, {"category": "External", "type": "GChat", "config": {"endpoint": url}})
        chat = google_chat_sender(requests, base_url="https://t.example")
        async with working(sqlite_engine, senders={"GChat": chat}):
            for number in range(13):
                await editing.tell(f"text {number}")
    assert len(space.threads) == 13
    assert set(space.threads) == {space.cards[0]["cardId"]}
