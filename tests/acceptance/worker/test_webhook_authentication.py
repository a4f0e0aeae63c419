"""Tests of the authentication of webhooks against real receivers and a token server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from tests.acceptance.worker.receivers import LOOPBACK, destination, receiver
from tests.acceptance.worker.senders import webhook_sender
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.delivery.channels.google_chat.sender import google_chat_sender
from tocsin.delivery.channels.ms_teams.sender import ms_teams_sender
from tocsin.delivery.channels.slack.sender import SlackSender
from tocsin.delivery.channels.webhook.signature import is_signed
from tocsin.delivery.dispatch import Sender
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.subscription import Destination

HOUR_MS = 3_600_000


def slack_sender(requests: HttpRequests, *, base_url: str) -> Sender:
    return SlackSender(requests, base_url=base_url, api_url="http://slack")


@dataclass
class WebhookServer:
    """A token server at ``/token`` and a webhook at ``/hook``; it notes what both were asked."""

    url: str = ""
    forms: list[dict[str, str]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    grants: dict[str, Any] = field(default_factory=dict)
    token_status: int = 200
    token_text: str | None = None
    token_headers: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/hook":
            self.authorizations.append(request.headers.get("Authorization"))
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            self.bodies.append(await request.read())
            return web.Response(status=401 if self.authorizations[-1] in self.refused else 200)
        self.forms.append({name: str(value) for name, value in (await request.post()).items()})
        if self.token_text is not None:
            return web.Response(status=self.token_status, text=self.token_text, headers=self.token_headers)
        granted = {"access_token": f"t{len(self.forms)}", "token_type": "Bearer", **self.grants}
        return web.json_response(granted, status=self.token_status, headers=self.token_headers)

    def destination(self, **auth: str) -> Destination:
        client = {"tokenUrl": f"{self.url}/token", "clientId": "id", "clientSecret": "s&cret", **auth}
        return destination(f"{self.url}/hook", auth_type={"type": "oauth2", **client})


@asynccontextmanager
async def serve_webhook() -> AsyncIterator[WebhookServer]:
    site = WebhookServer()
    async with receiver(site.answer) as url:
        site.url = url
        yield site


async def send_at(to: Destination, *times_ms: int, allow: tuple[str, ...] = LOOPBACK) -> list[Outcome]:
    async with webhook_sender(egress_of(allow)) as channel:
        return [await channel.send(dispatch(), to, now_ms=now_ms) for now_ms in times_ms or (NOW_MS,)]


async def test_a_bearer_secret_signs_and_is_not_sent() -> None:
    async with serve_webhook() as site:
        for options in ({}, {"sendSecret": False}):
            to = destination(f"{site.url}/hook", auth_type={"type": "bearer", "secretKey": "new old", **options})
            assert isinstance((await send_at(to))[0], Delivered)
    assert site.authorizations == [None, None]
    assert all(is_signed(body, head, "old") for body, head in zip(site.bodies, site.headers, strict=True))


async def test_a_bearer_token_is_sent_if_asked_for_and_signs_and_the_newest_secret_is_it() -> None:
    async with serve_webhook() as site:
        bearer = {"type": "bearer", "secretKey": "new old", "sendSecret": True}
        assert isinstance((await send_at(destination(f"{site.url}/hook", auth_type=bearer)))[0], Delivered)
        own_headers = {"AUTHORIZATION": "Basic eA=="}
        await send_at(destination(f"{site.url}/hook", auth_type=bearer, headers=own_headers))
        await send_at(destination(f"{site.url}/hook", auth_type={"type": "none"}))
    assert site.authorizations == ["Bearer new", "Basic eA==", None]


@pytest.mark.parametrize("chat", [ms_teams_sender, google_chat_sender, slack_sender])
async def test_chats_are_authenticated_like_webhooks(chat: Callable[..., Sender]) -> None:
    bearer = {"type": "bearer", "secretKey": "new old"}
    async with serve_webhook() as site, HttpRequests(egress_of(LOOPBACK)) as requests:
        for auth in ({"type": "none"}, bearer, site.destination().config.auth_type):
            to = destination(f"{site.url}/hook", auth_type=auth)
            await chat(requests, base_url="http://tocsin").send(dispatch(), to, now_ms=NOW_MS)
    assert site.authorizations[0] is None
    assert site.authorizations[2] == "Bearer t1"
    assert ["webhook-signature" in headers for headers in site.headers] == [False, True, False]
    assert is_signed(site.bodies[1], site.headers[1], "old")


async def test_a_token_is_fetched_once_and_kept_until_it_expires() -> None:
    async with serve_webhook() as site:
        site.grants = {"expires_in": 3600}
        to = site.destination(scope="a b")
        outcomes = await send_at(to, NOW_MS, NOW_MS + HOUR_MS - 31_000, NOW_MS + HOUR_MS - 29_000)
    assert all(isinstance(outcome, Delivered) for outcome in outcomes)
    assert site.authorizations == ["Bearer t1", "Bearer t1", "Bearer t2"]
    form = {"grant_type": "client_credentials", "client_id": "id", "client_secret": "s&cret", "scope": "a b"}
    assert site.forms == [form, form]


async def test_requests_at_once_wait_for_one_token() -> None:
    async with serve_webhook() as site, webhook_sender(egress_of(LOOPBACK)) as channel:
        to = site.destination()
        outcomes = await asyncio.gather(*(channel.send(dispatch(), to, now_ms=NOW_MS) for _ in range(10)))
    assert all(isinstance(outcome, Delivered) for outcome in outcomes)
    assert (len(site.forms), site.authorizations) == (1, ["Bearer t1"] * 10)


async def test_other_credentials_get_a_token_of_their_own() -> None:
    async with serve_webhook() as site, webhook_sender(egress_of(LOOPBACK)) as channel:
        for auth in ({}, {"clientSecret": "other"}, {"clientSecret": "other", "scope": "x"}):
            await channel.send(dispatch(), site.destination(**auth), now_ms=NOW_MS)
    assert site.authorizations == ["Bearer t1", "Bearer t2", "Bearer t3"]


async def test_a_refused_token_is_replaced_once() -> None:
    async with serve_webhook() as site:
        site.refused = {"Bearer t1"}
        assert isinstance((await send_at(site.destination()))[0], Delivered)
        assert site.authorizations == ["Bearer t1", "Bearer t2"]
        site.refused = {f"Bearer t{number}" for number in range(10)}
        (outcome,) = await send_at(site.destination())
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.status_code) == (OutcomeReason.CLIENT_ERROR, 401)
    assert len(site.forms) == 4


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (302, Rejected, OutcomeReason.REDIRECT),
        (401, Retry, OutcomeReason.CLIENT_ERROR),
        (410, Retry, OutcomeReason.CLIENT_ERROR),
        (429, Retry, OutcomeReason.RATE_LIMITED),
        (503, Retry, OutcomeReason.SERVER_ERROR),
    ],
)
async def test_without_a_token_nothing_is_sent_and_the_answer_is_not_shown(
    status: int, kind: type, reason: OutcomeReason
) -> None:
    async with serve_webhook() as site:
        site.token_status, site.token_text = status, "client s&cret is unknown"
        site.token_headers = {"Retry-After": "70", "Location": "/elsewhere"}
        (outcome,) = await send_at(site.destination())
    assert isinstance(outcome, kind)
    assert not isinstance(outcome, Delivered)
    assert (outcome.reason, outcome.status_code) == (reason, None)
    assert outcome.detail == f"no access token from the token URL: it answered {status}"
    assert getattr(outcome, "after_s", None) == (None if status == 302 else 70)
    assert site.authorizations == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        '{"access_token": 7}',
        '{"access_token": ""}',
        '{"access_token": "a\\r\\nX: y"}',
        '{"access_token": "t", "token_type": "mac"}',
        '{"access_token": "' + "t" * 9_000 + '"}',
        '{"access_token": "t", "more": "' + "x" * 30_000 + '"}',
    ],
)
async def test_an_answer_without_a_usable_token_awaits_a_retry(text: str) -> None:
    async with serve_webhook() as site:
        site.token_text = text
        (outcome,) = await send_at(site.destination())
    assert isinstance(outcome, Retry)
    assert outcome.reason is OutcomeReason.SERVER_ERROR
    assert site.authorizations == []


@pytest.mark.parametrize("expires_in", ["3600", None, True, "soon", 1e99, "nan"])
async def test_any_statement_of_a_lifetime_will_do(expires_in: object) -> None:
    async with serve_webhook() as site:
        site.grants = {"expires_in": expires_in}
        assert isinstance((await send_at(site.destination()))[0], Delivered)


async def test_the_token_url_obeys_the_egress_policy() -> None:
    async with serve_webhook() as site:
        port = int(site.url.rpartition(":")[2])
        to = site.destination(tokenUrl=f"http://127.0.0.2:{port}/token")
        (outcome,) = await send_at(to, allow=(f"127.0.0.1:{port}",))
    assert isinstance(outcome, Rejected)
    assert outcome.reason is OutcomeReason.EGRESS_REFUSED
    assert (site.forms, site.authorizations) == ([], [])


async def test_a_token_server_that_is_away_is_a_failed_connection() -> None:
    async with serve_webhook() as site:
        (outcome,) = await send_at(site.destination(tokenUrl="http://127.0.0.1:1/token"))
    assert isinstance(outcome, Retry)
    assert outcome.reason is OutcomeReason.CONNECTION_FAILED
