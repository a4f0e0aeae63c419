"""Passwords (argon2) and signed tokens (JWT, HS256) of people and bots.

The signing key is created at first start and shared by all servers through the store. Access to assets is decided
elsewhere (``flow/resolve/only_visible.py``). Next: ``server/request.py``.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import secrets
import threading
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from uuid import uuid4

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from tocsin.clock import Clock
from tocsin.errors import NotFound, Unauthenticated
from tocsin.model.people import Actor, Person
from tocsin.server.login.token_cache import TokenCache
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.tokens import IssuedToken, TokenKind

# Source: OWASP Password Storage Cheat Sheet, the Argon2id line with 19 MiB.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# Hashing is meant to cost memory; without a bound, forty logins at once would cost forty times as much.
_HASHING = threading.BoundedSemaphore(4)
_ALGORITHM = "HS256"
# Times are checked by the clock that was handed in.
_CLAIMS = jwt.BaseClaimsRegistry(
    iss={"essential": True, "value": "tocsin"},
    sub={"essential": True},
    iat={"essential": True},
    jti={"essential": True},
)
_LONGEST_PASSWORD = 1024
_USE = "use"

COOKIE_SCHEME = "session"
"""Stands before the token of a cookie where others have ``Bearer``; no request may name it."""

EMBED_SCHEME = "embed"
"""Stands before the token of an embed, as the routes of embeds read it; no request may name it either."""

OWN_SCHEMES = frozenset({COOKIE_SCHEME, EMBED_SCHEME})
"""Of tokens that say what they may be used for; a bearer token says nothing."""

_USES = {TokenKind.BROWSER: COOKIE_SCHEME, TokenKind.EMBED: EMBED_SCHEME}

UNLIMITED = "Unlimited"
_DAY_S = 86_400
LIFETIMES_S: dict[str, float | None] = {
    "OneHour": 3_600,
    "1": _DAY_S,
    "7": 7 * _DAY_S,
    "30": 30 * _DAY_S,
    "60": 60 * _DAY_S,
    "90": 90 * _DAY_S,
    UNLIMITED: None,
}
"""Upstream's choices for how long a token works, in seconds."""


@dataclass(frozen=True)
class Token:
    """A bearer token and when it stops working (epoch milliseconds; None: never); ``issued`` is its row."""

    text: str
    issued: IssuedToken

    @property
    def expires_at_ms(self) -> int | None:
        """When it stops working, in epoch milliseconds."""
        return self.issued.expires_at_ms


@dataclass(frozen=True)
class StreamSession:
    """The token that a stream was opened with, whose it was then, and until when it works."""

    token_id: str
    actor: Actor
    expires_at_ms: int | None


