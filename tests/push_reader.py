"""Browsers of tests: what they subscribe with, and how they read push messages."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc.util import to_str, urlsafe_b64encode

from tocsin.delivery.channels.push.encryption import point_of
from tocsin.model.push_browser import PushBrowser

AUTH = b"0123456789abcdef"


def push_browser(
    endpoint: str, key: EllipticCurvePrivateKey, *, user_id: str = "dana", session_id: str = "session"
) -> PushBrowser:
    """Return a browser of a person that holds a key and takes messages at an endpoint."""
    p256dh, auth = (to_str(urlsafe_b64encode(one)) for one in (point_of(key.public_key()), AUTH))
    return PushBrowser(session_id, user_id, endpoint, p256dh, auth, 1)


def read_push(body: bytes, key: EllipticCurvePrivateKey) -> bytes:
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
