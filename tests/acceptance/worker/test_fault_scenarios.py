"""Fault scenarios that no other test shows: from the change to the receiver, with real stores and a real worker.

``docs/faults.md`` lists all scenarios with their numbers and tests.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter

import pytest
from aiohttp import web
from sqlalchemy import Engine, select, update
from tests.acceptance.worker.receivers import LOOPBACK, destination, speaking
from tests.acceptance.worker.senders import webhook_sender
from tests.acceptance.worker.test_digest import OWNERS_BY_MAIL, Hourly
from tests.acceptance.worker.test_email_channel import Mailbox
from tests.acceptance.worker.test_merged import mail_texts, mailing
from tests.acceptance.worker.test_worker import Receiver, receiver, statuses, until, working
from tests.company import PEOPLE, SmallCompany
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.rows import add_messages
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.catalogue.observations.runs import add_runs
from tocsin.clock import SystemClock
from tocsin.delivery.channels.webhook.signature import is_signed
from tocsin.delivery.transport.egress import egress_of
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.message import Delivered
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import attempt, message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

__all__ = ["receiver"]

BY_MAIL = {"category": "Owners", "type": "Email"}
MANY = 1_000 if SOAK else 100
ENTRIES = 30
"""Entries that a mail has of one alert."""


def hook(to: Receiver, path: str = "/hook", **config: object) -> dict[str, object]:
    return {"category": "External", "type": "Webhook", "config": {"endpoint": f"{to.url}{path}", **config}}


def due_now(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(update(message).values(due_at_ms=0))


def counts_by_person(engine: Engine, company: SmallCompany) -> Counter[str]:
    names = {company.ids[name]: name for name in PEOPLE}
    with reading(engine) as connection:
        return Counter(names[one] for one in connection.execute(select(notification.c.recipient_id)).scalars())


def reasons(engine: Engine) -> set[str]:
    with reading(engine) as connection:
        return set(connection.execute(select(attempt.c.reason)).scalars())


@pytest.mark.parametrize("count", [500, 10 * MANY])
def test_waiting_messages_take_no_memory(sqlite_engine: Engine, count: int) -> None:
    """Fault scenario 18."""
    add_messages(sqlite_engine, count)
    messages = Messages(sqlite_engine)
    Sessions(sqlite_engine).begin("worker", lease_ms=90_000, now_ms=NOW_MS)
    tracemalloc.start()
    try:
        claimed = messages.claim("worker", 64, now_ms=NOW_MS + count)
        assert len(messages.dispatches(claimed)) == 64
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_a_proxy_that_is_down_is_not_asked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Fault scenario 24: the egress guard has to see the address, so that of the environment is not used."""
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with (
        speaking(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as url,
        webhook_sender(egress_of(LOOPBACK)) as sender,
    ):
        assert isinstance(await sender.send(dispatch(), destination(url), now_ms=NOW_MS), Delivered)


async def test_one_event_through_five_alerts_and_three_reasons_is_one_mail(sqlite_engine: Engine) -> None:
    """Fault scenario 28."""
    company, mailbox = SmallCompany(sqlite_engine), Mailbox()
    company.writes.follow("table", company.ids["revenue"], company.ids["dia"], actor=company.actor("dia"))
    by_name = {"category": "Users", "type": "Email", "config": {"receivers": ["dia"]}}
    kinds: list[Document] = [BY_MAIL, {"category": "Followers", "type": "Email"}, by_name, BY_MAIL, by_name]
    for number, kind in enumerate(kinds):
        company.alert(f"alert {number}", [kind], "fieldChanged == 'description'", poll_interval_s=0)
    notify_all(sqlite_engine)
    company.describe("revenue", "once", by="cem")
    notify_all(sqlite_engine)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert [f"alert {number}" in text for number in range(5)] == [True] * 5
    assert ("you own it" in text, "you follow it" in text, "names you" in text) == (True, True, True)


async def test_owners_that_are_nobody_are_nobody(sqlite_engine: Engine) -> None:
    """Fault scenario 30."""
    company, mailbox = SmallCompany(sqlite_engine), Mailbox()
    company.put("team", {"name": "empty"})
    with pytest.raises(InvalidInput):
        company.put("team", {"name": "empty", "parents": [{"id": company.ids["empty"], "type": "team"}]})
    company.table("nobodys", owners=[{"type": "team", "name": "empty"}])
    company.table("bens", owners=[{"type": "user", "name": "ben"}])
    company.table("cems", owners=[{"type": "user", "name": "cem"}])
    company.alert("owners", [BY_MAIL], "fieldChanged == 'description'", poll_interval_s=0)
    company.writes.delete("user", Key.by_name("ben"), actor=SYSTEM)
    notify_all(sqlite_engine)
    for name in ("nobodys", "bens", "cems"):
        company.describe(name, "anew")
    notify_all(sqlite_engine)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    assert [receivers for receivers, _ in mailbox.mails] == [["cem@example.com"]]


async def test_a_pipeline_that_flaps_a_hundred_times_a_minute_is_two_mails(sqlite_engine: Engine) -> None:
    """Fault scenario 32."""
    company, mailbox, now_ms = SmallCompany(sqlite_engine), Mailbox(), SystemClock().now_ms()
    company.pipeline("etl", owners=[{"type": "user", "name": "dia"}])
    company.alert("flapping", [BY_MAIL], "pipelineStatus == 'Failed' || pipelineStatus == 'Successful'")
    notify_all(sqlite_engine, now_ms=now_ms)

    def flap(number: int) -> None:
        at_ms = company.clock.now_ms() + number * 600
        company.run("etl", ("Failed", "Successful")[number % 2], at_ms=at_ms, after_s=0)
        if number % 9 == 0:
            notify_all(sqlite_engine, now_ms=now_ms + number * 600)

    flap(0)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    for number in range(1, 100):
        flap(number)
    assert statuses(sqlite_engine) == {"delivered": 1, "pending": 1}
    due_now(sqlite_engine)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 2})
    assert counts_by_person(sqlite_engine, company) == {"dia": 100}
    texts = mail_texts(mailbox)
    assert [text.count("(alert flapping)") for text in texts] == [1, ENTRIES]
    assert f"{99 - ENTRIES} more" in texts[1]


