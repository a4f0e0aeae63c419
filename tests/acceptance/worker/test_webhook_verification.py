"""Tests of webhooks whose endpoint answers a challenge before it gets events."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from tests.acceptance.worker.receivers import LOOPBACK, destination, receiver
from tests.acceptance.worker.senders import webhook_sender
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.channels.webhook.signature import is_signed
from tocsin.delivery.transport.egress import egress_of
from tocsin.model.message import Delivered, Outcome, OutcomeReason
from tocsin.model.subscription import Destination

Answer = Callable[[str], object]


def hmac_of(secret: str) -> Answer:
    """Answer with the HMAC of the challenge."""
    return lambda challenge: {"response": hmac.new(secret.encode(), challenge.encode(), hashlib.sha256).hexdigest()}


def echo(challenge: str) -> object:
    return {"response": challenge}


@dataclass
class Endpoint:
    """Answers challenges; ``is_open`` unset lets them wait."""

    answer: Answer
    status: int = 200
    is_open: asyncio.Event = field(default_factory=asyncio.Event)
    challenges: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    url: str = ""

    async def take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        request_body = json.loads(body)
        if "challenge" not in request_body:
            self.events.append(request_body)
            return web.Response()
        self.challenges.append(({name.lower(): value for name, value in request.headers.items()}, body))
        await self.is_open.wait()
        return web.json_response(self.answer(request_body["challenge"]), status=self.status)

    def destination(self, **config: Any) -> Destination:
        return destination(self.url, verification="challenge", **config)


@contextlib.asynccontextmanager
async def open_endpoint(
    answer: Answer, *, status: int = 200, is_open: bool = True
) -> AsyncIterator[tuple[Endpoint, WebhookSender]]:
    endpoint = Endpoint(answer, status)
    if is_open:
        endpoint.is_open.set()
    async with receiver(endpoint.take) as url, webhook_sender(egress_of(LOOPBACK)) as channel:
        endpoint.url = url
        yield endpoint, channel


async def send_often(channel: WebhookSender, to: Destination, count: int = 1) -> list[Outcome]:
    message = dispatch(target="http://unused.invalid")
    return await asyncio.gather(*[channel.send(message, to, now_ms=NOW_MS) for _ in range(count)])


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ({}, echo),
        ({"secret_key": "new old"}, hmac_of("new")),
        ({"secret_key": "new old"}, hmac_of("old")),
        ({"auth_type": {"type": "bearer", "secretKey": "k"}}, hmac_of("k")),
    ],
)
async def test_an_endpoint_that_answers_gets_events_and_is_asked_once(
    config: dict[str, object], answer: Answer
) -> None:
    async with open_endpoint(answer) as (endpoint, channel):
        for _ in range(3):
            (outcome,) = await send_often(channel, endpoint.destination(**config))
            assert isinstance(outcome, Delivered)
    assert (len(endpoint.challenges), len(endpoint.events)) == (1, 3)


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ({}, lambda challenge: {"challenge": challenge}),
        ({}, lambda _challenge: {"response": "ok"}),
        ({}, lambda challenge: challenge),
        ({}, lambda challenge: {"response": [challenge]}),
        ({"secret_key": "k"}, echo),
        ({"secret_key": "k"}, hmac_of("another")),
        ({"secret_key": "k"}, lambda _challenge: {"response": "é"}),
    ],
)
async def test_an_endpoint_that_does_not_answer_gets_no_event(config: dict[str, object], answer: Answer) -> None:
    async with open_endpoint(answer) as (endpoint, channel):
        outcomes = [(await send_often(channel, endpoint.destination(**config)))[0] for _ in range(2)]
    assert {None if isinstance(outcome, Delivered) else outcome.reason for outcome in outcomes} == {
        OutcomeReason.NOT_VERIFIED
    }
    assert (len(endpoint.challenges), endpoint.events) == (2, [])


@pytest.mark.parametrize(
    ("status", "reason"),
    [(503, OutcomeReason.SERVER_ERROR), (404, OutcomeReason.CLIENT_ERROR), (410, OutcomeReason.GONE)],
)
async def test_what_refuses_the_challenge_counts_as_what_it_says(status: int, reason: OutcomeReason) -> None:
    async with open_endpoint(echo, status=status) as (endpoint, channel):
        (outcome,) = await send_often(channel, endpoint.destination())
    assert not isinstance(outcome, Delivered)
    assert (outcome.reason, outcome.status_code, endpoint.events) == (reason, status, [])
    assert outcome.detail.startswith("verification of the endpoint")


async def test_many_messages_wait_for_one_answer() -> None:
    async with open_endpoint(echo, is_open=False) as (endpoint, channel):
        sending = asyncio.create_task(send_often(channel, endpoint.destination(), 5))
        while not endpoint.challenges:
            await asyncio.sleep(0)
        assert endpoint.events == []
        endpoint.is_open.set()
        assert all(isinstance(one, Delivered) for one in await sending)
    assert (len(endpoint.challenges), len(endpoint.events)) == (1, 5)


async def test_another_endpoint_or_secret_is_asked_again() -> None:
    async with open_endpoint(hmac_of("k")) as (endpoint, channel):
        first = endpoint.destination(secret_key="k")
        elsewhere = first.model_copy(
            update={"config": first.config.model_copy(update={"endpoint": endpoint.url + "/b"})}
        )
        outcomes = [
            (await send_often(channel, target))[0]
            for target in (first, elsewhere, endpoint.destination(secret_key="new"))
        ]
    assert [isinstance(one, Delivered) for one in outcomes] == [True, True, False]
    assert len(endpoint.challenges) == 3


async def test_the_challenge_is_signed_and_carries_the_destinations_headers() -> None:
    async with open_endpoint(hmac_of("k")) as (endpoint, channel):
        await send_often(channel, replace_headers(endpoint.destination(secret_key="k"), {"X-Api-Key": "a"}))
    ((headers, body),) = endpoint.challenges
    assert is_signed(body, headers, "k")
    assert headers["x-api-key"] == "a"
    assert headers["webhook-id"].startswith("verification_")
    assert not {"idempotency-key", "x-tocsin-offset", "x-tocsin-reason"} & headers.keys()
    assert json.loads(body) == {
        "type": "endpointVerification",
        "challenge": headers["webhook-id"].removeprefix("verification_"),
        "timestamp": NOW_MS,
    }


def replace_headers(destination: Destination, headers: dict[str, str]) -> Destination:
    return destination.model_copy(update={"config": destination.config.model_copy(update={"headers": headers})})
