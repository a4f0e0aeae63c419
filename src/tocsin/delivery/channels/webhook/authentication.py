"""Authentication of requests to webhooks and chats: none, a bearer secret, or OAuth 2.0 client credentials.

A bearer secret signs, as in OpenMetadata; it is sent only with ``sendSecret``: anyone who sees it can sign.
Source: OpenMetadata 1.13 ``entity/events/authentication``. Next: ``delivery/channels/webhook/access_tokens.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tocsin.delivery.channels.endpoints import check_endpoint
from tocsin.delivery.channels.webhook.signature import secrets_in
from tocsin.errors import InvalidInput
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.model.subscription import Destination, DestinationConfig

AUTHORIZATION = "authorization"

CHALLENGE = "challenge"
"""Value of ``verification`` with which an endpoint must answer a challenge first (``verification.py`` sends it)."""

_REQUIRED: dict[str, tuple[str, ...]] = {
    "none": (),
    "bearer": ("secretKey",),
    "oauth2": ("tokenUrl", "clientId", "clientSecret"),
}
SENDING = "sendSecret"
"""The key of a bearer authentication that sends the secret as a token, besides signing with it."""

_OPTIONAL = {"oauth2": ("scope",), "bearer": (SENDING,)}
_SECRET = frozenset(key for keys in _REQUIRED.values() for key in keys)
_VISIBLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True)
class OAuthClient:
    """Client credentials of a destination and where they get an access token."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None


def check_posting(destination: Destination, place: str) -> None:
    """Check a destination that posts to an address: its endpoint, and how it authenticates.

    Raises
    ------
    InvalidInput : one of them is wrong
    """
    check_endpoint(destination.config.endpoint, f"{place}.endpoint")
    check_authentication(destination.config, place)


def check_authentication(config: DestinationConfig, place: str) -> None:
    """Check ``authType`` of a destination; ``place`` is that of its configuration.

    Raises
    ------
    InvalidInput : it is of no known type, lacks a key, has one too many, or is at odds with a header
    """
    auth = config.auth_type
    if auth is None:
        return
    at, kind = f"{place}.authType", auth.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED:
        raise InvalidInput("must be none, bearer or oauth2", field=f"{at}.type")
    for key in _REQUIRED[kind]:
        if not isinstance(auth.get(key), str):
            raise InvalidInput(f"{kind} needs a {key}", field=f"{at}.{key}")
    for key in sorted(auth.keys() - {"type", *_REQUIRED[kind], *_OPTIONAL.get(kind, ())}):
        raise InvalidInput(f"is not a key of {kind}", field=f"{at}.{key}")
    if not isinstance(auth.get(SENDING, False), bool):
        raise InvalidInput("must be true or false", field=f"{at}.{SENDING}")
    check_credentials(auth, at)
    if kind == "oauth2":
        _check_beside_client(config, auth.get("scope"), place)


def check_credentials(auth: Document, place: str) -> None:
    """Check the secret values in an ``authType``; a mask is in the place of one that was checked.

    Raises
    ------
    InvalidInput : one is empty, no address, or nothing that a header can carry
    """
    for key in sorted(auth.keys() & _SECRET):
        value, at = str(auth[key]), f"{place}.{key}"
        if not value.strip():
            raise InvalidInput("must not be empty", field=at)
        if key == "secretKey" and not _VISIBLE.fullmatch(secrets_in(value)[0]):
            raise InvalidInput("is sent as a header: use printable ASCII", field=at)
        if key == "tokenUrl" and value != MASK:
            check_endpoint(value, at)


def _check_beside_client(config: DestinationConfig, scope: object, place: str) -> None:
    if scope is not None and not isinstance(scope, str):
        raise InvalidInput("must be text: scopes, separated by spaces", field=f"{place}.authType.scope")
    for name in config.headers:
        if name.lower() == AUTHORIZATION:
            raise InvalidInput("is set by authType oauth2: remove it", field=f"{place}.headers.{name}")


def bearer_of(config: DestinationConfig) -> str | None:
    """Return the token of a bearer authentication that sends it, its newest secret; None for any other."""
    auth = config.auth_type or {}
    secrets = secrets_in(auth.get("secretKey")) if auth.get("type") == "bearer" and auth.get(SENDING) else ()
    return secrets[0] if secrets else None


def authorization_of(config: DestinationConfig) -> dict[str, str]:
    """Return the header that carries the bearer token, unless the destination has one of its own."""
    token = bearer_of(config)
    has_own = any(name.lower() == AUTHORIZATION for name in config.headers)
    return {"Authorization": f"Bearer {token}"} if token and not has_own else {}


def signing_secrets(config: DestinationConfig) -> tuple[str, ...]:
    """Return the secrets that sign what is sent to a destination, newest first."""
    return secrets_in(config.secret_key or (config.auth_type or {}).get("secretKey"))


def oauth_client_of(config: DestinationConfig) -> OAuthClient | None:
    """Return the OAuth client of a configuration; None if it authenticates in another way."""
    auth = config.auth_type or {}
    if auth.get("type") != "oauth2":
        return None
    return OAuthClient(auth["tokenUrl"], auth["clientId"], auth["clientSecret"], auth.get("scope"))