async def test_thousands_that_fail_at_once_are_one_mail_with_a_count(sqlite_engine: Engine) -> None:
    """Fault scenario 33."""
    company, mailbox = SmallCompany(sqlite_engine), Mailbox()
    company.alert("failures", [BY_MAIL], "pipelineStatus == 'Failed'")
    for number in range(MANY + 50):
        company.pipeline(f"etl{number}", owners=[{"type": "user", "name": "dia"}])
    notify_all(sqlite_engine)
    for number in range(MANY + 50):
        company.run(f"etl{number}", "Failed", after_s=0)
    notify_all(sqlite_engine)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert counts_by_person(sqlite_engine, company) == {"dia": MANY + 50}
    assert text.count("You receive this") == ENTRIES
    assert f"{MANY + 50 - ENTRIES:,} more" in text


async def test_a_status_that_is_sent_again_notifies_nobody_again(sqlite_engine: Engine, receiver: Receiver) -> None:
    """Fault scenarios 34 and 35: of a thousand statuses in one request each failure is told, and each once."""
    company = SmallCompany(sqlite_engine)
    company.pipeline("etl")
    company.alert("failures", [hook(receiver)], "pipelineStatus == 'Failed'")
    notify_all(sqlite_engine)
    start_ms = company.clock.now_ms() + 1
    runs = [
        {"timestamp": start_ms + number, "executionStatus": "Successful" if number % 5 else "Failed"}
        for number in range(MANY)
    ]
    company.clock.advance(MANY * 1_000)
    key = Key.by_name("airflow.etl")
    for _ in range(2):
        company.writes.on_entity("pipeline", key, lambda record, one: add_runs(record, one, runs), actor=SYSTEM)
        notify_all(sqlite_engine)
    async with working(sqlite_engine):
        await until(lambda: statuses(sqlite_engine) == {"delivered": MANY // 5})
    assert sorted(Counter(receiver.ids("/hook")).values()) == [1] * (MANY // 5)


async def test_a_notification_is_no_event_and_an_edit_that_changes_nothing_ends_a_circle(
    sqlite_engine: Engine, receiver: Receiver
) -> None:
    """Fault scenario 41: whoever answers each webhook with the same edit is not asked for ever."""
    company = SmallCompany(sqlite_engine)
    company.alert("everything", [hook(receiver)])
    notify_all(sqlite_engine)
    company.describe("orders", "by hand")
    rounds = 0
    async with working(sqlite_engine):
        while notify_all(sqlite_engine) and rounds < 10:
            rounds += 1
            await until(lambda: statuses(sqlite_engine)["pending"] == 0)
            end = EventLog(sqlite_engine).readable_end()
            company.describe("orders", "by the receiver", by="cem")
            assert EventLog(sqlite_engine).readable_end() <= end + 1
    assert rounds == 2
    assert len(receiver.ids("/hook")) == 2


def test_a_follower_stays_with_what_is_renamed_and_not_with_what_takes_its_name(sqlite_engine: Engine) -> None:
    """Fault scenario 42."""
    company = SmallCompany(sqlite_engine)
    company.alert("followers", [{"category": "Followers", "type": "Email"}], "fieldChanged == 'description'")
    notify_all(sqlite_engine)

    def domain(name: str) -> Key:
        created = company.put("domain", {"name": name, "domainType": "Aggregate", "description": "ours"})
        return Key.by_id(created["id"])

    def put(key: Key, path: str, value: str) -> None:
        company.clock.advance(1_000)
        patch = [{"op": "replace", "path": path, "value": value}]
        company.writes.patch("domain", key, patch, actor=SYSTEM)
        notify_all(sqlite_engine)

    order = domain("Orders")
    company.writes.follow("domain", company.ids["Orders"], company.ids["cem"], actor=company.actor("cem"))
    put(order, "/name", "Purchases")
    put(order, "/description", "renamed")
    assert counts_by_person(sqlite_engine, company) == {"cem": 1}
    company.writes.delete("domain", order, actor=SYSTEM, hard=True)
    put(domain("Purchases"), "/description", "another one")
    put(domain("Orders"), "/description", "and another one")
    assert counts_by_person(sqlite_engine, company) == {"cem": 1}


async def test_a_retry_is_signed_with_both_secrets_of_a_rotation(sqlite_engine: Engine) -> None:
    """Fault scenario 43."""
    heard: list[tuple[dict[str, str], bytes]] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append(({name.lower(): value for name, value in request.headers.items()}, await request.read()))
        return web.Response(status=503 if len(heard) == 1 else 200)

    app = web.Application()
    app.router.add_post("/hook", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    to = {"endpoint": f"http://127.0.0.1:{runner.addresses[0][1]}/hook"}
    company = SmallCompany(sqlite_engine)
    goal = {"category": "External", "type": "Webhook"}
    company.alert("hook", [{**goal, "config": {**to, "secretKey": "old"}}], "fieldChanged == 'description'")
    notify_all(sqlite_engine)
    company.describe("orders", "signed")
    notify_all(sqlite_engine)
    try:
        async with working(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {"awaitingRetry": 1})
        company.alert("hook", [{**goal, "config": {**to, "secretKey": "new old"}}], "fieldChanged == 'description'")
        due_now(sqlite_engine)
        async with working(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    finally:
        await runner.cleanup()
    (first, _), (second, body) = heard
    assert first["webhook-id"] == second["webhook-id"]
    assert (len(first["webhook-signature"].split()), len(second["webhook-signature"].split())) == (1, 2)
    assert [is_signed(body, second, secret) for secret in ("new", "old", "none")] == [True, True, False]


@pytest.mark.parametrize("is_digest", [False, True])
async def test_whoever_is_erased_meanwhile_gets_nothing(sqlite_engine: Engine, *, is_digest: bool) -> None:
    """Fault scenario 44."""
    mailbox = Mailbox()
    if is_digest:
        company = Hourly(sqlite_engine, OWNERS_BY_MAIL).company
    else:
        company = SmallCompany(sqlite_engine)
        both = {"category": "Users", "type": "Email", "config": {"receivers": ["dia"]}}
        company.alert("at once", [both], "fieldChanged == 'description'", poll_interval_s=0)
        notify_all(sqlite_engine)
        company.describe("revenue", "anew", by="cem")
        notify_all(sqlite_engine)
    assert statuses(sqlite_engine) == {"pending": 1}
    company.writes.delete("user", Key.by_name("dia"), actor=SYSTEM, hard=True)
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert (mailbox.mails, reasons(sqlite_engine)) == ([], {"recipientGone"})
