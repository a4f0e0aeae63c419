"""Signatures of webhook requests: three schemes over the same bytes.

Source: seeds/002 (``X-OpenMetadata-Signature``), OpenMetadata 1.13 ``webhookBearerAuth.json``
(``X-OM-Signature``), Standard Webhooks 1.0.0 (``webhook-*``, the only ones safe against replay).
Next: ``flow/send/channels/webhook/sender.py``.
"""

from __future__ import annotations

import base64
import binascii
import hmac

_PREFIX = "whsec_"


def secrets_in(secret_key: str | None) -> tuple[str, ...]:
    """Return the secrets that ``secret_key`` holds, newest first, separated by white space."""
    return tuple((secret_key or "").split())


def sign(body: bytes, secrets: tuple[str, ...], *, message_id: str, timestamp_s: int) -> dict[str, str]:
    """Return the headers that sign ``body``.

    OpenMetadata's two can carry one signature only and are keyed by the whole text of the first (newest)
    secret, ``whsec_`` included; the Standard Webhooks header carries one per secret, so that receivers may change
    over in their own time.
    Without a secret only the identifying headers are returned.
    """
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp_s)}
    if not secrets:
        return headers
    digest = _hmac(secrets[0].encode(), body)
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return headers | {
        "X-OpenMetadata-Signature": f"sha256={digest.hex()}",
        "X-OM-Signature": f"sha256={_base64(digest)}",
        "webhook-signature": " ".join(f"v1,{_base64(_hmac(key_of(secret), signed))}" for secret in secrets),
    }


def key_of(secret: str) -> bytes:
    """Return the key of a Standard Webhooks secret.

    ``whsec_`` is followed by base64; anything else is taken as it is (and so is a ``whsec_`` whose rest is
    not base64: a wrong signature is more informative to the receiver than none).
    """
    if secret.startswith(_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            return secret.encode()
    return secret.encode()


def is_signed(body: bytes, headers: dict[str, str], secret: str) -> bool:
    """Return whether lower-case ``headers`` carry a Standard Webhooks signature of ``body`` made with ``secret``."""
    signed = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode() + body
    expected = f"v1,{_base64(_hmac(key_of(secret), signed))}"
    return any(hmac.compare_digest(expected, given) for given in headers.get("webhook-signature", "").split())


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
