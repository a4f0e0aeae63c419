"""VAPID: how a push service knows that a message is from the server for which a browser subscribed.

The key is made once and kept sealed, as every key of the server; browsers are given its public half when they
subscribe, so a new key ends all subscriptions. Source: RFC 8292. Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from joserfc import jwt
from joserfc.jwk import ECKey
from joserfc.util import to_str, urlsafe_b64encode
from yarl import URL

from tocsin.delivery.channels.push.encryption import point_of

_ALGORITHM = "ES256"
_LIFETIME_S = 12 * 3_600
"""Push services take at most 24 hours."""


@dataclass(frozen=True)
class Vapid:
    """Signs requests to push services; ``contact`` is the address of the server, which they may write to."""

    key: EllipticCurvePrivateKey
    contact: str

    @classmethod
    def of_text(cls, pem: str, contact: str) -> Vapid:
        """Return what signs with a key in PEM.

        Raises
        ------
        TypeError : it is no key of an elliptic curve
        """
        key = load_pem_private_key(pem.encode(), None)
        if not isinstance(key, EllipticCurvePrivateKey):
            raise TypeError("the key of web push is no key of P-256")
        return cls(key, contact)

    @property
    def public_key(self) -> str:
        """What browsers subscribe with: the point, in base64url."""
        return to_str(urlsafe_b64encode(point_of(self.key.public_key())))

    def authorization(self, endpoint: URL, *, now_ms: int) -> str:
        """Return the header ``Authorization`` of a request to an endpoint; it holds for its push service alone."""
        claims = {"aud": str(endpoint.origin()), "exp": now_ms // 1000 + _LIFETIME_S, "sub": self.contact}
        token = jwt.encode({"alg": _ALGORITHM, "typ": "JWT"}, claims, self._signing_key, [_ALGORITHM])
        return f"vapid t={token}, k={self.public_key}"

    @cached_property
    def _signing_key(self) -> ECKey:
        """The key as the library of tokens has it, imported once for all messages."""
        return ECKey.import_key(self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def new_vapid_key() -> str:
    """Return a new key, in PEM."""
    key = generate_private_key(SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
