"""Tests of Slack through a worker: a webhook that keeps Slack's published rules, and what its answers lead to."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import Engine
from tests.acceptance.worker.chat_receivers import delivering, listening, reasons, statuses
from tests.acceptance.worker.test_worker import until

from tocsin.delivery.channels.slack.sender import SlackSender
from tocsin.delivery.transport.http_requests import HttpRequests

HOOK = "/services/T0/B0/secret"


class Workspace:
    """An incoming webhook: JSON with at most 50 blocks, and so many messages until it has had enough.

    ``fault`` is an answer that every message gets instead, as status and body.
    """

    def __init__(self, *, takes: int = 1_000, fault: tuple[int, str] | None = None) -> None:
        self.messages: list[dict[str, Any]] = []
        self.answers: Counter[int] = Counter()
        self._left, self._fault = takes, fault

    async def post(self, request: web.Request) -> web.Response:
        status, text = self._answer(request, await request.read())
        self.answers[status] += 1
        return web.Response(status=status, text=text, headers={"Retry-After": "30"} if status == 429 else {})

    def _answer(self, request: web.Request, body: bytes) -> tuple[int, str]:
        if self._fault:
            return self._fault
        if request.path != HOOK:
            return 404, "no_service"
        if self._left <= 0:
            return 429, "rate_limited"
        message = json.loads(body)
        if not 0 < len(message["blocks"]) <= 50 or request.content_type != "application/json":
            return 400, "invalid_blocks"
        self._left -= 1
        self.messages.append(message)
        return 200, "ok"


def slack(url: str) -> dict[str, object]:
    return {"category": "External", "type": "Slack", "config": {"endpoint": url + HOOK}}


def sender_of(requests: HttpRequests) -> SlackSender:
    return SlackSender(requests, base_url="https://t.example", api_url="https://slack.example/api")


async def test_every_change_is_a_message(store_engine: Engine) -> None:
    workspace = Workspace()
    async with listening(workspace.post) as url, delivering(store_engine, slack(url), sender_of, changes=3):
        await until(lambda: statuses(store_engine) == {("delivered", 1): 3})
    titles = sorted(str(one["text"]) for one in workspace.messages)
    assert titles == ["orders: description added", *["orders: description changed"] * 2]


async def test_changes_of_one_moment_are_one_message(sqlite_engine: Engine) -> None:
    workspace = Workspace()
    async with (
        listening(workspace.post) as url,
        delivering(sqlite_engine, slack(url), sender_of, changes=30, poll_interval_s=60),
    ):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 1})
    assert [one["text"] for one in workspace.messages] == ["orders: description added, changed 30 times"]


async def test_a_workspace_that_has_had_enough_gets_the_rest_later(sqlite_engine: Engine) -> None:
    workspace = Workspace(takes=2)
    async with listening(workspace.post) as url, delivering(sqlite_engine, slack(url), sender_of, changes=3):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 2, ("awaitingRetry", 1): 1})
    assert workspace.answers == {200: 2, 429: 1}


@pytest.mark.parametrize(
    ("status", "body", "ends", "reason"),
    [
        (404, "no_service", "awaitingRetry", "gone"),
        (403, "action_prohibited", "awaitingRetry", "gone"),
        (410, "channel_is_archived", "awaitingRetry", "gone"),
        (400, "invalid_blocks", "failed", "clientError"),
        (400, "something new", "awaitingRetry", "clientError"),
        (500, "rollup_error", "awaitingRetry", "serverError"),
        (200, '{"ok": false, "error": "invalid_auth"}', "awaitingRetry", "gone"),
        (200, '{"ok": false, "error": "ratelimited"}', "awaitingRetry", "rateLimited"),
        (200, '{"ok": false, "error": "fatal_error"}', "awaitingRetry", "serverError"),
        (200, '{"ok": false}', "awaitingRetry", "serverError"),
        (200, '{"ok": true}', "delivered", "ok"),
    ],
)
async def test_every_answer_means_what_slack_says(
    sqlite_engine: Engine, status: int, body: str, ends: str, reason: str
) -> None:
    """Fault scenario 23."""
    workspace = Workspace(fault=(status, body))
    async with listening(workspace.post) as url, delivering(sqlite_engine, slack(url), sender_of):
        await until(lambda: statuses(sqlite_engine) == {(ends, 1): 1})
    assert reasons(sqlite_engine) == {reason}
