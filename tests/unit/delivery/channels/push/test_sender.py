"""Tests of the push sender: each browser reads its message and nobody else does; one that is gone is forgotten."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc.util import to_str, urlsafe_b64encode
from tests.unit.delivery.events import MESSAGE_ID, NOW_MS, dispatch

from tocsin.delivery.channels.push.encryption import point_of
from tocsin.delivery.channels.push.sender import BrowserBook, PushSender
from tocsin.delivery.channels.push.vapid import Vapid, new_vapid_key
from tocsin.delivery.transport.outcome import of_http_status
from tocsin.delivery.transport.request import Request, Transport
from tocsin.model.message import Outcome
from tocsin.model.subscription import Category, Channel, Destination
from tocsin.store.catalogue.people.push_browsers import PushBrowser

AUTH = b"0123456789abcdef"
DESTINATION = Destination(id="d", category=Category.OWNERS, type=Channel.ACTIVITY_FEED)


class PushService(Transport):
    """Answers by host with a status, and keeps what it got."""

    def __init__(self, **statuses: int) -> None:
        self.statuses, self.requests = statuses, dict[str, Request]()

    async def exchange(self, request: Request, *, now_ms: int) -> tuple[Outcome, bytes]:
        host = request.url.host or ""
        self.requests[host] = request
        return of_http_status(self.statuses[host]), b""


def browser(host: str, key: EllipticCurvePrivateKey) -> PushBrowser:
    p256dh, auth = (to_str(urlsafe_b64encode(one)) for one in (point_of(key.public_key()), AUTH))
    return PushBrowser(f"session-{host}", "dana", f"https://{host}/send", p256dh, auth, NOW_MS)


def read_as_browser(body: bytes, key: EllipticCurvePrivateKey) -> bytes:
    """Return what a browser reads in the body of a message (RFC 8291, section 3.4; RFC 8188, section 2)."""
    salt, sender, record = body[:16], body[21:86], body[86:]
    shared_secret = key.exchange(ECDH(), EllipticCurvePublicKey.from_encoded_point(SECP256R1(), sender))
    info = b"WebPush: info\0" + point_of(key.public_key()) + sender
    secret = HKDF(SHA256(), 32, AUTH, info).derive(shared_secret)
    content_key, nonce = (
        HKDF(SHA256(), length, salt, b"Content-Encoding: " + name + b"\0").derive(secret)
        for length, name in ((16, b"aes128gcm"), (12, b"nonce"))
    )
    return AESGCM(content_key).decrypt(nonce, record, None).rstrip(b"\0").removesuffix(b"\x02")


async def send_to(service: PushService, browsers: Sequence[PushBrowser]) -> tuple[Outcome, list[str]]:
    gone_sessions: list[str] = []

    async def of(user_id: str, now_ms: int) -> Sequence[PushBrowser]:
        return browsers if (user_id, now_ms) == ("dana", NOW_MS) else ()

    async def forget(session_id: str) -> None:
        gone_sessions.append(session_id)

    vapid = Vapid.of_text(new_vapid_key(), "https://tocsin.example.com")
    sender = PushSender(service, vapid, BrowserBook(of, forget), base_url="https://tocsin.example.com")
    return await sender.send(dispatch(target="dana"), DESTINATION, now_ms=NOW_MS), gone_sessions


async def test_each_browser_reads_which_asset_changed_and_no_value() -> None:
    keys = {host: generate_private_key(SECP256R1()) for host in ("a", "b")}
    service = PushService(a=201, b=201)
    outcome, gone_sessions = await send_to(service, [browser(host, key) for host, key in keys.items()])
    assert (outcome.status_code, gone_sessions) == (201, [])
    for host, key in keys.items():
        request = service.requests[host]
        message = json.loads(read_as_browser(request.payload, key))
        url = "https://tocsin.example.com/inbox/n"
        assert message == {"title": "orders: 1 change", "url": url, "tag": MESSAGE_ID}
        assert b"orders" not in request.payload
        assert request.headers["Authorization"].startswith("vapid t=")
        assert request.headers["Content-Encoding"] == "aes128gcm"


async def test_a_browser_that_is_gone_is_forgotten_and_one_that_is_away_is_tried_again() -> None:
    key = generate_private_key(SECP256R1())
    service = PushService(a=410, b=404, c=503, d=201)
    outcome, gone_sessions = await send_to(service, [browser(host, key) for host in "abcd"])
    assert gone_sessions == ["session-a", "session-b"]
    assert outcome.status_code == 503
    outcome, _ = await send_to(PushService(a=410), [browser("a", key)])
    assert outcome.detail == "no browser"
