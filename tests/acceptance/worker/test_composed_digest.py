"""Tests of digests that Spark's tasks composed ahead: sent as they are, or written anew if anything has changed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from uuid import uuid4

import orjson
import pyarrow as pa
import pytest
import structlog
from sqlalchemy import Engine, select, update
from tests.acceptance.worker.test_digest import HOUR_MS, OWNERS_BY_MAIL, Hourly
from tests.acceptance.worker.test_email_channel import Mailbox, mail_server
from tests.acceptance.worker.test_merged import mail_texts
from tests.acceptance.worker.test_worker import statuses, until, working
from tests.notifying import notify_all
from tests.unit.delivery.events import dispatch

from tocsin.clock import SystemClock
from tocsin.delivery.channels.email.composed import NOT_OF_THE_WORDS, OF_THE_WORDS, composition_key, texts_of
from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.mails import MailSettings
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.delivery.dispatch import CauseThread, ComposedContent, Dispatch
from tocsin.flow.eventlog.differences import compress_snapshot
from tocsin.jobs import digest_composer
from tocsin.jobs.digests import ComposeDigests
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.change_kinds import Frequency
from tocsin.model.erasure import PersonalIdentity
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import Preferences
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.people.identities import People, unsubscribe_key
from tocsin.store.database.alert_tables import composed_digest
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import message
from tocsin.store.outbox.composed_digests import ComposedDigests
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.mutes import Mutes
from tocsin.store.upkeep.erasure.rewriting import Rewriting

BASE_URL = "http://127.0.0.1:8585"
AHEAD = "composed ahead of its time"
DATE = re.compile(rb"^Date: .*\r\n", re.MULTILINE)


@asynccontextmanager
async def mailing(engine: Engine, mailbox: Mailbox) -> AsyncIterator[None]:
    """Run a worker that sends mail with links to unsubscribe to ``mailbox``."""
    settings = MailSettings("tocsin@acme.example", BASE_URL, unsubscribe_key(People(engine)))
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port, timeout_s=5.0), settings) as channel,
        working(engine, senders={Channel.EMAIL: channel}),
    ):
        yield


def compose(engine: Engine, *, base_url: str = BASE_URL, size: int = 100) -> int:
    """Do what Spark's tasks do with all that is due by now; return how many digests they stored."""
    now_ms = SystemClock().now_ms()
    store = StoreAddress(engine.url.render_as_string(hide_password=False), "NORMAL")
    shares = [one._asdict() for one in ComposedDigests(engine).shares(0, now_ms, size)]
    work = ComposeDigests(store, base_url, now_ms)
    batches = (pa.RecordBatch.from_pylist([share]) for share in shares)
    return sum(row["composed"] for one in work(batches) for row in one.to_pylist())


def stored_words(engine: Engine) -> dict[str, str]:
    """Return the text of what was composed, by message."""
    with reading(engine) as connection:
        composed_rows = connection.execute(select(composed_digest)).all()
    return {row.message_id: str(texts_of(ComposedContent(row.basis, row.content))["text"]) for row in composed_rows}


def mark_words(engine: Engine) -> None:
    """Let what was composed say so, under the same key, so that a mail shows whether it is of it."""
    with writing(engine) as connection:
        for row in connection.execute(select(composed_digest)).all():
            texts = texts_of(ComposedContent(row.basis, row.content)) | {"text": f"{AHEAD}\n"}
            content = compress_snapshot(orjson.dumps(texts))
            connection.execute(update(composed_digest).values(content=content))


async def sent_mail(engine: Engine) -> bytes:
    mailbox = Mailbox()
    async with mailing(engine, mailbox):
        await until(lambda: statuses(engine) == {"delivered": 1})
    ((_, content),) = mailbox.mails
    return DATE.sub(b"", content)


async def test_a_worker_sends_the_words_that_were_composed_ahead(store_engine: Engine) -> None:
    Hourly(store_engine, OWNERS_BY_MAIL)
    assert compose(store_engine) == 1
    assert compose(store_engine) == 0, "it has its words"
    mark_words(store_engine)
    mailbox = Mailbox()
    async with mailing(store_engine, mailbox):
        await until(lambda: statuses(store_engine) == {"delivered": 1})
    assert [AHEAD in text for text in mail_texts(mailbox)] == [True]
    assert ComposedDigests(store_engine).forget_sent(SystemClock().now_ms()) == 1
    assert stored_words(store_engine) == {}


