"""Tests of scheduled alerts with a real worker: one mail with all notifications, webhooks and bell at the due time."""

from __future__ import annotations

from datetime import UTC, datetime
from email import message_from_bytes, policy
from uuid import uuid4

import pytest
from sqlalchemy import Engine, Row, select
from tests.acceptance.worker.test_email_channel import Mailbox
from tests.acceptance.worker.test_merged import mail_texts, mailing
from tests.acceptance.worker.test_worker import Receiver, receiver, statuses, until, working
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.clock import SystemClock
from tocsin.model.change_kinds import Frequency
from tocsin.model.entity import Document
from tocsin.model.inbox import TabCounts
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import Preferences, Weekday
from tocsin.model.stored import Key
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.records import Records
from tocsin.store.recipients.mutes import Mutes

HOUR_MS = 3_600_000
__all__ = ["receiver"]


class Hourly:
    """A company with an hourly alert for the owner of ``revenue``, whose changes were found two hours ago."""

    def __init__(self, engine: Engine, destination: Document, *, changes: int = 3) -> None:
        self.company = SmallCompany(engine)
        self.alert = self.company.alert("hourly", [destination], "fieldChanged == 'description'")
        self.patch("/trigger", {"triggerType": "Scheduled", "cronExpression": "0 0 * * * ?"})
        self.found_ms = SystemClock().now_ms() - 2 * HOUR_MS
        notify_all(engine, now_ms=self.found_ms)
        for number in range(changes):
            self.company.describe("orders" if number else "revenue", f"text {number}", by="cem")
        notify_all(engine, now_ms=self.found_ms)

    def patch(self, path: str, value: object) -> None:
        operation = [{"op": "add", "path": path, "value": value}]
        self.company.writes.patch("eventsubscription", Key.by_id(self.alert), operation, actor=SYSTEM)

    @property
    def due_ms(self) -> int:
        """Return the full hour after the changes were found."""
        return (self.found_ms // HOUR_MS + 1) * HOUR_MS


OWNERS_BY_MAIL = {"category": "Users", "type": "Email", "config": {"receivers": ["dia"]}}


async def test_a_scheduled_alert_sends_one_mail_that_lists_its_notifications(sqlite_engine: Engine) -> None:
    hourly, mailbox = Hourly(sqlite_engine, OWNERS_BY_MAIL), Mailbox()
    assert statuses(sqlite_engine) == {"pending": 1}
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    ((receivers, content),) = mailbox.mails
    subject = message_from_bytes(content, policy=policy.default)["Subject"]
    assert (receivers, subject) == (["dia@example.com"], "3 changes: revenue, orders")
    assert [f"now: text {number}" in text for number in range(3)] == [True, False, True]
    assert "- description added, changed 2 times" in text
    assert text.count("You receive this because the alert names you (alert hourly).") == 2
    due = {one.message_id for one in _records(sqlite_engine)}
    assert len(due) == 1
    assert {one.due_at_ms for one in _records(sqlite_engine)} == {hourly.due_ms}


async def test_what_was_muted_until_the_digest_goes_out_is_not_in_it(sqlite_engine: Engine) -> None:
    """Fault scenario 36."""
    hourly, mailbox = Hourly(sqlite_engine, OWNERS_BY_MAIL), Mailbox()
    Mutes(sqlite_engine).put(Mute(hourly.company.ids["dia"], MuteKind.ASSET, hourly.company.ids["orders"]))
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert ("text 0" in text, "text 1" in text, "text 2" in text) == (True, False, False)


async def test_what_its_reader_never_wants_by_now_is_not_sent(sqlite_engine: Engine) -> None:
    """Fault scenario 36."""
    hourly, mailbox = Hourly(sqlite_engine, OWNERS_BY_MAIL), Mailbox()
    never = Preferences(categories={"description": Frequency.NEVER})
    SqlPreferences(sqlite_engine).put(hourly.company.ids["dia"], never, now_ms=1)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert mailbox.mails == []
    (tried,) = Records(sqlite_engine).attempts(_records(sqlite_engine)[0].message_id)
    assert (tried.reason, len(tried.dropped)) == ("muted", 3)
    assert tried.detail == (
        "not sent: the recipient never wants to hear of changed descriptions"
        " (to change that: tocsin kinds description --frequency immediate)"
    )


async def test_what_falls_into_its_readers_quiet_times_by_now_waits(sqlite_engine: Engine) -> None:
    hourly, mailbox, now_ms = Hourly(sqlite_engine, OWNERS_BY_MAIL), Mailbox(), SystemClock().now_ms()
    later_day = tuple(Weekday)[(datetime.fromtimestamp(now_ms / 1_000, UTC).weekday() + 3) % 7]
    SqlPreferences(sqlite_engine).put(hourly.company.ids["dia"], Preferences(working_days=(later_day,)), now_ms=1)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: {one.due_at_ms > now_ms for one in _records(sqlite_engine)} == {True})
    (message_id,) = {one.message_id for one in _records(sqlite_engine)}
    assert (mailbox.mails, Records(sqlite_engine).attempts(message_id)) == ([], [])
    SqlPreferences(sqlite_engine).put(hourly.company.ids["dia"], Preferences(), now_ms=now_ms)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    assert mail_texts(mailbox)[0].count("now: text") == 2  # two of three are of one description