class Tokens:
    """Signs tokens and reads them; ``lifetime_s`` is how long a person's token works."""

    def __init__(self, people: People, clock: Clock, *, lifetime_s: float, cache: TokenCache | None = None) -> None:
        self._people, self._clock, self._lifetime_s = people, clock, lifetime_s
        self._cache = cache or TokenCache()
        self._key = OctKey.import_key(people.secret("token-key", lambda: secrets.token_hex(32)))

    def issue(self, person: Person, *, lasting: bool = False) -> Token:
        """Return a new token; ``lasting`` gives a bot one that does not expire, and is nothing to a person."""
        if lasting and person.is_bot:
            return self.issue_named(person, TokenKind.BOT, lifetime_s=None)
        return self.issue_named(person, TokenKind.SESSION, lifetime_s=self._lifetime_s)

    def issue_named(
        self,
        person: Person,
        kind: TokenKind,
        name: str = "",
        *,
        lifetime_s: float | None,
        parent: IssuedToken | None = None,
    ) -> Token:
        """Return a new token of a kind; ``lifetime_s`` None gives one that does not expire.

        One that is made with another, its ``parent``, expires with it at the latest and is revoked with it.
        """
        now_ms = self._clock.now_ms()
        ends = [] if lifetime_s is None else [now_ms + int(lifetime_s * 1000)]
        if parent is not None and parent.expires_at_ms is not None:
            ends.append(parent.expires_at_ms)
        issued_token = IssuedToken(
            str(uuid4()), person.id, kind, name, now_ms, min(ends, default=None), parent.id if parent else None
        )
        self._people.tokens.add(issued_token)
        return Token(self.text_of(issued_token, person), issued_token)

    def issue_for_browser(self, person: Person, browser: str, *, idle_ms: int, total_ms: int) -> Token:
        """Return a new token for the cookie of a browser: its row ends when it is not used, its text with all."""
        now_ms = self._clock.now_ms()
        row = IssuedToken(str(uuid4()), person.id, TokenKind.BROWSER, browser, now_ms, now_ms + min(idle_ms, total_ms))
        self._people.tokens.add(row)
        return Token(self.text_of(replace(row, expires_at_ms=now_ms + total_ms), person), row)

    def text_of(self, issued_token: IssuedToken, person: Person) -> str:
        """Return the text of a token that was issued: its row and the key say all of it."""
        claims: dict[str, object] = {
            "iss": "tocsin",
            "sub": person.id,
            "jti": issued_token.id,
            "name": person.name,
            "isBot": person.is_bot,
            "iat": issued_token.issued_at_ms // 1000,
        }
        if issued_token.expires_at_ms is not None:
            claims["exp"] = issued_token.expires_at_ms // 1000
        if issued_token.kind in _USES:
            claims[_USE] = _USES[issued_token.kind]
        return jwt.encode({"alg": _ALGORITHM}, claims, self._key)

    def id_of(self, authorization: str | None) -> str:
        """Return the id of the token in a header that ``actor`` has accepted."""
        return str(self._accepted_claims(authorization)["jti"])

    def session(self, authorization: str | None, actor: Actor) -> StreamSession:
        """Return what has to be rechecked for as long as the response to this header is streamed."""
        claims = self._accepted_claims(authorization)
        return StreamSession(str(claims["jti"]), actor, _expires_at_ms(claims))

    def _accepted_claims(self, authorization: str | None) -> dict[str, Any]:  # Any: a claim's value
        scheme, _, text = (authorization or "").partition(" ")
        return self._claims(text.strip(), scheme)

    def actor(self, authorization: str | None) -> Actor:
        """Return who sent this ``Authorization`` header.

        Raises
        ------
        Unauthenticated : the header is missing or not a bearer token, the token is forged or expired, or the person who
            it was made for has been deleted since, or it was revoked
        """
        scheme, _, text = (authorization or "").partition(" ")
        if scheme.lower() not in ("bearer", *OWN_SCHEMES) or not text.strip():
            raise Unauthenticated(
                "Log in first and send the token as Authorization: Bearer <token>; the command line and the"
                " client read it from TOCSIN_TOKEN: export TOCSIN_TOKEN=$(tocsin login EMAIL)"
            )
        revision = self._cache.revision()
        claims = self._claims(text.strip(), scheme)
        expires_at_ms, now_ms = _expires_at_ms(claims), self._clock.now_ms()
        has_expired = expires_at_ms is not None and expires_at_ms <= now_ms
        if has_expired and scheme.lower() != COOKIE_SCHEME:
            raise Unauthenticated("This token has expired; log in again.")
        token_id = str(claims["jti"])
        actor = None if has_expired else self._people.tokens.holders([token_id], now_ms).get(token_id)
        if actor is None and scheme.lower() == COOKIE_SCHEME:
            self._forget_ended(token_id, str(claims["sub"]))
            raise Unauthenticated("This session has ended; log in again.")
        if actor is None or actor.id != claims["sub"]:
            raise Unauthenticated("This token was revoked, or its user was deleted; log in again.")
        self._cache.keep(str(authorization), actor, revision=revision, expires_at_ms=expires_at_ms)
        return actor

    def _forget_ended(self, token_id: str, user_id: str) -> None:
        """Let no clock that is set back revive a session that was not used for too long."""
        if self._people.tokens.find(token_id) is not None:
            self._people.tokens.revoke([token_id], user_id)

    def cached_actor(self, authorization: str | None) -> Actor | None:
        """Return what ``actor`` answered for this header a moment ago; None if it has to be asked again."""
        return self._cache.find(authorization, self._clock.now_ms())

    def _claims(self, text: str, scheme: str) -> dict[str, Any]:  # Any: a claim's value
        """Return the claims of a token; one that says its use is no bearer token, nor the other way round."""
        try:
            claims = jwt.decode(text, self._key, [_ALGORITHM]).claims
            _CLAIMS.validate(claims)
        except (JoseError, UnicodeError) as error:
            raise Unauthenticated("This token is not from this server; log in again.") from error
        if claims.get(_USE) != (scheme.lower() if scheme.lower() in OWN_SCHEMES else None):
            raise Unauthenticated("This token is not meant to be used so; log in again.")
        return claims


def _expires_at_ms(claims: dict[str, Any]) -> int | None:  # Any: as above
    expires = claims.get("exp")
    return expires * 1000 if isinstance(expires, int) else None


def hash_password(password: str) -> str:
    """Return the hash of a password, as it is stored."""
    with _HASHING:
        return _HASHER.hash(password)


def matches_password(people: People, person: Person | None, password: str) -> bool:
    """Return whether this is the password of a person who is there.

    ``password`` may be base64, as OpenMetadata's client sends it, or plain. Nobody's password costs the same time as a
    wrong one.
    """
    stored_hash = people.password_hash(person.id) if person is not None and not person.deleted else None
    return len(password) <= _LONGEST_PASSWORD and _fits(stored_hash or _decoy(), password) and stored_hash is not None


def issue_token(people: People, clock: Clock, name: str, *, lifetime_s: float) -> Token:
    """Return a token for the person or bot of that name (a bot's lasts); for the administrator's command line.

    Raises
    ------
    NotFound : there is no such person or bot
    """
    person = people.by_name(name)
    if person is None or person.deleted:
        raise NotFound(f"user {name} not found")
    return Tokens(people, clock, lifetime_s=lifetime_s).issue(person, lasting=True)


def new_password() -> str:
    """Return a random password that is hard to guess and easy to copy."""
    return secrets.token_urlsafe(15)


def _fits(stored_hash: str, password: str) -> bool:
    candidates = [password]
    with contextlib.suppress(binascii.Error, ValueError):  # not base64: a plain password
        candidates.insert(0, base64.b64decode(password, validate=True).decode())
    return any(_verify(stored_hash, candidate) for candidate in candidates)


def _verify(stored_hash: str, candidate: str) -> bool:
    try:
        with _HASHING:
            return _HASHER.verify(stored_hash, candidate)
    except (VerifyMismatchError, VerificationError, InvalidHashError):
        return False


@cache
def _decoy() -> str:
    """Return the hash of an unknown password, made on first use."""
    return hash_password(secrets.token_hex(16))
