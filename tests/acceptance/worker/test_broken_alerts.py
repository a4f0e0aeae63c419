"""Tests of the whole path of a destination that is gone: stopped, its owners mailed, resumed, and nothing lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sqlalchemy import Engine, select
from tests.acceptance.worker.senders import webhook_sender
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_worker import LIMITS, Receiver, receiver, statuses, until, working
from tests.company import SmallCompany
from tests.mails import read_mail, text_of
from tests.notifying import notify_all

from tocsin.clock import SystemClock
from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.server.bootstrap import ACTIVITY_FEED_ALERT, BROKEN_ALERTS
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, message, notification
from tocsin.store.outbox.status import DestinationStatuses

__all__ = ["receiver"]


def company_with(engine: Engine, endpoint: str) -> tuple[SmallCompany, str]:
    """Return a company with the default alerts, and the id of dia's alert that posts to ``endpoint``."""
    company = SmallCompany(engine)
    company.put("user", {"name": "root", "email": "root@example.com", "isAdmin": True})
    for alert in (ACTIVITY_FEED_ALERT, BROKEN_ALERTS):
        company.writes.create("eventsubscription", alert, actor=SYSTEM)
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": endpoint}}
    alert_id = company.alert("to ops", [hook], "fieldChanged == 'description'", resources=("table",))
    owners = [{"op": "add", "path": "/owners", "value": [{"id": company.ids["dia"], "type": "user"}]}]
    company.writes.patch("eventsubscription", Key.by_id(alert_id), owners, actor=SYSTEM)
    notify_all(engine)
    return company, alert_id


def recipients_of(engine: Engine, kind: str) -> Counter[tuple[str, str]]:
    """Return channel and recipient of the notifications of a type of event."""
    query = select(notification.c.channel, notification.c.recipient, notification.c.log_offset)
    joined = query.join(change_event, change_event.c.log_offset == notification.c.log_offset)
    with reading(engine) as connection:
        notification_rows = connection.execute(joined.where(change_event.c.event_type == kind))
        return Counter((row.channel, row.recipient) for row in notification_rows)


async def test_who_owns_an_alert_is_mailed_that_its_receiver_is_gone_and_what_waits_is_sent_later(
    store_engine: Engine, receiver: Receiver
) -> None:
    company, alert = company_with(store_engine, receiver.url + "/status/410")
    for number in range(3):
        company.describe("orders", f"text {number}", by="cem")
    notify_all(store_engine)
    mailbox = Mailbox()
    async with (
        mail_server(mailbox) as port,
        webhook_sender(egress_of(("127.0.0.0/8",))) as webhook,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as email,
        working(
            store_engine,
            replace(LIMITS, lease_s=3.0),
            senders={Channel.WEBHOOK: webhook, Channel.EMAIL: email},
        ),
    ):
        await until(lambda: is_reported(store_engine, alert))
        notify_all(store_engine)
        await until(lambda: bool(mailbox.mails))
        ids = open_message_ids(store_engine, alert)
        (destination,) = DestinationStatuses(store_engine).of([alert]).get(alert, {})
        (subject, text) = only_mail(mailbox)
        assert subject.startswith("alert to ops: Webhook http://127.0.0.1")
        assert subject.endswith(" stopped")
        assert "messages wait until it is resumed" in " ".join(text.split())
        assert len(ids) == 3
        elsewhere = [{"op": "replace", "path": "/destinations/0/config/endpoint", "value": receiver.url + "/hook"}]
        company.writes.patch("eventsubscription", Key.by_id(alert), elsewhere, actor=SYSTEM)
        DestinationStatuses(store_engine).resume(alert, destination, now_ms=SystemClock().now_ms())
        await until(lambda: not open_message_ids(store_engine, alert))
    assert sorted(receiver.ids("/hook")) == sorted(ids)
    assert set(statuses(store_engine)) == {"delivered"}
    assert recipients_of(store_engine, "destinationStopped") == {
        ("Email", "dia@example.com"): 1,
        ("ActivityFeed", company.ids["dia"]): 1,
        ("ActivityFeed", company.ids["root"]): 1,
    }
    assert DestinationStatuses(store_engine).unreported_failures() == []


def is_reported(engine: Engine, alert: str) -> bool:
    streaks = [one.failing for one in DestinationStatuses(engine).of([alert]).get(alert, {}).values()]
    return any(one.is_stopped and one.reported_percent == one.percent for one in streaks)


def open_message_ids(engine: Engine, alert: str) -> list[str]:
    query = select(message.c.id).where(message.c.subscription_id == alert, message.c.status != "delivered")
    with reading(engine) as connection:
        return list(connection.execute(query).scalars())


def only_mail(mailbox: Mailbox) -> tuple[str, str]:
    """Return subject and text of the only mail."""
    ((receivers, content),) = mailbox.mails
    assert receivers == ["dia@example.com"]
    mail = read_mail(content)
    return mail["Subject"], text_of(mail)
