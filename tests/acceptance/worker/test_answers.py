"""Tests of what a worker sends to people whom a change request asks: links in mails, buttons in Slack, reminders."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.acceptance.worker.test_acknowledge import BASE, LINKS
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_slack_bot import TOKEN, Workspace, bot, people
from tests.acceptance.worker.test_slack_buttons import SECRET, SIGNED, choices, send_due
from tests.acceptance.worker.test_worker import statuses, until, working
from tests.company import PEOPLE, SmallCompany
from tests.contract.slack_workspace import press, running_workspace
from tests.mails import read_mail, text_of
from tests.notifying import notify_all
from tests.serving import running_server, server_settings

from tocsin.catalogue.changes import announce, answer_request, withdraw_request
from tocsin.clock import SystemClock
from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.links.answer import AnswerLink, link_of
from tocsin.jobs.change_requests import ChangeRequestsJob
from tocsin.model.change_request import AnnouncedChange, Basis, ChangeAnnouncement, ChangeAnswer, ChangeConsumer
from tocsin.store.catalogue.changes.requests import ChangeRequestLog

ABOUT_REQUESTS = "matchAnyEventType({'changeRequestUpdated','changeRequestReminder'})"
_DAY_MS = 86_400_000
TO_ADDRESS = {"category": "External", "type": "Email", "config": {"receivers": ["list@example.com"]}}
PAGE = f"{BASE}/#/changes/CR-1"
READY = ChangeAnswer.model_validate({"answer": "ready"})
TOKEN_IN_MAIL = re.compile(rf"{BASE}/api/v1/answer/([\w.-]+)")


def asking_company(
    engine: Engine, *destinations: dict[str, Any], asks: tuple[str, ...] = (), days_ago: int = 0
) -> tuple[SmallCompany, AnnouncedChange]:
    """Return a company and a request of Ana's about orders, so many days ago, that asks Dia, who owns what reads it.

    It ``asks`` for these tables and people as well: Dia owns ``costs``, the team of Ana and Ben ``clean``.
    """
    company = SmallCompany(engine)
    company.clock.advance(SystemClock().now_ms() - days_ago * _DAY_MS - company.clock.now_ms())
    company.alert("Changes", list(destinations), ABOUT_REQUESTS, poll_interval_s=0)
    company.table("costs", owners=[{"type": "user", "name": "dia"}])
    company.table("clean", owners=[{"type": "team", "name": "shop"}])
    consumers = [consumer(company, name) for name in ("revenue", *asks)]
    removal = {"entity": {}, "kind": "removal", "column": "email", "why": "unused"}
    work = partial(
        announce,
        announcement=ChangeAnnouncement.model_validate(removal | {"date": company.clock.now_ms() + 30 * _DAY_MS}),
        asset_key=("table", company.ids["orders"]),
        consumers=consumers,
    )
    request = company.writes.within(work, actor=company.actor("ana"))
    assert notify_all(engine, now_ms=company.clock.now_ms()) > 0
    return company, request


def consumer(company: SmallCompany, name: str) -> ChangeConsumer:
    """Return a person who follows orders, or a table that reads it, as a consumer."""
    if name in PEOPLE:
        return ChangeConsumer(company.ids[name], "user", 0, Basis.FOLLOW)
    return ChangeConsumer(company.ids[name], "table", 1, Basis.ASSET)


def answer_for(company: SmallCompany, request: AnnouncedChange, name: str, *, who: str) -> None:
    company.clock.advance(1_000)
    ids = [company.ids[name]]
    work = partial(answer_request, request_id=request.id, answer=READY, consumer_ids=ids)
    company.writes.within(work, actor=company.actor(who))


async def test_a_mail_to_a_person_who_is_asked_has_the_link_of_that_person_and_no_other_mail_has_one(
    store_engine: Engine,
) -> None:
    mailbox = Mailbox()
    to_people = [{"category": category, "type": "Email"} for category in ("Assignees", "Owners")]
    company, request = asking_company(store_engine, *to_people, TO_ADDRESS, asks=("cem",))
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(store_engine, senders={"Email": channel}, **LINKS),
    ):
        await until(lambda: len(mailbox.mails) == 4)
    mails = {receiver: read_mail(content) for (receiver,), content in mailbox.mails}
    links = {
        receiver.partition("@")[0]: {
            link._replace(notification_id="")
            for token in TOKEN_IN_MAIL.findall(text_of(mail, kind))
            if (link := link_of(token, b"key")) is not None and link.notification_id
        }
        for receiver, mail in mails.items()
        for kind in ("plain", "html")
    }
    links_of_asked = {name: {AnswerLink(company.ids[name], request.id)} for name in ("cem", "dia")}
    assert links == {"ben": set(), "list": set(), **links_of_asked}
    whys = {
        name: why
        for name, why in (("dia", "you own revenue, which reads orders (alert"), ("cem", "you follow it (alert"))
        if why in text_of(mails[f"{name}@example.com"], "plain")
    }
    assert whys.keys() == {"dia", "cem"}
    pages = {receiver.partition("@")[0] for receiver, mail in mails.items() if PAGE in text_of(mail)}
    assert pages == {"ben", "list"}, "who is not asked may look at it"
    commands = {
        name: "changes answer" if "changes answer" in text_of(mail, "plain") else "changes show"
        for receiver, mail in mails.items()
        for name in [receiver.partition("@")[0]]
    }
    assert commands == {"cem": "changes answer", "dia": "changes answer", "ben": "changes show", "list": "changes show"}


async def test_the_mail_that_announces_a_request_withdrawn_since_says_so_without_a_link_to_answer(
    sqlite_engine: Engine,
) -> None:
    mailbox = Mailbox()
    company, request = asking_company(sqlite_engine, {"category": "Assignees", "type": "Email"})
    withdraw = partial(withdraw_request, request_id=request.id, comment="you are right")
    company.writes.within(withdraw, actor=company.actor("ana"))
    notify_all(sqlite_engine, now_ms=company.clock.now_ms())
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(sqlite_engine, senders={"Email": channel}, **LINKS),
    ):
        await until(lambda: len(mailbox.mails) == 2)
    texts = sorted(text_of(read_mail(content), "plain") for _, content in mailbox.mails)
    assert [("CR-1 announced" in text, "Since then: withdrawn" in text) for text in texts] == [
        (True, True),
        (False, False),
    ]
    assert not any(TOKEN_IN_MAIL.findall(text) or "changes answer" in text for text in texts)


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
        with running_server(sqlite_engine, server_settings(slack_api_url=f"{slack.url}/api")) as server:
            at_s = server.app.state.parts.clock.now_ms() // 1000
            body, headers = press(token, "UDIA", secret=SECRET, at_s=at_s, response_url=f"{slack.url}/reply")
            with server.client() as nobody:
                assert nobody.post("/slack/interactions", content=body, headers=headers).status_code == 200
            assert slack.next_told() == "Your answer to CR-1 is recorded, for 1 consumer: We are ready."
    counts = ChangeRequestLog(sqlite_engine).verdicts([request.id])[request.id]
    assert counts == {"ready": 1}


@pytest.mark.parametrize(
    ("meanwhile", "reminded"),
    [
        ("nothing", {"ana", "ben", "cem", "dia", "list"}),
        ("dia answers for revenue", {"ana", "ben", "cem", "dia", "list"}),
        ("ben answers for clean", {"cem", "dia", "list"}),
        ("all answer", set()),
        ("withdrawn", set()),
        ("its date comes", set()),
    ],
)
async def test_a_reminder_that_waited_is_sent_to_those_alone_who_are_still_asked(
    store_engine: Engine, meanwhile: str, reminded: set[str]
) -> None:
    mailbox = Mailbox()
    days_ago = 31 if meanwhile == "its date comes" else 8
    to_people = {"category": "Assignees", "type": "Email"}
    asks = ("costs", "clean", "cem")
    company, request = asking_company(store_engine, to_people, TO_ADDRESS, asks=asks, days_ago=days_ago)
    company.clock.advance(7 * _DAY_MS)
    assert ChangeRequestsJob(store_engine, company.clock).look() == 1
    assert notify_all(store_engine, now_ms=company.clock.now_ms()) == 5
    match meanwhile.split():
        case ["all", "answer"]:
            for name in ("revenue", *asks):
                answer_for(company, request, name, who="cem")
        case [who, "answers", "for", name]:
            answer_for(company, request, name, who=who)
        case ["withdrawn"]:
            work = partial(withdraw_request, request_id=request.id, comment=None)
            company.writes.within(work, actor=company.actor("ana"))
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
        working(store_engine, senders={"Email": channel}, **LINKS),
    ):
        await until(lambda: statuses(store_engine).keys() <= {"delivered", "failed"})
    reminders = [(to, read_mail(content)["Subject"]) for (to,), content in mailbox.mails]
    assert {to.partition("@")[0] for to, subject in reminders if "still open" in subject} == reminded
