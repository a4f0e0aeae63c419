"""Tests of own addresses through a worker: owners and teams are reached where their profiles say, each for itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import Engine, select
from tests.acceptance.worker.chat_receivers import listening, reasons, statuses
from tests.acceptance.worker.test_worker import LIMITS, until, working
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.verified import verify_addresses

from tocsin.clock import LATEST_MS
from tocsin.delivery.channels.slack.sender import SlackSender
from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.model.entity import Document
from tocsin.model.preferences import Preferences
from tocsin.store.database.tables import message
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.status import DestinationStatuses

MANY, FEW = 30, 8
"""Messages that wait for an address, and rows of one claim: several claims find nothing else first."""


class Receivers:
    """What arrived, by path; ``gone`` are paths that answer 410."""

    def __init__(self, *gone_paths: str) -> None:
        self.arrived: list[tuple[str, Document]] = []
        self.headers: list[str] = []
        self._gone = gone_paths

    async def post(self, request: web.Request) -> web.Response:
        if request.path in self._gone:
            return web.Response(status=410)
        self.arrived.append((request.path, json.loads(await request.read())))
        self.headers.append(request.headers.get("X-Key", ""))
        return web.Response(text="ok")

    def paths(self) -> list[str]:
        return sorted(path for path, _ in self.arrived)


def give(
    company: SmallCompany, entity_type: str, name: str, addresses: Document, *, by: str = "dia", verified: bool = True
) -> None:
    """Set the own addresses of a person or team, and verify them."""
    actor = replace(company.actor(name if entity_type == "user" else by), is_admin=entity_type == "team")
    patch = [{"op": "add", "path": "/profile", "value": {"subscription": addresses}}]
    company.writes.patch(entity_type, company.key(name), patch, actor=actor)
    if verified:
        verify_addresses(company.engine, company.ids[name], actor.id)


@asynccontextmanager
async def sending(engine: Engine, **parts: Any) -> AsyncIterator[None]:
    async with HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        slack = SlackSender(requests, base_url="https://t.example", api_url="https://slack.example/api")
        async with working(
            engine, senders={"Webhook": WebhookSender(requests, source="http://t"), "Slack": slack}, **parts
        ):
            yield


def owners(channel: str) -> Document:
    return {"category": "Owners", "type": channel}


async def test_owners_are_reached_at_their_own_addresses(store_engine: Engine) -> None:
    company, receivers = SmallCompany(store_engine), Receivers()
    company.alert("owned", [owners("Webhook"), owners("Slack")], resources=("table",), poll_interval_s=0)
    async with listening(receivers.post) as url:
        give(company, "team", "shop", {"generic": {"endpoint": f"{url}/shop", "headers": {"X-Key": "key"}}})
        give(company, "user", "dia", {"slack": {"endpoint": f"{url}/services/dia"}})
        company.describe("orders", "first", by="dia")
        company.describe("revenue", "second", by="ana")
        notify_all(store_engine)
        async with sending(store_engine):
            await until(lambda: statuses(store_engine) == {("delivered", 1): 2})
    assert receivers.paths() == ["/services/dia", "/shop"]
    assert "key" in receivers.headers


async def test_a_team_of_a_destination_is_reached_as_a_whole(sqlite_engine: Engine) -> None:
    company, receivers = SmallCompany(sqlite_engine), Receivers()
    teams = {"category": "Teams", "type": "Webhook", "config": {"receivers": ["shop", "tills"]}}
    company.alert("named", [teams], resources=("table",), poll_interval_s=0)
    async with listening(receivers.post) as url:
        give(company, "team", "shop", {"generic": {"endpoint": f"{url}/shop"}})
        give(company, "user", "ben", {"generic": {"endpoint": f"{url}/ben"}})
        company.describe("orders", "first")
        notify_all(sqlite_engine)
        async with sending(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    assert receivers.paths() == ["/shop"]


async def test_an_address_that_fails_pauses_nobody_else(sqlite_engine: Engine) -> None:
    company, receivers = SmallCompany(sqlite_engine), Receivers("/dia")
    alert_id = company.alert("owned", [owners("Webhook")], resources=("table",), poll_interval_s=0)
    async with listening(receivers.post) as url:
        give(company, "user", "dia", {"generic": {"endpoint": f"{url}/dia"}})
        give(company, "team", "shop", {"generic": {"endpoint": f"{url}/shop"}})
        for number in range(30):
            company.describe("revenue", f"text {number}", by="ana")
        company.describe("orders", "last")
        notify_all(sqlite_engine)
        async with sending(sqlite_engine):
            await until(lambda: receivers.paths() == ["/shop"])
            await until(lambda: statuses(sqlite_engine)["awaitingRetry", 1] == 30)
    assert DestinationStatuses(sqlite_engine).of([alert_id]) == {}


async def test_an_address_that_hangs_delays_nobody_else_of_its_destination(store_engine: Engine) -> None:
    company, receivers, release = SmallCompany(store_engine), Receivers(), asyncio.Event()
    alert_id = company.alert("owned", [owners("Webhook")], resources=("table",), poll_interval_s=0)
    begun_paths: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if request.path != "/dia":
            return await receivers.post(request)
        begun_paths.append(request.path)
        await release.wait()
        return web.Response(text="ok")

    async with listening(answer) as url:
        give(company, "user", "dia", {"generic": {"endpoint": f"{url}/dia"}})
        give(company, "team", "shop", {"generic": {"endpoint": f"{url}/shop"}})
        for number in range(MANY):
            company.describe("revenue", f"text {number}", by="ana")
        company.describe("orders", "last")
        notify_all(store_engine)
        async with sending(store_engine, limits=replace(LIMITS, claim=FEW, per_destination=2)):
            await until(lambda: receivers.paths() == ["/shop"])
            assert len(begun_paths) <= 2, "as many as an address gets at once"
            release.set()
            await until(lambda: statuses(store_engine) == {("delivered", 1): MANY + 1})
    assert DestinationStatuses(store_engine).of([alert_id]) == {}


@pytest.mark.parametrize("change", ["removed", "set by somebody else"])
async def test_an_address_that_changes_hands_gets_nothing_that_was_for_the_other(
    sqlite_engine: Engine, change: str
) -> None:
    company, receivers = SmallCompany(sqlite_engine), Receivers()
    company.alert("owned", [owners("Webhook")], resources=("table",), poll_interval_s=0)
    async with listening(receivers.post) as url:
        give(company, "team", "shop", {"generic": {"endpoint": f"{url}/first"}})
        company.describe("orders", "for the first")
        notify_all(sqlite_engine)
        new_address = {} if change == "removed" else {"generic": {"endpoint": f"{url}/second"}}
        give(company, "team", "shop", new_address, by="cem")
        async with sending(sqlite_engine):
            await until(lambda: reasons(sqlite_engine) == {"recipientGone"})
            await asyncio.sleep(0)
    assert receivers.arrived == []


@pytest.mark.parametrize("is_verified", [False, True])
async def test_a_changed_address_gets_what_waits_once_it_is_verified(sqlite_engine: Engine, is_verified: bool) -> None:
    """Fault scenario 78."""
    company, receivers = SmallCompany(sqlite_engine), Receivers()
    company.alert("owned", [owners("Webhook")], resources=("table",), poll_interval_s=0)
    async with listening(receivers.post) as url:
        give(company, "user", "dia", {"generic": {"endpoint": f"{url}/first"}})
        company.describe("revenue", "for dia", by="ana")
        notify_all(sqlite_engine)
        give(company, "user", "dia", {"generic": {"endpoint": f"{url}/second"}}, verified=is_verified)
        company.describe("revenue", "after the change", by="ana")
        notify_all(sqlite_engine)
        async with sending(sqlite_engine):
            ends = {("delivered", 1): 2} if is_verified else {("failed", 1): 1}
            await until(lambda: statuses(sqlite_engine) == ends)
    assert receivers.paths() == (["/second"] * 2 if is_verified else [])
    assert reasons(sqlite_engine) == {"ok" if is_verified else "recipientGone"}


async def test_an_own_webhook_obeys_the_kinds_of_its_person(sqlite_engine: Engine) -> None:
    company, receivers, preferences = SmallCompany(sqlite_engine), Receivers(), SqlPreferences(sqlite_engine)
    company.alert("owned", [owners("Webhook"), owners("Slack")], resources=("table",), poll_interval_s=0)

    def prefer(*, now_ms: int, **kinds: Document) -> None:
        choices = Preferences.model_validate({"frequency": "weekly", "kinds": kinds})
        preferences.put(company.ids["dia"], choices, now_ms=now_ms)

    async with listening(receivers.post) as url:
        give(company, "user", "dia", {"generic": {"endpoint": f"{url}/hook"}, "slack": {"endpoint": f"{url}/slack"}})
        prefer(now_ms=1, description={"Slack": "never"})
        company.describe("revenue", "at once: what one chooses for mails is not about webhooks", by="ana")
        notify_all(sqlite_engine)
        async with sending(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1, ("failed", 1): 1})
        assert receivers.paths() == ["/hook"]
        prefer(now_ms=2, description={"Slack": "never", "Webhook": "daily"})
        for number in range(2):
            company.describe("revenue", f"later {number}", by="ana")
        notify_all(sqlite_engine)
        assert statuses(sqlite_engine)["pending", 0] == 3, "the webhook's wait in one message"
        prefer(now_ms=company.clock.now_ms(), description={"Slack": "never"})
        async with sending(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 2, ("failed", 1): 3})
    assert receivers.paths() == ["/hook"] * 3, "one request per event"


async def test_while_a_person_is_away_their_own_webhook_is_quiet(sqlite_engine: Engine) -> None:
    company, receivers, preferences = SmallCompany(sqlite_engine), Receivers(), SqlPreferences(sqlite_engine)
    company.alert("owned", [owners("Webhook")], resources=("table",), poll_interval_s=0)
    until_ms = company.clock.now_ms() + 10 * 24 * 3_600_000
    async with listening(receivers.post) as url:
        give(company, "user", "dia", {"generic": {"endpoint": f"{url}/hook"}})
        absence = Preferences.model_validate({"away": {"start": 0, "until": LATEST_MS}})
        preferences.put(company.ids["dia"], absence, now_ms=1)
        company.describe("revenue", "while dia is away", by="ana")
        notify_all(sqlite_engine)
        with sqlite_engine.connect() as connection:
            assert connection.scalars(select(message.c.due_at_ms)).one() > until_ms
        preferences.put(company.ids["dia"], Preferences(), now_ms=company.clock.now_ms())
        async with sending(sqlite_engine):
            await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    assert receivers.paths() == ["/hook"]
