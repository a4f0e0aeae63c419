"""Tests of VAPID: a signature that a push service can check, for it alone and not for long."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import ECKey
from joserfc.util import urlsafe_b64decode
from yarl import URL

from tocsin.delivery.channels.push.vapid import Vapid, new_vapid_key

NOW_MS = 1_800_000_000_000


def test_a_push_service_can_check_who_sends_by_the_key_that_the_browser_was_given() -> None:
    vapid = Vapid.of_text(new_vapid_key(), "https://tocsin.example.com")
    header = vapid.authorization(URL("https://push.example.net:444/send/x?y=z"), now_ms=NOW_MS)
    scheme, token, key = header.replace(",", "").split(" ")
    assert (scheme, key) == ("vapid", f"k={vapid.public_key}")
    point = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), urlsafe_b64decode(vapid.public_key.encode()))
    pem = point.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = jwt.decode(token.removeprefix("t="), ECKey.import_key(pem), ["ES256"]).claims
    assert claims["aud"] == "https://push.example.net:444"
    assert claims["sub"] == "https://tocsin.example.com"
    assert 0 < claims["exp"] - NOW_MS // 1000 <= 24 * 3_600
    stranger = generate_private_key(SECP256R1()).public_key()
    pem = stranger.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(BadSignatureError):
        jwt.decode(token.removeprefix("t="), ECKey.import_key(pem), ["ES256"])


def test_a_key_of_another_kind_is_refused() -> None:
    key = generate_rsa_key(65_537, 2_048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(TypeError, match=r"no key of P-256"):
        Vapid.of_text(key, "https://tocsin.example.com")
