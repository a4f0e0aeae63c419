"""Tests of the encryption of push messages: the example of RFC 8291, and that nothing of a message is readable."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
from joserfc.util import urlsafe_b64decode

from tocsin.delivery.channels.push.encryption import BrowserKeys, encrypt, point_of

# RFC 8291, section 5 and appendix A.
_PLAIN = b"When I grow up, I want to be a watermelon"
_SENDER_PRIVATE = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
_SENDER_PUBLIC = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
_BROWSER_PUBLIC = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
_AUTH, _SALT = "BTBZMqHH6r4Tts7J_aSIgg", "DGv6ra1nlYgDCS1FRnbzlw"
_BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
    "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text.encode())


def test_the_example_of_the_standard_is_encrypted_as_there() -> None:
    sender = derive_private_key(int.from_bytes(_bytes(_SENDER_PRIVATE)), SECP256R1())
    assert point_of(sender.public_key()) == _bytes(_SENDER_PUBLIC)
    keys = BrowserKeys(_bytes(_BROWSER_PUBLIC), _bytes(_AUTH))
    assert encrypt(_PLAIN, keys, salt=_bytes(_SALT), sender=sender) == _bytes(_BODY)


def test_each_message_has_its_own_key_and_salt() -> None:
    keys = BrowserKeys(_bytes(_BROWSER_PUBLIC), _bytes(_AUTH))
    first, second = encrypt(_PLAIN, keys), encrypt(_PLAIN, keys)
    assert first[:16] != second[:16]
    assert first[21:86] != second[21:86]
    assert _PLAIN not in first


def test_a_key_that_is_no_point_is_refused() -> None:
    with pytest.raises(ValueError):
        BrowserKeys(b"\x04" + b"\x01" * 64, _bytes(_AUTH)).public_key()
