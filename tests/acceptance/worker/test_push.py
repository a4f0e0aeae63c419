"""Tests of web push through a worker: browsers on loopback read what they get as browsers do, while they may."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from sqlalchemy import Engine
from tests.acceptance.worker.chat_receivers import listening, reasons, statuses
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.conftest import KEY
from tests.notifying import notify_all
from tests.push_reader import push_browser, read_push
from tests.store.test_failing_rows import permit

from tocsin.clock import LATEST_MS
from tocsin.delivery.channels.push.sender import PushSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.delivery.worker.build import push_setup
from tocsin.model.change_kinds import Frequency
from tocsin.model.people import SYSTEM
from tocsin.model.preferences import Absence, Preferences
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.catalogue.people.tokens import IssuedToken, IssuedTokens, TokenKind
from tocsin.store.outbox.preferences import SqlPreferences

LOOPBACK = ("127.0.0.0/8",)


@dataclass
class PushService:
    """A push service on loopback: it keeps what its browsers have read, by path, with the topic of each message.

    ``answers`` are statuses by path, the next first; without any it takes a message with 201.
    """

    answers: dict[str, list[int]] = field(default_factory=dict)
    keys: dict[str, EllipticCurvePrivateKey] = field(default_factory=dict)
    read: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def post(self, request: web.Request) -> web.Response:
        body, path = await request.read(), request.path
        self.bodies.append(body)
        statuses_left = self.answers.get(path)
        status = statuses_left.pop(0) if statuses_left else 201
        if status == 201:
            self.read.append((path, json.loads(read_push(body, self.keys[path])), request.headers["Topic"]))
        return web.Response(status=status)

    def subscribe(self, company: SmallCompany, name: str, url: str, path: str) -> None:
        """Log a person in, in a browser of its own session that takes messages at a path."""
        self.keys[path] = generate_private_key(SECP256R1())
        user_id, session_id = company.ids[name], path.strip("/")
        token = IssuedToken(session_id, user_id, TokenKind.BROWSER, "Firefox", 0, LATEST_MS)
        IssuedTokens(company.engine, PeopleRevision()).add(token)
        browser = push_browser(f"{url}{path}", self.keys[path], user_id=user_id, session_id=session_id)
        PushBrowsers(company.engine).put(browser)

    def titles(self) -> list[tuple[str, str]]:
        return sorted((path, message["title"]) for path, message, _ in self.read)


@asynccontextmanager
async def pushing(engine: Engine, **parts: Any) -> AsyncIterator[None]:
    async with HttpRequests(egress_of(LOOPBACK)) as requests:
        sender = PushSender(requests, push_setup(engine), base_url="https://tocsin.example.com")
        async with working(engine, senders={"Push": sender}, **parts):
            yield


def watched_company(engine: Engine) -> SmallCompany:
    """Return a company whose followers and owners are told of tables in their browsers."""
    company = SmallCompany(engine)
    destinations = [{"category": category, "type": "Push"} for category in ("Owners", "Followers")]
    company.alert("pushed", destinations, resources=("table",), poll_interval_s=0)
    return company


async def test_every_browser_of_a_person_is_told_once_and_no_value_leaves(store_engine: Engine) -> None:
    company, service = watched_company(store_engine), PushService()
    async with listening(service.post) as url:
        for name, path in (("cem", "/laptop"), ("cem", "/phone"), ("ana", "/ana")):
            service.subscribe(company, name, url, path)
        company.describe("orders", "the secret of the shop", by="dia")
        notify_all(store_engine)
        async with pushing(store_engine):
            await until(lambda: statuses(store_engine) == {("delivered", 1): 2})
    assert service.titles() == [(path, "orders: 1 change") for path in ("/ana", "/laptop", "/phone")]
    assert all(message.keys() == {"title", "url", "tag"} for _, message, _ in service.read)
    assert not any(b"secret" in body or b"orders" in body for body in service.bodies)


async def test_who_has_no_browser_has_no_message(store_engine: Engine) -> None:
    company = watched_company(store_engine)
    company.describe("orders", "first", by="dia")
    assert notify_all(store_engine) == 0


@pytest.mark.parametrize("end", ["log-out", "deactivation", "new password", "unsubscribed"])
async def test_nothing_reaches_a_browser_whose_session_ends_before_it_is_sent(sqlite_engine: Engine, end: str) -> None:
    """Fault scenario 85."""
    company, service = watched_company(sqlite_engine), PushService()
    tokens = IssuedTokens(sqlite_engine, PeopleRevision())
    async with listening(service.post) as url:
        service.subscribe(company, "cem", url, "/laptop")
        company.describe("orders", "first", by="dia")
        assert notify_all(sqlite_engine) == 1
        if end == "log-out":
            tokens.revoke(["laptop"], company.ids["cem"])
        elif end == "new password":
            tokens.revoke_all(company.ids["cem"])
        elif end == "unsubscribed":
            PushBrowsers(sqlite_engine).remove("laptop")
        else:
            company.writes.delete("user", company.key("cem"), hard=False, actor=SYSTEM)
        async with pushing(sqlite_engine):
            await until(lambda: not statuses(sqlite_engine).keys() & {("pending", 0)})
    assert service.bodies == []
    assert len(reasons(sqlite_engine)) == 1


async def test_rights_that_are_taken_away_hold_when_a_message_is_sent(store_engine: Engine) -> None:
    """Fault scenario 85."""
    company, service = watched_company(store_engine), PushService()
    async with listening(service.post) as url:
        service.subscribe(company, "cem", url, "/laptop")
        company.describe("orders", "first", by="dia")
        assert notify_all(store_engine) == 1
        permit(company, "cem", {"name": "Hide", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]})
        async with pushing(store_engine):
            await until(lambda: ("pending", 0) not in statuses(store_engine))
    assert service.bodies == []


async def test_who_never_wants_a_kind_in_the_browser_is_not_told_of_it_there(store_engine: Engine) -> None:
    company, service = watched_company(store_engine), PushService()
    never = Preferences(kinds={"description": {"Push": Frequency.NEVER}})
    SqlPreferences(store_engine).put(company.ids["cem"], never, now_ms=1)
    async with listening(service.post) as url:
        for name in ("cem", "ana"):
            service.subscribe(company, name, url, f"/{name}")
        company.describe("orders", "first", by="dia")
        notify_all(store_engine)
        async with pushing(store_engine):
            await until(lambda: ("pending", 0) not in statuses(store_engine))
    assert service.titles() == [("/ana", "orders: 1 change")]
    assert "muted" in reasons(store_engine)


async def test_what_comes_in_an_absence_is_one_message_after_it(store_engine: Engine) -> None:
    company, service = watched_company(store_engine), PushService()
    preferences = SqlPreferences(store_engine)
    async with listening(service.post) as url:
        service.subscribe(company, "cem", url, "/laptop")
        for text in ("first", "second"):
            company.describe("orders", text, by="dia")
        notify_all(store_engine)
        away = Preferences(away=Absence(until=LATEST_MS))
        preferences.put(company.ids["cem"], away, now_ms=2)
        async with pushing(store_engine):
            await until(lambda: statuses(store_engine) == {("pending", 0): 1})
            assert service.bodies == []
            preferences.put(company.ids["cem"], Preferences(), now_ms=3)
            await until(lambda: bool(service.read))
    assert service.titles() == [("/laptop", "orders: 2 changes")]


async def test_a_browser_that_is_gone_is_forgotten_and_its_person_told_in_the_other(store_engine: Engine) -> None:
    """Fault scenario 85."""
    company, service = watched_company(store_engine), PushService({"/laptop": [410], "/phone": []})
    async with listening(service.post) as url:
        for path in ("/laptop", "/phone"):
            service.subscribe(company, "cem", url, path)
        company.describe("orders", "first", by="dia")
        notify_all(store_engine)
        async with pushing(store_engine):
            await until(lambda: statuses(store_engine) == {("delivered", 1): 1})
    browsers = PushBrowsers(store_engine).of([company.ids["cem"]], 1)[company.ids["cem"]]
    assert [one.session_id for one in browsers] == ["phone"]
    assert service.titles() == [("/phone", "orders: 1 change")]


async def test_what_is_sent_again_after_a_crash_between_two_browsers_replaces_itself(
    sqlite_engine: Engine, sqlite_url: str
) -> None:
    """Fault scenario 85."""
    company, service, goes_on = watched_company(sqlite_engine), PushService(), asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/phone":
            await goes_on.wait()
        return await service.post(request)

    async with listening(answer) as url:
        for path in ("/laptop", "/phone"):
            service.subscribe(company, "cem", url, path)
        company.describe("orders", "first", by="dia")
        notify_all(sqlite_engine)
        process = victim(sqlite_url)
        try:
            await until(lambda: bool(service.read))
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
        goes_on.set()
        async with pushing(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    paths = [path for path, _, _ in service.read]
    assert (paths.count("/laptop"), "/phone" in paths) == (2, True)
    assert len({(message["tag"], topic) for _, message, topic in service.read}) == 1


_VICTIM = """
import sys
from tocsin.settings import Settings
from tocsin.delivery.worker.deliver import main

url, key = sys.argv[1:]
main(
    Settings(
        database_url=url,
        secrets_key=key,
        web_push=True,
        worker_lease_s=1.0,
        worker_poll_s=0.05,
        egress_allow=("127.0.0.0/8",),
    )
)
"""


def victim(url: str) -> subprocess.Popen[bytes]:
    """Start a worker in a process of its own, as a server with web push does."""
    return subprocess.Popen(
        [sys.executable, "-c", _VICTIM, url, KEY], stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": "src"}
    )
