"""Tests of mails that several alerts share: none of them decides for the others whether, how often or what is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import Engine, select, update
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_worker import statuses, until, working
from tests.company import destination_id
from tests.mails import read_mail, text_of
from tests.notifying import notify_all
from tests.store.test_access import Small

from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel, SubscriptionState
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import message, notification
from tocsin.store.outbox.records import Records
from tocsin.store.outbox.status import DestinationStatuses

OPERATORS = "ops@example.org"
AGAIN = "451 try again later"


class Shared:
    """Two alerts for the operators: ``a`` comes first and is bert's, who may not see ``tills``; ``z`` is an admin's."""

    def __init__(self, engine: Engine, *, retries: int = 3, table: str = "tills") -> None:
        self.engine, self.small = engine, Small(engine)
        self.small.make("user", "root", email="root@example.org", isAdmin=True)
        self.ids = {"a": self.alert("a", "bert", retries=retries), "z": self.alert("z", "root", retries=3)}
        owners = [{"type": "team", "id": self.small.ids["Tills"]}] if table == "tills" else []
        self.small.table(table, owners=owners)
        notify_all(engine)

    def alert(self, name: str, maker: str, **fields: object) -> str:
        to = {"id": destination_id(name), "category": "External", "type": "Email", "config": {"receivers": [OPERATORS]}}
        request = {"name": name, "alertType": "Notification", "destinations": [to], **fields}
        request["filteringRules"] = {"resources": ["table"]}
        written = self.small.company.writes.create("eventsubscription", request, actor=self.actor(maker))
        return str(written.document["id"])

    def actor(self, name: str) -> Actor:
        return Actor(self.small.ids[name], name)

    def delete(self, name: str) -> None:
        self.small.company.writes.delete("eventsubscription", Key.by_id(self.ids[name]), actor=SYSTEM, hard=True)

    def try_again(self) -> None:
        with writing(self.engine) as connection:
            connection.execute(update(message).values(due_at_ms=0))

    def alerts_named(self) -> list[list[str]]:
        """Return, by notification, the alerts that its stored reasons name."""
        with reading(self.engine) as connection:
            ids = list(connection.execute(select(notification.c.id)).scalars())
        message_records = Records(self.engine).by_id(ids).values()
        return [[reason.subscription_name for reason in one.notification.reasons] for one in message_records]


@asynccontextmanager
async def mailing(engine: Engine, mailbox: Mailbox) -> AsyncIterator[None]:
    """Run a worker that sends mail to ``mailbox`` while the context lasts."""
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port, timeout_s=5.0), SENDER) as channel,
        working(engine, senders={Channel.EMAIL: channel}),
    ):
        yield


def mail_texts(mailbox: Mailbox) -> list[str]:
    """Return the text of every mail that came."""
    return [text_of(read_mail(content)) for _, content in mailbox.mails]


async def test_an_alert_of_somebody_who_may_not_see_it_keeps_no_mail_of_others_back(sqlite_engine: Engine) -> None:
    shared, mailbox = Shared(sqlite_engine), Mailbox()
    assert shared.alerts_named() == [["z"]]
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert "alert z" in text
    assert "alert a" not in text


async def test_what_a_policy_hides_from_one_alerts_editor_later_still_goes_out_for_the_other(
    sqlite_engine: Engine,
) -> None:
    shared_mail, mailbox = Shared(sqlite_engine, table="free"), Mailbox()
    assert shared_mail.alerts_named() == [["a", "z"]]
    owners = [{"op": "add", "path": "/owners", "value": [{"type": "team", "id": shared_mail.small.ids["Tills"]}]}]
    shared_mail.small.company.writes.patch("table", Key.by_name("pg.shop.public.free"), owners, actor=SYSTEM)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert ("alert z" in text, "alert a" in text) == (True, False)
    drops = dropped_reasons(sqlite_engine)
    assert drops == [("a", "mayNotView", "a policy hides it from an editor of the alert, who could read what is sent")]
    standings = {
        name: DestinationStatuses(sqlite_engine).of([alert]).get(alert, {}) for name, alert in shared_mail.ids.items()
    }
    assert standings["a"] == {}
    assert [one.delivered_count for one in standings["z"].values()] == [1]


async def test_a_mail_has_the_retries_of_the_most_patient_of_its_alerts(sqlite_engine: Engine) -> None:
    shared, mailbox = Shared(sqlite_engine, retries=0, table="free"), Mailbox(rcpt=AGAIN)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) != {"pending": 1})
        assert statuses(sqlite_engine) == {"awaitingRetry": 1}
    shared.delete("z")
    shared.try_again()
    async with mailing(sqlite_engine, mailbox):  # what remains is the alert without retries
        await until(lambda: statuses(sqlite_engine) == {"retryLimitReached": 1})


@pytest.mark.parametrize("leaves", ["deleted", "disabled", "its destination disabled"])
async def test_what_becomes_of_one_alert_does_not_stop_the_mail_that_waits(sqlite_engine: Engine, leaves: str) -> None:
    shared_mail, mailbox = Shared(sqlite_engine, table="free"), Mailbox(rcpt=AGAIN)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"awaitingRetry": 1})
    if leaves == "deleted":
        shared_mail.delete("a")
    else:
        path = "/enabled" if leaves == "disabled" else "/destinations/0/enabled"
        off = [{"op": "add", "path": path, "value": False}]
        shared_mail.small.company.writes.patch("eventsubscription", Key.by_id(shared_mail.ids["a"]), off, actor=SYSTEM)
    shared_mail.try_again()
    open_again = Mailbox()
    async with mailing(sqlite_engine, open_again):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(open_again)
    assert ("alert z" in text, "alert a" in text) == (True, False)
    says = {
        "deleted": "the alert or its destination no longer exists",
        "disabled": "the alert is disabled",
        "its destination disabled": "the destination is disabled",
    }
    assert dropped_reasons(sqlite_engine) == [("a", "disabled", says[leaves])]
    states = [
        standing.status
        for standing in DestinationStatuses(sqlite_engine).of([shared_mail.ids["z"]])[shared_mail.ids["z"]].values()
    ]
    assert states == [SubscriptionState.ACTIVE]


async def test_nothing_goes_out_when_no_alert_may_send_it_any_more(sqlite_engine: Engine) -> None:
    shared, mailbox = Shared(sqlite_engine, table="free"), Mailbox()
    for name in ("a", "z"):
        shared.delete(name)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert mailbox.mails == []
    assert [one[:2] for one in dropped_reasons(sqlite_engine)] == [("a", "disabled"), ("z", "disabled")]


def dropped_reasons(engine: Engine) -> list[tuple[str, str, str]]:
    """Return the reasons that the last attempt at the one mail left out, each with why."""
    with reading(engine) as connection:
        (noted,) = connection.execute(select(notification.c.id)).scalars()
    record = Records(engine).by_id([noted])[noted]
    assert record.message is not None
    return [(one.reason.subscription_name, one.because.value, one.says) for one in record.message.attempts[-1].dropped]
