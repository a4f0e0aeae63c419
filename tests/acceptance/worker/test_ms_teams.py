"""Tests of Teams through a worker: a workflow that keeps the published rules, and what its answers lead to."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from aiohttp import web
from sqlalchemy import Engine
from tests.acceptance.worker.chat_receivers import delivering, listening, reasons, statuses
from tests.acceptance.worker.test_worker import until

from tocsin.delivery.channels.incoming_webhook import IncomingWebhook
from tocsin.delivery.channels.ms_teams.render import CARD_TYPE
from tocsin.delivery.channels.ms_teams.sender import ms_teams_sender
from tocsin.delivery.transport.http_requests import HttpRequests

FLOW = "/workflows/abc/triggers/manual/paths/invoke?sig=secret"
LATE_ANSWER = (
    "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error {} with ContextId"
)


class Workflow:
    """A workflow that takes cards of at most 28 kB with 202, and so many until it has had enough.

    ``fault`` is an answer that every message gets instead, as status and body.
    """

    def __init__(self, *, takes: int = 1_000, fault: tuple[int, str] | None = None) -> None:
        self.cards: list[dict[str, object]] = []
        self.answers: Counter[int] = Counter()
        self._left, self._fault = takes, fault

    async def post(self, request: web.Request) -> web.Response:
        status, text = self._answer(request, await request.read())
        self.answers[status] += 1
        return web.Response(status=status, text=text, headers={"Retry-After": "30"} if status == 429 else {})

    def _answer(self, request: web.Request, body: bytes) -> tuple[int, str]:
        if self._fault:
            return self._fault
        if request.query.get("sig") != "secret":
            return 401, "DirectApiAuthorizationRequired"
        if self._left <= 0:
            return 429, ""
        (attachment,) = json.loads(body)["attachments"]
        if len(body) > 28_000 or attachment["contentType"] != CARD_TYPE:
            return 413, ""
        self._left -= 1
        self.cards.append(attachment["content"])
        return 202, ""


def teams(url: str) -> dict[str, object]:
    return {"category": "External", "type": "MsTeams", "config": {"endpoint": url + FLOW}}


def sender_of(requests: HttpRequests) -> IncomingWebhook:
    return ms_teams_sender(requests, base_url="https://t.example")


async def test_every_change_is_a_card(store_engine: Engine) -> None:
    workflow = Workflow()
    async with listening(workflow.post) as url, delivering(store_engine, teams(url), sender_of, changes=3):
        await until(lambda: statuses(store_engine) == {("delivered", 1): 3})
    titles = sorted(str(one["fallbackText"]) for one in workflow.cards)
    assert titles == ["orders: description added", *["orders: description changed"] * 2]


async def test_a_workflow_that_has_had_enough_gets_the_rest_later(sqlite_engine: Engine) -> None:
    workflow = Workflow(takes=2)
    async with listening(workflow.post) as url, delivering(sqlite_engine, teams(url), sender_of, changes=3):
        await until(lambda: statuses(sqlite_engine) == {("delivered", 1): 2, ("awaitingRetry", 1): 1})
    assert workflow.answers == {202: 2, 429: 1}


@pytest.mark.parametrize(
    ("status", "body", "ends", "reason"),
    [
        (202, "", "delivered", "ok"),
        (200, "1", "delivered", "ok"),
        (200, LATE_ANSWER.format(429), "awaitingRetry", "rateLimited"),
        (200, LATE_ANSWER.format(413), "awaitingRetry", "clientError"),
        (404, "WorkflowNotFound", "awaitingRetry", "gone"),
        (401, "DirectApiAuthorizationRequired", "awaitingRetry", "clientError"),
        (502, "NoResponse", "awaitingRetry", "serverError"),
    ],
)
async def test_every_answer_means_what_teams_says(
    sqlite_engine: Engine, status: int, body: str, ends: str, reason: str
) -> None:
    """Fault scenario 23."""
    workflow = Workflow(fault=(status, body))
    async with listening(workflow.post) as url, delivering(sqlite_engine, teams(url), sender_of):
        await until(lambda: statuses(sqlite_engine) == {(ends, 1): 1})
    assert reasons(sqlite_engine) == {reason}
