"""Tests of webhook signatures."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tocsin.delivery.channels.webhook.signature import is_signed, key_of, secrets_in, sign

BODY = b'{"eventType": "entityUpdated"}'
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def printed_verification() -> Callable[[bytes, dict[str, str], str], bool]:
    """Return the function that the documents print."""
    page = (Path(__file__).parents[5] / "docs" / "webhooks.md").read_text()
    snippet: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], snippet)
    is_genuine: Callable[[bytes, dict[str, str], str], bool] = snippet["is_genuine"]
    return is_genuine


def test_known_standard_webhooks_vector_is_reproduced() -> None:
    # The vector of the specification's own libraries.
    headers = sign(b'{"test": 2432232314}', (WHSEC,), message_id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp_s=1614265330)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_openmetadata_signatures_are_hex_and_base64_of_the_same_digest() -> None:
    headers = sign(BODY, ("your-secret-key",), message_id="m", timestamp_s=1)
    digest = hmac.new(b"your-secret-key", BODY, hashlib.sha256).digest()
    assert headers["X-OpenMetadata-Signature"] == f"sha256={digest.hex()}"
    assert headers["X-OM-Signature"] == "sha256=" + base64.b64encode(digest).decode()


def test_every_secret_signs_during_a_rotation() -> None:
    secrets = secrets_in(f"{WHSEC}  old-secret")
    headers = sign(BODY, secrets, message_id="m", timestamp_s=1)
    assert all(is_signed(BODY, headers, secret) for secret in secrets)
    assert not is_signed(BODY, headers, "another")


def test_a_changed_body_id_or_time_breaks_the_signature() -> None:
    headers = sign(BODY, ("s",), message_id="m", timestamp_s=1)
    assert not is_signed(BODY + b" ", headers, "s")
    assert not is_signed(BODY, headers | {"webhook-id": "n"}, "s")
    assert not is_signed(BODY, headers | {"webhook-timestamp": "2"}, "s")


def test_without_a_secret_the_request_is_named_but_not_signed() -> None:
    assert sign(BODY, secrets_in(None), message_id="m", timestamp_s=7) == {
        "webhook-id": "m",
        "webhook-timestamp": "7",
    }


def test_a_whsec_secret_is_decoded_and_a_plain_one_taken_as_it_is() -> None:
    assert key_of("whsec_" + base64.b64encode(b"key").decode()) == b"key"
    assert key_of("key") == b"key"
    assert key_of("whsec_not base64") == b"whsec_not base64"


@pytest.mark.parametrize("secret", ["whsec_TWZLUTlyOEc=", "your-secret-key"])
def test_the_whole_text_of_a_secret_keys_the_signatures_of_the_body(secret: str) -> None:
    headers = sign(BODY, (secret,), message_id="m", timestamp_s=1)
    digest = hmac.new(secret.encode(), BODY, hashlib.sha256).digest()
    assert headers["X-OpenMetadata-Signature"] == f"sha256={digest.hex()}"
    assert headers["X-OM-Signature"] == f"sha256={base64.b64encode(digest).decode()}"


@pytest.mark.parametrize("secret", [WHSEC, "your-secret-key"])
def test_the_snippet_in_the_documents_verifies_what_is_sent(secret: str) -> None:
    is_genuine = printed_verification()
    now_s = int(time.time())
    headers = sign(BODY, (secret, "old"), message_id="m", timestamp_s=now_s)
    assert is_genuine(BODY, headers, secret)
    assert is_genuine(BODY, headers, "old")
    assert not is_genuine(BODY + b" ", headers, secret)
    assert not is_genuine(BODY, sign(BODY, (secret,), message_id="m", timestamp_s=now_s - 1_000), secret)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-signature": "v1,ü"},
        {"webhook-signature": "v1,\udcff \ud800"},
        {"webhook-signature": ""},
        {"webhook-signature": None},
        {"webhook-id": None},
        {"webhook-id": ""},
        {"webhook-id": "m\udcff"},
        {"webhook-timestamp": None},
        {"webhook-timestamp": ""},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "-1"},
        {"webhook-timestamp": "1e9"},
        {"webhook-timestamp": "\u0661\u0667"},
        {"webhook-timestamp": "9" * 5_000},
    ],
)
def test_a_verifier_answers_no_whatever_the_headers_are(change: dict[str, str | None]) -> None:
    sent = sign(BODY, (WHSEC,), message_id="m", timestamp_s=int(time.time()))
    headers = {name: value for name, value in (sent | change).items() if value is not None}
    assert not is_signed(BODY, headers, WHSEC)
    assert not printed_verification()(BODY, headers, WHSEC)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp"])
def test_a_signature_without_id_or_time_is_none(name: str) -> None:
    """Even if the secret made it: a request without them could be sent again for ever."""
    parts = {"webhook-id": "m", "webhook-timestamp": "1"} | {name: "None"}
    signed = f"{parts['webhook-id']}.{parts['webhook-timestamp']}.".encode() + BODY
    signature = base64.b64encode(hmac.digest(b"s", signed, "sha256")).decode()
    headers = {key: value for key, value in parts.items() if key != name} | {"webhook-signature": f"v1,{signature}"}
    assert not is_signed(BODY, headers, "s")
    assert not printed_verification()(BODY, headers, "s")


@pytest.mark.parametrize("secret", ["whsec_ü", "whsec_a", "ü"])
def test_a_secret_that_is_no_base64_is_the_key_as_it_stands(secret: str) -> None:
    headers = sign(BODY, (secret,), message_id="m", timestamp_s=int(time.time()))
    assert is_signed(BODY, headers, secret)
    assert printed_verification()(BODY, headers, secret)
