"""Tests of the push sender: each browser reads its message and nobody else does; one that is gone is forgotten."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from tests.push_reader import push_browser, read_push
from tests.unit.delivery.events import MESSAGE_ID, NOW_MS, dispatch

from tocsin.delivery.channels.push.render import MADE_UP, render_push
from tocsin.delivery.channels.push.sender import PushSender
from tocsin.delivery.channels.push.vapid import new_vapid_key
from tocsin.delivery.channels.sender_setup import PushSetup
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.delivery.transport.outcome import of_http_status
from tocsin.delivery.transport.request import Request, Transport
from tocsin.model.message import Outcome, OutcomeReason, Rejected, Retry
from tocsin.model.notification import ORDERED_IDS
from tocsin.model.push_browser import PushBrowser
from tocsin.model.subscription import Category, Channel, Destination

IN_INBOX = ORDERED_IDS.of(42, "0199c6f2-7c00-7000-8000-000000000001", "ActivityFeed", "dana")
DESTINATION = Destination(id="d", category=Category.OWNERS, type=Channel.PUSH)


class PushService(Transport):
    """Answers by host with a status, and keeps what it got."""

    def __init__(self, **statuses: int) -> None:
        self.statuses, self.requests = statuses, dict[str, Request]()

    async def exchange(self, request: Request, *, now_ms: int) -> tuple[Outcome, bytes]:
        host = request.url.host or ""
        self.requests[host] = request
        return of_http_status(self.statuses[host]), b""


async def send_to(service: Transport, browsers: Sequence[PushBrowser]) -> tuple[Outcome, list[str]]:
    gone_sessions: list[str] = []

    async def browsers_of(user_id: str, now_ms: int) -> Sequence[PushBrowser]:
        return browsers if (user_id, now_ms) == ("dana", NOW_MS) else ()

    async def forget(browser: PushBrowser) -> None:
        gone_sessions.append(browser.session_id)

    push = PushSetup(new_vapid_key(), browsers_of, forget)
    sender = PushSender(service, push, base_url="https://tocsin.example.com")
    return await sender.send(dispatch(target="dana"), DESTINATION, now_ms=NOW_MS), gone_sessions


async def test_each_browser_reads_which_asset_changed_and_no_value() -> None:
    keys = {host: generate_private_key(SECP256R1()) for host in ("a", "b")}
    service = PushService(a=201, b=201)
    outcome, gone_sessions = await send_to(
        service, [push_browser(f"https://{host}/send", key, session_id=f"session-{host}") for host, key in keys.items()]
    )
    assert (outcome.status_code, gone_sessions) == (201, [])
    for host, key in keys.items():
        request = service.requests[host]
        message = json.loads(read_push(request.payload, key))
        url = f"https://tocsin.example.com/inbox/{IN_INBOX}?event=0199c6f2-7c00-7000-8000-000000000001"
        assert message == {"title": "orders: 1 change", "url": url, "tag": MESSAGE_ID}
        assert b"orders" not in request.payload
        assert request.headers["Authorization"].startswith("vapid t=")
        assert request.headers["Content-Encoding"] == "aes128gcm"
        assert request.headers["Topic"] == MESSAGE_ID.replace("-", "")


async def test_a_browser_that_is_gone_is_forgotten_and_one_that_is_away_is_tried_again() -> None:
    key = generate_private_key(SECP256R1())
    service = PushService(a=410, b=404, c=503, d=201)
    outcome, gone_sessions = await send_to(
        service, [push_browser(f"https://{host}/send", key, session_id=f"session-{host}") for host in "abcd"]
    )
    assert gone_sessions == ["session-a", "session-b"]
    assert outcome.status_code == 503
    outcome, _ = await send_to(PushService(a=410), [push_browser("https://a/send", key)])
    assert outcome.detail == "no browser"


async def test_a_browser_that_subscribes_anew_during_the_attempt_takes_the_message_there() -> None:
    key = generate_private_key(SECP256R1())
    current = [push_browser("https://old/send", key)]

    async def browsers_of(_user_id: str, _now_ms: int) -> Sequence[PushBrowser]:
        return tuple(current)

    async def forget(_browser: PushBrowser) -> None:
        current[:] = [push_browser("https://new/send", key)]

    service = PushService(old=410, new=201)
    sender = PushSender(service, PushSetup(new_vapid_key(), browsers_of, forget), base_url="https://tocsin.example.com")
    outcome = await sender.send(dispatch(target="dana"), DESTINATION, now_ms=NOW_MS)
    assert (outcome.status_code, list(service.requests)) == (201, ["old", "new"])


@pytest.mark.parametrize(
    "host", ["localhost", "2130706433", "127.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"]
)
async def test_no_name_of_a_private_address_is_connected_to(host: str) -> None:
    browser = push_browser(f"https://{host}/send", generate_private_key(SECP256R1()))
    async with HttpRequests(egress_of(())) as requests:
        outcome, gone_sessions = await send_to(requests, [browser])
    assert isinstance(outcome, Rejected)
    assert outcome.reason in {OutcomeReason.EGRESS_REFUSED, OutcomeReason.BAD_URL}
    assert gone_sessions == []


@pytest.mark.parametrize(("status", "kind"), [(301, Rejected), (413, Retry), (429, Retry), (500, Retry)])
async def test_what_a_push_service_refuses_is_told_from_what_comes_later(status: int, kind: type[Outcome]) -> None:
    browser = push_browser("https://a/send", generate_private_key(SECP256R1()))
    outcome, gone_sessions = await send_to(PushService(a=status), [browser])
    assert isinstance(outcome, kind) and gone_sessions == []
    other_browser = push_browser("https://b/send", generate_private_key(SECP256R1()), session_id="other")
    outcome, _ = await send_to(PushService(a=status, b=201), [browser, other_browser])
    assert isinstance(outcome, kind), "what did not reach every browser is not delivered"


def test_a_message_about_a_made_up_event_says_that_it_is_a_test() -> None:
    message = dispatch(target="dana")
    trial = replace(message, entries=tuple(replace(entry, log_offset=MADE_UP) for entry in message.entries))
    assert json.loads(render_push(trial, base_url="https://tocsin.example.com")) == {
        "title": "A test of Tocsin: this browser takes messages.",
        "url": "https://tocsin.example.com/settings/notifications",
        "tag": message.message.id,
    }
