"""Tests of "resolved" messages through a worker: a run works again, and the message answers that of the failure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import Engine, select, update
from tests.acceptance.worker.chat_receivers import listening, statuses
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_slack_bot import Workspace, bot, people, sender
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.mails import read_mail, text_of
from tests.notifying import notify_all

from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.channels.google_chat.sender import google_chat_sender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.database.tables import attempt, message
from tocsin.store.eventlog.log import EventLog

RUNS = ("Successful", "Failed", "Failed", "Successful")
RESOLVED = "load: run succeeds again"


class Loading:
    """A pipeline owned by ana and ben through their team, and an alert on its failures."""

    def __init__(self, engine: Engine, destination: dict[str, Any], *, send_resolved: bool = True) -> None:
        self.engine, self.company = engine, SmallCompany(engine)
        self.company.pipeline("load", owners=[{"type": "team", "name": "shop"}])
        rule, trigger = "firstFailure()", {"triggerType": "RealTime", "sendResolved": send_resolved}
        self.company.alert("Broken", [destination], rule, poll_interval_s=0, trigger=trigger)
        notify_all(engine)

    def _has_delivered(self, count: int) -> bool:
        return statuses(self.engine) == ({("delivered", 1): count} if count else {})

    async def run(self, *, per_change: int, reported: tuple[str, ...] = RUNS) -> None:
        """Report runs one after the other; the first failure after a success makes so many messages, and so the end."""
        delivered = 0
        for before, status in zip(("Successful", *reported), reported, strict=False):
            self.company.run("load", status)
            notify_all(self.engine)
            delivered += per_change if before != status else 0
            await until(partial(self._has_delivered, delivered))


@asynccontextmanager
async def slack(engine: Engine, workspace: Workspace) -> AsyncIterator[None]:
    async with (
        listening(workspace.answer) as url,
        HttpRequests(egress_of(("127.0.0.0/8",))) as requests,
        working(engine, senders={"Slack": sender(requests, url)}),
    ):
        yield


@pytest.mark.parametrize(
    ("to", "per_change"), [(bot("External", channel="#alerts"), 1), (bot("Owners"), 2)], ids=["channel", "people"]
)
async def test_in_slack_the_first_messages_thread_says_that_it_is_resolved(
    store_engine: Engine, to: dict[str, Any], per_change: int
) -> None:
    workspace, loading = Workspace(burst=9), Loading(store_engine, to)
    people(workspace, "ana", "ben")
    async with slack(store_engine, workspace):
        await loading.run(per_change=per_change)
    failures, ends = workspace.posts[:per_change], workspace.posts[per_change:]
    assert {one["text"] for one in failures} == {"load: run failed"}
    assert {one["text"] for one in ends} == {RESOLVED}
    threads = {one["channel"]: f"{number}.0001" for number, one in enumerate(failures, start=1)}
    assert {one["channel"]: one["thread_ts"] for one in ends} == threads
    with store_engine.connect() as connection:
        assert set(connection.execute(select(attempt.c.remote_id)).scalars()) >= {
            f"{channel}/{at}" for channel, at in threads.items()
        }


async def test_without_the_option_only_the_failure_is_a_message(sqlite_engine: Engine) -> None:
    workspace = Workspace()
    loading = Loading(sqlite_engine, bot("External", channel="#alerts"), send_resolved=False)
    async with slack(sqlite_engine, workspace):
        for status in RUNS:
            loading.company.run("load", status)
        assert notify_all(sqlite_engine) == 1
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    assert [one["text"] for one in workspace.posts] == ["load: run failed"]


async def test_each_time_it_breaks_has_a_thread_of_its_own(sqlite_engine: Engine) -> None:
    workspace, loading = Workspace(burst=9), Loading(sqlite_engine, bot("External", channel="#alerts"))
    async with slack(sqlite_engine, workspace):
        await loading.run(per_change=1, reported=(*RUNS, "Successful", "Failed", "Successful"))
    assert [one.get("thread_ts") for one in workspace.posts] == [None, "1.0001", None, "3.0001"]


async def test_a_failure_whose_message_never_arrived_has_no_thread(sqlite_engine: Engine) -> None:
    workspace, loading = Workspace(burst=9), Loading(sqlite_engine, bot("External", channel="#alerts"))
    loading.company.run("load", "Failed")
    assert notify_all(sqlite_engine) == 1
    with sqlite_engine.begin() as connection:
        connection.execute(update(message).values(status="failed"))
    async with slack(sqlite_engine, workspace):
        loading.company.run("load", "Successful")
        notify_all(sqlite_engine)
        await until(lambda: statuses(sqlite_engine)[("delivered", 1)] == 1)
    assert [(one["text"], one.get("thread_ts")) for one in workspace.posts] == [(RESOLVED, None)]


async def test_mail_programs_show_it_below_the_first_mail(sqlite_engine: Engine) -> None:
    mailbox = Mailbox()
    loading = Loading(sqlite_engine, {"category": "Owners", "type": "Email"})
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(sqlite_engine, senders={"Email": channel}),
    ):
        await loading.run(per_change=2)
    mails: dict[str, list[EmailMessage]] = {}
    for (receiver,), content in mailbox.mails:
        mails.setdefault(receiver, []).append(read_mail(content))
    assert mails.keys() == {"ana@example.com", "ben@example.com"}
    for failure, end in mails.values():
        assert (failure["Subject"], failure["In-Reply-To"]) == ("load: run failed", None)
        assert (end["Subject"], end["In-Reply-To"]) == (RESOLVED, failure["Message-ID"])
        assert end["References"] == failure["Message-ID"]


async def test_google_chat_puts_it_into_the_first_messages_thread(sqlite_engine: Engine) -> None:
    threads: list[str] = []

    async def create(request: web.Request) -> web.Response:
        if request.query["messageReplyOption"] == "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD":  # else the key is ignored
            threads.append((await request.json())["thread"]["threadKey"])
        return web.json_response({"name": "spaces/AAAA/messages/1"})

    async with listening(create) as url, HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        to = {"category": "External", "type": "GChat", "config": {"endpoint": f"{url}/v1/spaces/A/messages?key=k"}}
        loading = Loading(sqlite_engine, to)
        chat = google_chat_sender(requests, base_url="https://t.example")
        async with working(sqlite_engine, senders={"GChat": chat}):
            await loading.run(per_change=1, reported=(*RUNS, "Failed"))
    assert threads[0] == threads[1] != threads[2]


async def test_a_mail_about_a_failure_says_since_when_and_what_lies_downstream(sqlite_engine: Engine) -> None:
    company, mailbox = SmallCompany(sqlite_engine), Mailbox()
    company.test_case("orders")
    failed_condition = "testStatus == 'Failed'"
    company.alert(
        "Failed", [{"category": "Users", "type": "Email", "config": {"receivers": ["dia"]}}], failed_condition
    )
    notify_all(sqlite_engine)
    for status in ("Success", "Failed", "Aborted", "Failed"):
        company.result("orders", status)
        notify_all(sqlite_engine)
        with sqlite_engine.begin() as connection:  # each of them alone, at once
            connection.execute(update(message).values(due_at_ms=0, grouping_key=None))
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(sqlite_engine, senders={"Email": channel}),
    ):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 2})
    first, second = sorted((text_of(read_mail(content)) for _, content in mailbox.mails), key=len)
    assert "- Downstream: revenue" in first
    assert "- Downstream: revenue" in second
    assert "Failing since" not in first
    assert "- Failing since: 2025-10-09 08:53 UTC, 3 times in a row" in second


async def test_a_mail_says_what_to_do_by_the_definition_of_the_test_to_those_who_may_view_it(
    store_engine: Engine,
) -> None:
    company, mailbox = SmallCompany(store_engine), Mailbox()
    company.test_case("orders")
    advice = [{"op": "add", "path": "/runbook", "value": "rerun load_orders"}]
    company.writes.patch("testDefinition", Key.by_name("hasRows"), advice, actor=SYSTEM)
    see = {"name": "See", "effect": "allow", "operations": ["ViewAll"], "resources": ["all"]}
    hide = {"name": "Hide", "effect": "deny", "operations": ["All"], "resources": ["testDefinition"]}
    for person, rules in (("ana", [see]), ("dia", [see, hide])):
        policy = company.put("policy", {"name": f"Policy of {person}", "rules": rules})
        role = company.put("role", {"name": f"Role of {person}", "policies": [{"type": "policy", "id": policy["id"]}]})
        roles = [{"type": "role", "id": role["id"]}]
        company.put("user", {"name": person, "email": f"{person}@example.com", "roles": roles})
    to = {"category": "Users", "type": "Email", "config": {"receivers": ["ana", "dia"]}}
    company.alert("Failed", [to], "testStatus == 'Failed'", poll_interval_s=0)
    notify_all(store_engine)
    company.clock.advance(1_000)
    company.result("orders", "Failed")
    notify_all(store_engine)
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(store_engine, senders={"Email": channel}),
    ):
        await until(lambda: statuses(store_engine) == {("delivered", 1): 2})
    texts = {receiver: text_of(read_mail(content)) for (receiver,), content in mailbox.mails}
    has_advice = {receiver: "What to do: rerun load_orders" in text for receiver, text in texts.items()}
    assert has_advice == {"ana@example.com": True, "dia@example.com": False}


async def test_a_mail_about_a_breaking_change_says_what_lies_downstream(sqlite_engine: Engine) -> None:
    company, mailbox = SmallCompany(sqlite_engine), Mailbox()
    company.alert("Breaking", [{"category": "Users", "type": "Email", "config": {"receivers": ["dia"]}}], "isBreaking")
    notify_all(sqlite_engine)
    company.clock.advance(1_000)
    company.table("orders", columns=[{"name": "email", "dataType": "VARCHAR", "dataLength": 80}])
    notify_all(sqlite_engine)
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(sqlite_engine, senders={"Email": channel}),
    ):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    ((_, content),) = mailbox.mails
    lines = [line for line in text_of(read_mail(content)).splitlines() if line.startswith("- ")]
    assert lines[0].endswith(": column id INT removed")
    event = EventLog(sqlite_engine).read(0, 1_000)[-1].event
    advice = f"- What to do: see who reads what changed: tocsin impact {event.id}"
    assert lines[1:] == ["- Downstream: revenue", advice]
