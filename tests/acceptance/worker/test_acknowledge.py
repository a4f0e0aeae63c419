"""Tests of buttons to acknowledge an incident through a worker: each channel shows one with its failure."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr
from sqlalchemy import Engine, select
from tests.acceptance.worker.chat_receivers import listening, statuses
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_slack_bot import Workspace, bot, people, sender
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.conftest import KEY
from tests.mails import read_mail, text_of
from tests.notifying import notify_all
from tests.store.test_failing_rows import permit

from tocsin.alerts.incidents import Handling, handle
from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.channels.google_chat.sender import google_chat_sender
from tocsin.delivery.channels.ms_teams.sender import ms_teams_sender
from tocsin.delivery.links.acknowledge import request_of
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.delivery.worker.build import build
from tocsin.model.alert_incident import StepKind
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.catalogue.people.identities import People, unsubscribe_key
from tocsin.store.database.tables import message

BASE = "https://t.example"
LINKS: dict[str, Any] = {"base_url": BASE, "link_key": b"key"}
OWN = {"name": "Own", "effect": "allow", "operations": ["EditAll"], "resources": ["all"], "condition": "isOwner()"}
PAGE = f"{BASE}/#/incidents/INC-1"
TOKEN = re.compile(rf"{BASE}/api/v1/acknowledge/([\w.-]+)")


def failing(engine: Engine, *destinations: dict[str, Any]) -> SmallCompany:
    """Return a company one of whose runs has failed, of which an alert notifies these destinations."""
    company = SmallCompany(engine)
    permit(company, "dia", OWN)
    company.pipeline("load", owners=[{"type": "user", "name": "dia"}])
    company.alert("Broken", list(destinations), "pipelineStatus == 'Failed'", poll_interval_s=0)
    company.run("load", "Failed")
    assert notify_all(engine) == 1
    return company


def acknowledge(company: SmallCompany) -> None:
    incident = AlertIncidentLog(company.engine).find("INC-1")
    assert incident is not None
    acknowledgement = Handling(StepKind.ACKNOWLEDGED)
    company.writes.within(lambda record: handle(record, incident.id, acknowledgement), actor=company.actor("dia"))


async def test_a_mail_to_a_person_knows_them_until_somebody_has_acknowledged_the_incident(store_engine: Engine) -> None:
    mailbox, company = Mailbox(), failing(store_engine, {"category": "Owners", "type": "Email"})
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(store_engine, senders={"Email": channel}, **LINKS),
    ):
        await until(lambda: len(mailbox.mails) == 1)
        acknowledge(company)
        company.run("load", "Failed")
        notify_all(store_engine)
        await until(lambda: len(mailbox.mails) == 2)
    first, second = (read_mail(content) for _, content in mailbox.mails)
    text, html = text_of(first), text_of(first, "html")
    (token,) = TOKEN.findall(text)
    request = request_of(token, b"key", 0)
    assert request is not None
    assert (request.incident_number, TOKEN.findall(html)) == (1, [token])
    assert "Acknowledge" not in text_of(second)
    assert {"- Incident: INC-1, acknowledged by you", "- What to do: repair it"} < set(text_of(second).splitlines())


@pytest.mark.parametrize("is_digest", [False, True])
async def test_a_follower_who_may_not_acknowledge_is_led_to_the_page_and_the_owner_has_the_button(
    store_engine: Engine, *, is_digest: bool
) -> None:
    company, mailbox = SmallCompany(store_engine), Mailbox()
    for name in ("dia", "cem"):
        permit(company, name, OWN)
    for name in ("load", "clean"):
        company.pipeline(name, owners=[{"type": "user", "name": "dia"}])
        company.writes.follow("pipeline", company.ids[name], company.ids["cem"], actor=company.actor("cem"))
    to = [{"category": category, "type": "Email"} for category in ("Owners", "Followers")]
    company.alert("Broken", to, "pipelineStatus == 'Failed'", poll_interval_s=0)
    notify_all(store_engine)
    for name in ("load", "clean") if is_digest else ("load",):
        company.run(name, "Failed")
    notify_all(store_engine)
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(store_engine, senders={"Email": channel}, **LINKS),
    ):
        await until(lambda: len(mailbox.mails) == len(message_ids(store_engine)))
    texts: dict[str, str] = {}
    for _, content in mailbox.mails:
        mail = read_mail(content)
        texts[str(mail["To"])] = texts.get(str(mail["To"]), "") + text_of(mail) + text_of(mail, "html")
    cems_text, dias_text = (next(text for to, text in texts.items() if name in to) for name in ("cem", "dia"))
    assert ("Acknowledge" in cems_text, "Open INC-1" in cems_text, PAGE in cems_text) == (False, True, True)
    assert ("Acknowledge INC-1" in dias_text, "Open INC-1" in dias_text) == (True, False)


def message_ids(engine: Engine) -> list[str]:
    """Return the ids of all messages."""
    with engine.connect() as connection:
        return list(connection.execute(select(message.c.id)).scalars())


@pytest.mark.parametrize(
    ("to", "is_known"), [(bot("Owners"), True), (bot("External", channel="#alerts"), False)], ids=["person", "channel"]
)
async def test_in_slack_a_person_is_known_and_a_channel_is_led_to_the_page(
    sqlite_engine: Engine, to: dict[str, Any], *, is_known: bool
) -> None:
    workspace = Workspace(burst=9)
    people(workspace, "dia")
    failing(sqlite_engine, to)
    async with (
        listening(workspace.answer) as url,
        HttpRequests(egress_of(("127.0.0.0/8",))) as requests,
        working(sqlite_engine, senders={"Slack": sender(requests, url)}, **LINKS),
    ):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    (post,) = workspace.posts
    (beside_the_bar,) = post["attachments"]
    (last,) = [one for one in beside_the_bar["blocks"] if "Open in Tocsin" in json.dumps(one)]
    address, _, text = last["elements"][1]["text"].strip("<>").partition("|")
    assert text == "Acknowledge INC-1"
    assert (bool(TOKEN.fullmatch(address)), address.startswith(f"{PAGE}?opened=")) == (is_known, not is_known)


async def test_a_worker_signs_with_the_key_that_the_servers_check(sqlite_engine: Engine) -> None:
    database = sqlite_engine.url.render_as_string(hide_password=False)
    async with build(Settings(database_url=database, secrets_key=SecretStr(KEY), public_url=BASE)) as parts:
        assert (parts.attempts.link_key, parts.attempts.base_url) == (unsubscribe_key(People(sqlite_engine)), BASE)


@pytest.mark.parametrize("chat", ["MsTeams", "GChat"])
async def test_other_chats_are_led_to_the_page(sqlite_engine: Engine, chat: str) -> None:
    bodies: list[str] = []

    async def take(request: web.Request) -> web.Response:
        bodies.append(await request.text())
        return web.json_response({"name": "spaces/AAAA/messages/1"})

    async with listening(take) as url, HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        failing(sqlite_engine, {"category": "External", "type": chat, "config": {"endpoint": f"{url}/hook"}})
        chat_sender = {"MsTeams": ms_teams_sender, "GChat": google_chat_sender}[chat](requests, base_url=BASE)
        async with working(sqlite_engine, senders={chat: chat_sender}, **LINKS):
            await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    (body,) = bodies
    assert (body.count(PAGE), body.count("Acknowledge INC-1"), TOKEN.search(body)) == (1, 1, None)