async def test_a_mail_is_the_same_to_the_byte_whether_it_was_composed_ahead_or_not(sqlite_engine: Engine) -> None:
    Hourly(sqlite_engine, OWNERS_BY_MAIL)
    at_once = await sent_mail(sqlite_engine)
    with writing(sqlite_engine) as connection:
        connection.execute(update(message).values(status="pending", attempt_count=0, lease_owner=None))
        connection.exec_driver_sql("DELETE FROM attempt")
    assert compose(sqlite_engine) == 1
    assert await sent_mail(sqlite_engine) == at_once
    assert b"Unsubscribe" in at_once


def mute(hourly: Hourly) -> None:
    Mutes(hourly.company.engine).put(Mute(hourly.company.ids["dia"], MuteKind.ASSET, hourly.company.ids["orders"]))


def hear_no_more(hourly: Hourly) -> None:
    never = Preferences(categories={"deletion": Frequency.NEVER}, timezone="Asia/Kolkata")
    SqlPreferences(hourly.company.engine).put(hourly.company.ids["dia"], never, now_ms=1)


def shut_orders(hourly: Hourly) -> None:
    """Hide the description of orders' owner: a policy denies tables with a label, which orders gets."""
    company = hourly.company
    company.put("classification", {"name": "PII", "description": "x"})
    company.put("tag", {"name": "Secret", "classification": "PII", "description": "x"})
    rule = {"name": "Shut", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]}
    allowance = {"name": "Open", "effect": "allow", "operations": ["ViewAll"], "resources": ["all"]}
    company.put("policy", {"name": "Shut", "rules": [allowance, rule | {"condition": "matchAnyTag('PII.Secret')"}]})
    company.put("role", {"name": "Shut", "policies": ["Shut"]})
    patch = [{"op": "add", "path": "/roles", "value": [{"id": company.ids["Shut"], "type": "role"}]}]
    company.writes.patch("user", Key.by_id(company.ids["dia"]), patch, actor=SYSTEM)
    label = {"tagFQN": "PII.Secret", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    labelled = [{"op": "add", "path": "/tags", "value": [label]}]
    company.writes.patch("table", Key.by_id(company.ids["orders"]), labelled, actor=SYSTEM)


def add_change(hourly: Hourly) -> None:
    hourly.company.describe("revenue", "text 9", by="cem")
    notify_all(hourly.company.engine, now_ms=hourly.found_ms)


def call_dia(hourly: Hourly) -> None:
    """Let the author of the changes have another name by now."""
    patch = [{"op": "add", "path": "/displayName", "value": "Cem the Great"}]
    hourly.company.writes.patch("user", Key.by_id(hourly.company.ids["cem"]), patch, actor=SYSTEM)


def guide(hourly: Hourly) -> None:
    hourly.patch("/batchSize", 1)


@pytest.mark.parametrize("change", [mute, hear_no_more, shut_orders, add_change, call_dia, guide])
async def test_words_that_are_not_of_now_are_never_sent(
    sqlite_engine: Engine, change: Callable[[Hourly], None]
) -> None:
    """Fault scenario 87: rights, mutes, preferences, names and alerts change after a digest was composed."""
    hourly, mailbox = Hourly(sqlite_engine, OWNERS_BY_MAIL), Mailbox()
    assert compose(sqlite_engine) == 1
    mark_words(sqlite_engine)
    change(hourly)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine)["delivered"] >= 1)
    assert AHEAD not in mail_texts(mailbox)[0]
    assert "now: text" in mail_texts(mailbox)[0]


async def test_what_is_muted_as_a_whole_is_not_sent_though_it_was_composed(sqlite_engine: Engine) -> None:
    hourly, mailbox = Hourly(sqlite_engine, OWNERS_BY_MAIL), Mailbox()
    assert compose(sqlite_engine) == 1
    Mutes(sqlite_engine).put(Mute(hourly.company.ids["dia"], MuteKind.ALERT, hourly.alert))
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert mailbox.mails == []


