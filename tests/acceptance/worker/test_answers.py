"""Tests of what a worker sends to people whom a change request asks: links in mails, buttons in Slack, reminders."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.acceptance.worker.test_acknowledge import BASE, LINKS
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_slack_bot import TOKEN, Workspace, bot, people
from tests.acceptance.worker.test_slack_buttons import SECRET, SIGNED, choices, send_due
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.contract.slack_workspace import press, running_workspace
from tests.mails import read_mail, text_of
from tests.notifying import notify_all
from tests.serving import running_server, server_settings

from tocsin.catalogue.changes import announce
from tocsin.clock import SystemClock
from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.links.answer import AnswerLink, link_of
from tocsin.model.change_request import AnnouncedChange, Basis, ChangeAnnouncement, ChangeConsumer
from tocsin.store.catalogue.changes.requests import ChangeRequestLog

ABOUT_REQUESTS = "matchAnyEventType({'changeRequestUpdated','changeRequestReminder'})"
PAGE = f"{BASE}/#/changes/CR-1"
TOKEN_IN_MAIL = re.compile(rf"{BASE}/api/v1/answer/([\w.-]+)")


def asking_company(
    engine: Engine, *destinations: dict[str, Any], followers: tuple[str, ...] = ()
) -> tuple[SmallCompany, AnnouncedChange]:
    """Return a company of now, and a request of Ana's about orders that asks Dia, who owns what reads it."""
    company = SmallCompany(engine)
    company.clock.advance(SystemClock().now_ms() - company.clock.now_ms())
    company.alert("Changes", list(destinations), ABOUT_REQUESTS, poll_interval_s=0)
    consumers = [ChangeConsumer(company.ids["revenue"], "table", 1, Basis.ASSET)]
    consumers += [ChangeConsumer(company.ids[name], "user", 0, Basis.FOLLOW) for name in followers]
    date = datetime.now(UTC) + timedelta(days=30)
    removal = {"entity": {}, "kind": "removal", "column": "email", "why": "unused"}
    work = partial(
        announce,
        announcement=ChangeAnnouncement.model_validate(removal | {"date": int(date.timestamp() * 1_000)}),
        asset_key=("table", company.ids["orders"]),
        consumers=consumers,
    )
    request = company.writes.within(work, actor=company.actor("ana"))
    assert notify_all(engine, now_ms=company.clock.now_ms()) > 0
    return company, request


async def test_a_mail_to_a_person_who_is_asked_has_the_link_of_that_person_and_no_other_mail_has_one(
    store_engine: Engine,
) -> None:
    mailbox = Mailbox()
    to_address = {"category": "External", "type": "Email", "config": {"receivers": ["list@example.com"]}}
    to_people = [{"category": category, "type": "Email"} for category in ("Assignees", "Owners")]
    company, request = asking_company(store_engine, *to_people, to_address, followers=("cem",))
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(store_engine, senders={"Email": channel}, **LINKS),
    ):
        await until(lambda: len(mailbox.mails) == 4)
    mails = {receiver: read_mail(content) for (receiver,), content in mailbox.mails}
    links = {
        receiver.partition("@")[0]: {link_of(token, b"key") for token in TOKEN_IN_MAIL.findall(text_of(mail, kind))}
        for receiver, mail in mails.items()
        for kind in ("plain", "html")
    }
    links_of_asked = {name: {AnswerLink(company.ids[name], request.id)} for name in ("cem", "dia")}
    assert links == {"ben": set(), "list": set(), **links_of_asked}
    pages = {receiver.partition("@")[0] for receiver, mail in mails.items() if PAGE in text_of(mail)}
    assert pages == {"list"}, "who may be anybody logs in"


@pytest.mark.parametrize("to", [bot("Assignees", **SIGNED), bot("External", channel="#alerts", **SIGNED)])
async def test_a_button_in_slack_that_a_worker_has_sent_answers_for_who_presses_it(
    sqlite_engine: Engine, to: dict[str, Any]
) -> None:
    workspace = Workspace()
    people(workspace, "dia")
    _, request = asking_company(sqlite_engine, to)
    (post,) = await send_due(sqlite_engine, workspace)
    buttons = choices(post)
    assert list(buttons)[:2] == ["We are ready", "Not affected"]
    token = buttons["We are ready"]
    with running_workspace(TOKEN) as slack:
        slack.join("UDIA", "dia@example.com")
        with running_server(sqlite_engine, server_settings(slack_api_url=f"{slack.url}/api")) as served:
            at_s = served.app.state.parts.clock.now_ms() // 1000
            body, headers = press(token, "UDIA", secret=SECRET, at_s=at_s, response_url=f"{slack.url}/reply")
            with served.client() as nobody:
                assert nobody.post("/slack/interactions", content=body, headers=headers).status_code == 200
            assert slack.next_told() == "Your answer to CR-1 is recorded, for 1 consumer: We are ready."
    counts = ChangeRequestLog(sqlite_engine).verdicts([request.id])[request.id]
    assert counts == {"ready": 1}
