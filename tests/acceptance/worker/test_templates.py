"""Tests of alerts with a template: it words mails and Slack messages, and a broken one leaves the default text."""

from __future__ import annotations

import json

from sqlalchemy import Engine, select, update
from tests.acceptance.worker.chat_receivers import listening
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_slack import Workspace, sender_of, slack
from tests.acceptance.worker.test_worker import statuses, until, working
from tests.company import SmallCompany
from tests.mails import read_mail, text_of
from tests.notifying import notify_all

from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.model.notification_record import NotificationRecord
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import attempt, entity, notification
from tocsin.store.outbox.records import Records

MAIL = {"category": "External", "type": "Email", "config": {"receivers": ["ops@example.org"]}}
SUBJECT = "{{event.userName}} touched {{entity.name}}"
BODY = '<p>See <a href="{{link}}"><b>{{entity.name}}</b></a> &amp; {{entity.description}}</p>'


class Sent:
    """An alert by mail and in Slack that ``dia`` causes by a description, and what arrived."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.company = engine, SmallCompany(engine)
        self.mailbox, self.workspace = Mailbox(), Workspace()

    async def send(self, template: str | None, description: str = "<b>new</b>") -> None:
        """Change the description of ``orders``, and send what follows."""
        async with (
            listening(self.workspace.post) as url,
            mail_server(self.mailbox) as port,
            HttpRequests(egress_of(("127.0.0.0/8",))) as requests,
            EmailSender(MailServer("127.0.0.1", port, timeout_s=5.0), SENDER) as mails,
        ):
            self.company.alert("both", [MAIL, slack(url)], "fieldChanged == 'description'", poll_interval_s=0)
            self.assign(template)
            notify_all(self.engine)
            self.company.describe("orders", description)
            notify_all(self.engine)
            senders = {"Email": mails, "Slack": sender_of(requests)}
            async with working(self.engine, senders=senders, base_url="https://tocsin.example.org"):
                await until(lambda: statuses(self.engine) == {"delivered": 2})

    def assign(self, template: str | None) -> None:
        if template is None:
            return
        patch = [
            {"op": "add", "path": "/notificationTemplate", "value": {"id": template, "type": "notificationTemplate"}}
        ]
        self.company.writes.patch("eventsubscription", self.company.key("both"), patch, actor=SYSTEM)

    def template(self, body: str = BODY) -> str:
        request = {"name": "Short", "templateSubject": SUBJECT, "templateBody": body}
        return str(self.company.put("notificationTemplate", request)["id"])

    def mail(self) -> tuple[str, str, str]:
        """Return subject, text and HTML of the only mail."""
        ((_, content),) = self.mailbox.mails
        mail = read_mail(content)
        return str(mail["Subject"]), text_of(mail), text_of(mail, "html")

    def errors(self) -> list[str]:
        with reading(self.engine) as connection:
            return list(connection.execute(select(attempt.c.template_error)).scalars())


def records(engine: Engine) -> list[NotificationRecord]:
    with reading(engine) as connection:
        ids = list(
            connection.execute(select(notification.c.id).where(notification.c.message_id.is_not(None))).scalars()
        )
    return list(Records(engine).by_id(ids).values())


async def test_a_template_words_the_mail_and_the_slack_message(store_engine: Engine) -> None:
    sending = Sent(store_engine)
    await sending.send(sending.template())
    subject, text, html = sending.mail()
    link = f"https://tocsin.example.org/#/tables/{sending.company.ids['orders']}"
    assert subject == "dia touched orders"
    assert f"See orders ({link}) & <b>new</b>" in text
    assert (
        f'See <a class="link" href="{link}" style="color: #3b5bdb"><b>orders</b></a> &amp; &lt;b&gt;new&lt;/b&gt;'
        in html
    )
    assert "You receive this because" in text
    assert "description" not in text
    (message,) = sending.workspace.messages
    assert message["text"] == "dia touched orders"
    elements = message["blocks"][1]["elements"][0]["elements"]
    assert elements[:3] == [
        {"type": "text", "text": "See "},
        {"type": "link", "url": link, "text": "orders", "style": {"bold": True}},
        {"type": "text", "text": " & \u2039b\u203anew\u2039/b\u203a\n"},
    ]
    assert sending.errors() == ["", ""]


async def test_a_template_that_fails_leaves_the_default_text_and_the_attempt_says_so(store_engine: Engine) -> None:
    sent = Sent(store_engine)
    await sent.send(sent.template("{{#each @root}}{{#each @root}}{{@root}}{{/each}}{{/each}}"), "long " * 2_000)
    assert sent.mail()[0] == "orders: description added"
    assert sent.workspace.messages[0]["text"] == "orders: description added"
    says = {error.partition(": Line ")[0] for error in sent.errors()}
    assert says == {"template Short: templateBody"}
    assert all(error.endswith("; the default text was used") for error in sent.errors())
    messages = [record.message for record in records(store_engine)]
    errors = {one.template_error for carrier in messages if carrier is not None for one in carrier.attempts}
    assert errors == set(sent.errors())


async def test_a_template_that_is_gone_leaves_the_default_text(sqlite_engine: Engine) -> None:
    sent = Sent(sqlite_engine)
    template = sent.template()
    sent.company.alert("both", [MAIL], "fieldChanged == 'description'")
    sent.assign(template)
    with writing(sqlite_engine) as connection:  # no request could: alerts use it
        connection.execute(update(entity).where(entity.c.id == template).values(deleted=True))
    await sent.send(None)
    assert sent.mail()[0] == "orders: description added"
    assert sent.errors() == ["template Short no longer exists; the default text was used"] * 2


async def test_a_system_template_words_messages_once_it_is_changed(sqlite_engine: Engine) -> None:
    sent = Sent(sqlite_engine)
    name = "system-notification-entity-updated"
    request = {"name": name, "templateSubject": "{{headline}}", "templateBody": "<p>x</p>", "provider": "system"}
    sent.company.put("notificationTemplate", request)
    patch = [{"op": "replace", "path": "/templateSubject", "value": "House style: {{entity.name}}"}]
    sent.company.writes.patch("notificationTemplate", Key.by_name(name), patch, actor=SYSTEM)
    await sent.send(None)
    assert sent.mail()[0] == "House style: orders"
    assert json.dumps(sent.workspace.messages[0]["text"]) == '"House style: orders"'