async def test_words_are_of_one_address_of_the_server_and_damaged_ones_are_written_anew(sqlite_engine: Engine) -> None:
    Hourly(sqlite_engine, OWNERS_BY_MAIL)
    assert compose(sqlite_engine) == 1
    with writing(sqlite_engine) as connection:
        connection.execute(update(composed_digest).values(content=b"nonsense"))
    assert b"now: text 0" in await sent_mail(sqlite_engine)
    with reading(sqlite_engine) as connection:
        due_ms = connection.scalar(select(composed_digest.c.due_at_ms))
    with writing(sqlite_engine) as connection:
        connection.execute(composed_digest.delete())
        connection.execute(update(message).values(status="pending", attempt_count=0, lease_owner=None))
        connection.exec_driver_sql("DELETE FROM attempt")
    assert compose(sqlite_engine, base_url="https://other.example.org") == 1
    mark_words(sqlite_engine)
    assert AHEAD.encode() not in await sent_mail(sqlite_engine)
    assert due_ms is not None
    assert due_ms % HOUR_MS == 0


def test_an_erasure_removes_what_was_composed(store_engine: Engine) -> None:
    Hourly(store_engine, OWNERS_BY_MAIL)
    assert compose(store_engine) == 1
    nobody = PersonalIdentity(str(uuid4()), frozenset({"nobody at all"}), frozenset())
    list(Rewriting(store_engine, nobody, is_dry=True).run())
    assert len(stored_words(store_engine)) == 1
    list(Rewriting(store_engine, nobody).run())
    assert stored_words(store_engine) == {}
    assert compose(store_engine) == 1, "composed again, of what is left"


def test_a_claimed_message_is_left_to_its_worker_and_a_single_notification_as_well(sqlite_engine: Engine) -> None:
    Hourly(sqlite_engine, OWNERS_BY_MAIL, changes=1)
    assert compose(sqlite_engine) == 0
    Hourly(sqlite_engine, OWNERS_BY_MAIL)
    with writing(sqlite_engine) as connection:
        connection.execute(update(message).values(lease_owner="worker"))
    assert compose(sqlite_engine) == 0


def test_every_field_of_a_dispatch_is_in_the_key_or_does_not_matter_to_the_words() -> None:
    names = {one.name for one in fields(Dispatch)}
    assert names == {*OF_THE_WORDS, *NOT_OF_THE_WORDS, "entries", "buttons", "read_only", "cause_thread"}


def test_a_headline_that_says_more_is_of_other_words_than_one_that_does_not() -> None:
    single = dispatch()
    later = replace(single, cause_thread=CauseThread("m"))
    assert composition_key(single, BASE_URL) != composition_key(later, BASE_URL)


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"[]", b"{}", b'{"subject": "x", "text": "y", "html": 5}', b"\xff"]
)
async def test_words_that_are_none_are_written_anew_although_they_were_stored_whole(
    sqlite_engine: Engine, content: bytes
) -> None:
    Hourly(sqlite_engine, OWNERS_BY_MAIL)
    assert compose(sqlite_engine) == 1
    with writing(sqlite_engine) as connection:
        connection.execute(update(composed_digest).values(content=compress_snapshot(content)))
    assert b"now: text 0" in await sent_mail(sqlite_engine)


def test_a_digest_that_cannot_be_composed_says_so_in_no_words_of_its_own(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs of Spark's executors are shown to others than its reader, in the form that structlog has by itself."""

    def fail(worded: Dispatch, _base_url: str) -> ComposedContent:
        raise ValueError(f"cannot word {worded.event.as_wire()}")

    monkeypatch.setattr(digest_composer, "compose_ahead", fail)
    Hourly(sqlite_engine, OWNERS_BY_MAIL)
    with structlog.testing.capture_logs() as logs:
        assert compose(sqlite_engine) == 0
    (line,) = logs
    assert line.keys() == {"event", "message", "error", "log_level"}
    assert line["error"] == "ValueError"