@pytest.mark.parametrize(("leaves_out", "counts"), [(True, (0, 1)), (None, (1, 2))])
async def test_what_its_reader_has_read_in_the_app_may_be_left_out(
    store_engine: Engine, leaves_out: bool | None, counts: tuple[int, int]
) -> None:
    hourly, mailbox = Hourly(store_engine, OWNERS_BY_MAIL), Mailbox()
    dia = hourly.company.ids["dia"]
    SqlPreferences(store_engine).put(dia, Preferences(leave_out_read=leaves_out), now_ms=1)
    first = min(_records(store_engine), key=lambda one: one.log_offset)
    with writing(store_engine) as connection:  # as the app has it that shows the first notification, too
        columns = dict(first._mapping) | {"id": str(uuid4()), "channel": "ActivityFeed", "message_id": None}
        connection.execute(notification.insert().values(columns | {"read_at_ms": hourly.found_ms}))
    async with mailing(store_engine, mailbox):
        await until(lambda: statuses(store_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert (text.count("text 0"), text.count("now: ")) == counts
    (attempt,) = Records(store_engine).attempts(str(first.message_id))
    assert [one.because for one in attempt.dropped] == (["handled"] if leaves_out else [])


def make_critical(hourly: Hourly) -> None:
    hourly.company.put("classification", {"name": "Priority", "description": ""})
    hourly.company.put("tag", {"name": "Critical", "classification": "Priority", "description": ""})
    hourly.patch("/tags", [{"tagFQN": "Priority.Critical"}])


async def test_what_is_critical_is_sent_to_whoever_never_wants_it(sqlite_engine: Engine) -> None:
    hourly, mailbox = Hourly(sqlite_engine, OWNERS_BY_MAIL), Mailbox()
    make_critical(hourly)
    SqlPreferences(sqlite_engine).put(hourly.company.ids["dia"], Preferences(frequency=Frequency.NEVER), now_ms=1)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    assert len(mailbox.mails) == 1


@pytest.mark.parametrize("kind", [MuteKind.ALERT, MuteKind.ASSET])
async def test_what_is_critical_is_not_sent_to_whoever_muted_it(sqlite_engine: Engine, kind: MuteKind) -> None:
    hourly, mailbox = Hourly(sqlite_engine, OWNERS_BY_MAIL, changes=1), Mailbox()
    make_critical(hourly)
    about = hourly.alert if kind is MuteKind.ALERT else hourly.company.ids["revenue"]
    Mutes(sqlite_engine).put(Mute(hourly.company.ids["dia"], kind, about))
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert mailbox.mails == []


async def test_a_webhook_gets_each_notification_by_itself_at_the_due_time(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": f"{receiver.url}/hook"}}
    hourly = Hourly(sqlite_engine, hook)
    assert {one.due_at_ms for one in _records(sqlite_engine)} == {hourly.due_ms}
    async with working(sqlite_engine):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 3})
    assert len(set(receiver.ids("/hook"))) == 3


def test_the_bell_shows_them_at_the_due_time(sqlite_engine: Engine) -> None:
    hourly = Hourly(sqlite_engine, {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["dia"]}})
    inbox, dia = Inbox(sqlite_engine), hourly.company.ids["dia"]
    assert inbox.counts(dia, hourly.due_ms - 1) == TabCounts()
    assert inbox.counts(dia, hourly.due_ms) == TabCounts(unread_count=3, unseen_count=3, total_count=3)
    assert statuses(sqlite_engine) == {}


def _records(engine: Engine) -> list[Row[tuple[object, ...]]]:
    with engine.connect() as connection:
        return list(connection.execute(select(notification)))
