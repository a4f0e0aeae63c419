"""Signatures of webhook requests: three schemes over the same bytes.

Source: seeds/002 (``X-OpenMetadata-Signature``), OpenMetadata 1.13 ``webhookBearerAuth.json``
(``X-OM-Signature``), Standard Webhooks 1.0.0 (``webhook-*``, the only ones safe against replay).
Next: ``delivery/channels/webhook/sender.py``.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping

_PREFIX = "whsec_"
_SECONDS = re.compile(r"[0-9]{1,12}")


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
        except ValueError:
            return secret.encode()
    return secret.encode()


def is_signed(body: bytes, headers: Mapping[str, str], secret: str) -> bool:
    """Return whether lower-case ``headers`` carry a Standard Webhooks signature of ``body`` made with ``secret``.

    Headers that are missing or that no sender of ours writes are no signature.
    """
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not message_id or not _SECONDS.fullmatch(timestamp):
        return False
    signed = _bytes_of(f"{message_id}.{timestamp}.") + body
    expected = f"v1,{_base64(_hmac(key_of(secret), signed))}".encode()
    signatures = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected, _bytes_of(signature)) for signature in signatures)


def _bytes_of(header: str) -> bytes:
    return header.encode(errors="surrogatepass")


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
