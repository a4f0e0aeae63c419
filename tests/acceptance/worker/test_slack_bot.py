"""Tests of Slack's bots through a worker: a Web API that keeps Slack's published rules, and what it leads to."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import Engine, select
from tests.acceptance.worker.chat_receivers import listening, reasons, statuses
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.delivery.channels.slack.sender import SlackSender
from tocsin.delivery.links.mute import request_of
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.store.database.tables import attempt, notification
from tocsin.store.outbox.records import Records
from tocsin.store.outbox.status import DestinationStatuses

TOKEN = "xoxb-1-2-s3cret"
CHANNELS = ("#alerts", "C012AB3CD")
Answer = tuple[int, dict[str, Any]]


@dataclass
class Workspace:
    """A workspace with members by address. A channel takes ``burst`` messages at once, and one a second after that."""

    members: dict[str, str] = field(default_factory=lambda: {f"{one}@example.com": f"U0{one.upper()}" for one in "abd"})
    fault: dict[str, Answer] = field(default_factory=dict)
    burst: int = 1
    token: str = TOKEN
    posts: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    at_s: dict[str, list[float]] = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.Response:
        method = request.path.rpartition("/")[2]
        self.calls[method] += 1
        status, body = self.fault.get(method) or await self._answer(method, request)
        return web.json_response(body, status=status, headers={"Retry-After": "1"} if status == 429 else {})

    async def _answer(self, method: str, request: web.Request) -> Answer:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return 200, {"ok": False, "error": "invalid_auth"}
        if method == "users.lookupByEmail":
            return self._member(dict(await request.post()))
        if method == "chat.update":
            return self._update(json.loads(await request.read()))
        if method != "chat.postMessage":
            return 200, {"ok": False, "error": "unknown_method"}
        return self._post_message(json.loads(await request.read()))

    def _member(self, form: dict[str, Any]) -> Answer:
        if "email" not in form:  # JSON is not read here
            return 200, {"ok": False, "error": "invalid_arguments"}
        member_id = self.members.get(str(form["email"]))
        return 200, {"ok": True, "user": {"id": member_id}} if member_id else {"ok": False, "error": "users_not_found"}

    def _update(self, message: dict[str, Any]) -> Answer:
        if message["ts"] not in {f"{number}.0001" for number in range(1, len(self.posts) + 1)}:
            return 200, {"ok": False, "error": "message_not_found"}
        self.changes.append(message)
        return 200, {"ok": True, "channel": message["channel"], "ts": message["ts"], "text": message["text"]}

    def _post_message(self, message: dict[str, Any]) -> Answer:
        channel = message["channel"]
        if channel not in (*CHANNELS, *self.members.values()):
            return 200, {"ok": False, "error": "channel_not_found"}
        if not 0 < len(message["blocks"]) <= 50:
            return 200, {"ok": False, "error": "invalid_blocks"}
        before = self.at_s.setdefault(channel, [])
        if sum(time.monotonic() - one < 0.5 for one in before) >= self.burst:
            return 429, {"ok": False, "error": "ratelimited"}
        before.append(time.monotonic())
        self.posts.append(message)
        answer = {"ok": True, "channel": channel, "ts": f"{len(self.posts)}.0001"}
        return 200, {**answer, "message": {**message, "padding": "ü" * 30_000}}  # it is repeated, and longer


def people(workspace: Workspace, *names: str) -> None:
    workspace.members = {f"{one}@example.com": f"U{one.upper()}" for one in names}


def bot(category: str, **config: object) -> dict[str, object]:
    return {"category": category, "type": "Slack", "config": {"botToken": TOKEN, **config}}


def sender(requests: HttpRequests, url: str) -> SlackSender:
    return SlackSender(requests, base_url="https://t.example", api_url=f"{url}/api/", link_key=b"key")


async def run(
    engine: Engine,
    workspace: Workspace,
    destination: dict[str, object],
    ends: dict[tuple[str, int], int],
    changes: int = 1,
) -> str:
    """Let a worker send so many changes of ``orders`` to a destination until messages have these states."""
    company = SmallCompany(engine)
    alert = company.alert("chat", [destination], poll_interval_s=0)
    for number in range(changes):
        company.describe("orders", f"text {number}")
    notify_all(engine)
    async with (
        listening(workspace.answer) as url,
        HttpRequests(egress_of(("127.0.0.0/8",))) as requests,
        working(engine, senders={"Slack": sender(requests, url)}, intervals_s={"Slack": 1.0}),
    ):
        await until(lambda: statuses(engine) == ends)
    return alert


async def test_owners_are_written_to_at_their_address_once_each_and_looked_up_once(store_engine: Engine) -> None:
    workspace = Workspace(burst=9)
    people(workspace, "ana", "ben")
    await run(store_engine, workspace, bot("Owners"), {("delivered", 1): 4}, changes=2)
    assert Counter(one["channel"] for one in workspace.posts) == {"UANA": 2, "UBEN": 2}
    assert workspace.calls == {"users.lookupByEmail": 2, "chat.postMessage": 4}
    whys = {json.dumps(one["blocks"]).partition("Why you get this: ")[2].partition('"')[0] for one in workspace.posts}
    assert whys == {"you own it through team shop (alert chat)"}


@pytest.mark.parametrize(
    ("to", "links"), [(bot("Followers"), 1), (bot("External", channel="#alerts"), 0)], ids=["person", "channel"]
)
async def test_a_person_gets_a_link_that_mutes_the_asset_and_a_channel_gets_none(
    sqlite_engine: Engine, to: dict[str, object], links: int
) -> None:
    workspace = Workspace()
    people(workspace, "cem")
    await run(sqlite_engine, workspace, to, {("delivered", 1): 1})
    (post,) = workspace.posts
    tokens = re.findall(r"<https://t\.example/api/v1/mute/([^|]+)\|Mute the asset for a day>", json.dumps(post))
    assert len(tokens) == links
    with sqlite_engine.connect() as connection:
        (identity,) = connection.execute(select(notification.c.id)).scalars()
        assert "mute/" not in str(connection.execute(select(attempt)).all())
    requests = [request_of(token, b"key", 0) for token in tokens]
    assert [one and one.notification_id for one in requests] == [identity] * links


async def test_a_person_whom_slack_does_not_know_is_told_in_the_status_and_others_get_theirs(
    sqlite_engine: Engine,
) -> None:
    workspace = Workspace()
    people(workspace, "ana")
    alert = await run(sqlite_engine, workspace, bot("Owners"), {("delivered", 1): 1, ("failed", 1): 1})
    (status,) = DestinationStatuses(sqlite_engine).of([alert])[alert].values()
    assert (status.delivered_count, status.failed_count, status.last_failed_reason) == (1, 1, "recipientUnknown")
    assert status.failing.since_ms is None, "others are still written to"
    with sqlite_engine.connect() as connection:
        ids = list(connection.execute(select(notification.c.id)).scalars())
    messages_by_address = {one.notification.address: one.message for one in Records(sqlite_engine).by_id(ids).values()}
    tried = messages_by_address["ben@example.com"].attempts[0]  # type: ignore[union-attr]
    assert (tried.reason, tried.detail) == ("recipientUnknown", '{"ok":false,"error":"users_not_found"}')


async def test_what_two_bots_tell_a_person_are_two_messages(sqlite_engine: Engine) -> None:
    """A bot of anybody's workspace takes no message away from the company's."""
    second_workspace, workspace = Workspace(token="xoxb-of-another"), Workspace()
    people(second_workspace, "ana")
    people(workspace, "ana", "ben")
    company = SmallCompany(sqlite_engine)
    company.alert("a", [bot("Owners", botToken=second_workspace.token)], poll_interval_s=0)
    company.alert("b", [bot("Owners")], poll_interval_s=0)
    company.alert("c", [bot("Owners")], poll_interval_s=0)
    company.describe("orders", "text")
    notify_all(sqlite_engine)

    async def answer(request: web.Request) -> web.Response:
        has_other = request.headers["Authorization"] == f"Bearer {second_workspace.token}"
        return await (second_workspace if has_other else workspace).answer(request)

    async with (
        listening(answer) as url,
        HttpRequests(egress_of(("127.0.0.0/8",))) as requests,
        working(sqlite_engine, senders={"Slack": sender(requests, url)}),
    ):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 3, ("failed", 1): 1})
    assert sorted(one["channel"] for one in workspace.posts) == ["UANA", "UBEN"]
    assert [one["channel"] for one in second_workspace.posts] == ["UANA"]
    assert ["(alerts b and c)" in str(one) for one in workspace.posts] == [True, True]
    assert "(alert b)" not in str(second_workspace.posts)


@pytest.mark.parametrize("channel", [CHANNELS[0], pytest.param(CHANNELS[1], marks=pytest.mark.soak)])
async def test_a_channel_gets_one_message_a_second_and_loses_none(sqlite_engine: Engine, channel: str) -> None:
    workspace = Workspace(burst=2)  # a machine that stalls may bring two together; all four would still be too many
    await run(sqlite_engine, workspace, bot("External", channel=channel), {("delivered", 1): 4}, changes=4)
    assert [one["channel"] for one in workspace.posts] == [channel] * 4
    assert workspace.calls == {"chat.postMessage": 4}


@pytest.mark.parametrize(("members", "mention"), [(("dia",), "<@UDIA>"), ((), "owned by @dia")])
async def test_an_owner_is_mentioned_where_slack_knows_them(
    sqlite_engine: Engine, members: tuple[str, ...], mention: str
) -> None:
    workspace = Workspace()
    people(workspace, *members)
    company = SmallCompany(sqlite_engine)
    company.alert("chat", [bot("External", channel="#alerts")], poll_interval_s=0)
    company.describe("revenue", "text")
    notify_all(sqlite_engine)
    async with (
        listening(workspace.answer) as url,
        HttpRequests(egress_of(("127.0.0.0/8",))) as requests,
        working(sqlite_engine, senders={"Slack": sender(requests, url)}),
    ):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    (post,) = workspace.posts
    (line,) = [one for one in post["blocks"] if "Changed by" in json.dumps(one)]
    assert mention in json.dumps(line)
    assert workspace.calls == {"chat.postMessage": 1, "users.lookupByEmail": 1}


async def test_users_may_be_named_by_address_as_well(sqlite_engine: Engine) -> None:
    workspace = Workspace()
    people(workspace, "guest", "cem")
    await run(sqlite_engine, workspace, bot("Users", receivers=["guest@example.com", "cem"]), {("delivered", 1): 2})
    assert sorted(one["channel"] for one in workspace.posts) == ["UCEM", "UGUEST"]


@pytest.mark.parametrize(
    ("method", "answer", "ends", "reason"),
    [
        ("chat.postMessage", (200, {"ok": False, "error": "invalid_auth"}), "awaitingRetry", "gone"),
        ("chat.postMessage", (200, {"ok": False, "error": "channel_not_found"}), "failed", "recipientUnknown"),
        ("chat.postMessage", (200, {"ok": False, "error": "invalid_blocks"}), "failed", "clientError"),
        ("chat.postMessage", (200, {"ok": False, "error": "fatal_error"}), "awaitingRetry", "serverError"),
        ("chat.postMessage", (200, {}), "awaitingRetry", "serverError"),
        ("chat.postMessage", (429, {"ok": False, "error": "ratelimited"}), "awaitingRetry", "rateLimited"),
        ("chat.postMessage", (500, {}), "awaitingRetry", "serverError"),
        ("users.lookupByEmail", (200, {"ok": False, "error": "missing_scope"}), "awaitingRetry", "gone"),
        ("users.lookupByEmail", (200, {"ok": False, "error": "user_disabled"}), "failed", "recipientUnknown"),
        ("users.lookupByEmail", (200, {"ok": True}), "awaitingRetry", "serverError"),
        ("users.lookupByEmail", (429, {"ok": False, "error": "ratelimited"}), "awaitingRetry", "rateLimited"),
        ("users.lookupByEmail", (503, {}), "awaitingRetry", "serverError"),
    ],
)
async def test_every_answer_means_what_slack_says(
    sqlite_engine: Engine, method: str, answer: Answer, ends: str, reason: str
) -> None:
    workspace = Workspace(fault={method: answer})
    people(workspace, "cem")
    await run(sqlite_engine, workspace, bot("Followers"), {(ends, 1): 1})
    assert reasons(sqlite_engine) == {reason}
    with sqlite_engine.connect() as connection:
        assert TOKEN not in str(connection.execute(select(attempt)).all())


async def test_a_channel_that_is_gone_stops_the_destination(sqlite_engine: Engine) -> None:
    workspace = Workspace()
    alert = await run(sqlite_engine, workspace, bot("External", channel="#old"), {("awaitingRetry", 1): 1})
    (status,) = DestinationStatuses(sqlite_engine).of([alert])[alert].values()
    assert (status.failing.is_stopped, status.last_failed_reason) == (True, "gone")
