"""Encryption of web push messages: only the browser that subscribed can read one, and no push service.

Source: RFC 8291 (Message Encryption for Web Push) over RFC 8188 (``aes128gcm``), one record.
Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

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
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_RECORD_BYTES = 4_096
_SALT_BYTES, _KEY_BYTES, _NONCE_BYTES, _SECRET_BYTES = 16, 16, 12, 32
_LAST_RECORD = b"\x02"


@dataclass(frozen=True)
class BrowserKeys:
    """What a browser gave away when it subscribed: ``p256dh``, an uncompressed point, and ``auth``, 16 bytes."""

    p256dh: bytes
    auth: bytes

    def public_key(self) -> EllipticCurvePublicKey:
        """Return the browser's public key.

        Raises
        ------
        ValueError : it is no point of P-256
        """
        return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), self.p256dh)


def encrypt(
    payload: bytes, keys: BrowserKeys, *, salt: bytes | None = None, sender: EllipticCurvePrivateKey | None = None
) -> bytes:
    """Return the body of a push message; each has a key and a salt of its own, which only tests choose."""
    salt, sender = salt or secrets.token_bytes(_SALT_BYTES), sender or generate_private_key(SECP256R1())
    sender_point = point_of(sender.public_key())
    shared_secret = sender.exchange(ECDH(), keys.public_key())
    info = b"WebPush: info\x00" + keys.p256dh + sender_point
    secret = _derive(shared_secret, keys.auth, info, _SECRET_BYTES)
    key = _derive(secret, salt, b"Content-Encoding: aes128gcm\x00", _KEY_BYTES)
    nonce = _derive(secret, salt, b"Content-Encoding: nonce\x00", _NONCE_BYTES)
    header = salt + _RECORD_BYTES.to_bytes(4) + len(sender_point).to_bytes(1) + sender_point
    return header + AESGCM(key).encrypt(nonce, payload + _LAST_RECORD, None)


def point_of(key: EllipticCurvePublicKey) -> bytes:
    """Return a public key as browsers write it: an uncompressed point, 65 bytes."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)
