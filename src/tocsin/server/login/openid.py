"""Log-in by OpenID Connect: authorization code flow with PKCE.

The browser is redirected to the provider and returns with a code; the server exchanges it for an ID token and verifies
its signature, issuer, audience, times and nonce. State in between is kept in a signed cookie, so any server can
complete a log-in that another began. Source: OpenID Connect Core 1.0, section 3.1; RFC 7636; RFC 8414.
Next: ``server/routes/people/openid.py``.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

import httpx
import orjson
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet, OctKey
from joserfc.jws import JWSRegistry

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock
from tocsin.errors import Conflict, Forbidden, InvalidInput, Unauthenticated, Unavailable
from tocsin.model.address import origin_of
from tocsin.model.entity import Document
from tocsin.model.look_alikes import becomes_another, invisible_character
from tocsin.model.people import SYSTEM, Person
from tocsin.settings import AccessSettings
from tocsin.store.catalogue.people.identities import Identity, People
from tocsin.store.catalogue.people.tokens import IssuedToken, TokenKind

COOKIE = "tocsin_login"
WITHIN_S = 600
"""Seconds that a log-in at the provider may take."""

_PROVIDERS = JWSRegistry(
    algorithms=["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"], strict_check_header=False
)
"""What a provider may sign with: algorithms of public keys only."""

_OURS = "HS256"
_LEEWAY_S = 60
_LONGEST = {"sub": 255, "nonce": 255, "email": 254, "name": 128}
"""Claims that are looked at, and how many characters each may have; the first as the standard says."""
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


HANDED_OVER_WITHIN_S = 60
"""Seconds within which the page exchanges its code."""

_CODES = UUID("6a0d1c52-3c43-4d0e-9a55-2f0c5f6f0d0b")


@dataclass(frozen=True)
class Started:
    """Where the browser goes, and the cookie it takes along."""

    location: str
    cookie: str


def _code_id(code: str, browser: str) -> str:
    return str(uuid5(_CODES, f"{code}\n{browser}"))


class OpenIdConnect:
    """Log-in at one provider; the first one creates the user.

    The provider's redirect hands a log-in over to the page by a code for one use, in one browser, within a minute: an
    address that logs a person in can be sent to anybody. So the address holds no token, but a code that is worth
    nothing without the cookie of the browser that began. The store has only what both together hash to.
    """

    def __init__(self, settings: AccessSettings, people: People, writes: Writes, clock: Clock) -> None:
        self._settings, self._people, self._writes, self._clock = settings, people, writes, clock
        self._key = OctKey.import_key(people.secret("openid-key", lambda: secrets.token_hex(32)))
        self._lock = threading.Lock()
        self._metadata: Json = None

    @property
    def issuer(self) -> str:
        """The provider's address.

        Raises
        ------
        Unavailable : no provider is configured
        """
        if not self._settings.oidc_issuer or not self._settings.oidc_client_id:
            raise Unavailable("OpenID Connect is not configured: set oidc_issuer and oidc_client_id.")
        return self._settings.oidc_issuer.rstrip("/")

    def start(self, callback: str) -> Started:
        """Return the provider's URL for the browser, to log in and return to ``callback``."""
        secrets_by_name = {key: secrets.token_urlsafe(32) for key in ("state", "nonce", "verifier")}
        from authlib.oauth2.client import OAuth2Client  # only a log-in by a provider needs it

        client = OAuth2Client(None, self._settings.oidc_client_id, code_challenge_method="S256", redirect_uri=callback)
        location, _ = client.create_authorization_url(
            self._provider()["authorization_endpoint"],
            scope="openid email profile",
            state=secrets_by_name["state"],
            nonce=secrets_by_name["nonce"],
            code_verifier=secrets_by_name["verifier"],
        )
        claims = {**secrets_by_name, "callback": callback, "until_s": self._clock.now_ms() // 1000 + WITHIN_S}
        return Started(location, jwt.encode({"alg": _OURS}, claims, self._key))

    def finish(self, code: str, state: str, cookie: str | None) -> Person:
        """Return who came back with this code; the first time, they are made a user.

        Raises
        ------
        Unauthenticated : the answer does not belong to a log-in that began here, or the identity cannot be believed
        Forbidden : they are no user here, and nobody is made one by logging in
        """
        login_state = self._login_state(cookie)
        if not secrets.compare_digest(state.encode(), str(login_state["state"]).encode()):
            raise Unauthenticated("This response does not belong to the log-in started here; start again.")
        claims = self._identity(self._id_token(code, login_state), str(login_state["nonce"]))
        return self._person(claims)

    def code_for(self, person: Person, cookie: str | None) -> str:
        """Return a new code with which the browser that has this cookie logs in as this person.

        Raises
        ------
        Unauthenticated : no log-in was started in that browser, or too long ago
        """
        browser, code, now_ms = str(self._login_state(cookie)["state"]), secrets.token_urlsafe(32), self._clock.now_ms()
        until_ms = now_ms + HANDED_OVER_WITHIN_S * 1000
        issued_code = IssuedToken(_code_id(code, browser), person.id, TokenKind.LOG_IN, "", now_ms, until_ms)
        self._people.tokens.add(issued_code)
        return code

    def redeem(self, code: str, cookie: str | None) -> Person:
        """Return who logs in with a code, which then stops working.

        Raises
        ------
        Unauthenticated : the code was used, is too old, or was made for another browser
        """
        code_id = _code_id(code, str(self._login_state(cookie)["state"]))
        person_id = self._people.tokens.take(code_id, TokenKind.LOG_IN, now_ms=self._clock.now_ms())
        person = None if person_id is None else self._people.by_id(person_id)
        if person is None or person.deleted:
            raise Unauthenticated("This log-in was completed, took too long, or began in another browser; start again.")
        return person

    def _login_state(self, cookie: str | None) -> Document:
        try:
            state: Document = jwt.decode(cookie or "", self._key, [_OURS]).claims
        except (JoseError, UnicodeError) as error:
            raise Unauthenticated("No log-in was started in this browser; start again.") from error
        if state["until_s"] < self._clock.now_ms() // 1000:
            raise Unauthenticated("The log-in took too long; start again.")
        return state

    def _id_token(self, code: str, login_state: Document) -> str:
        """Return the identity token that the provider gives for a code."""
        secret = self._settings.oidc_client_secret
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": str(login_state["callback"]),
            "client_id": str(self._settings.oidc_client_id),
            "code_verifier": str(login_state["verifier"]),
            **({"client_secret": secret.get_secret_value()} if secret else {}),
        }
        token_answer = ask_provider(self._provider()["token_endpoint"], form)
        if not isinstance(token_answer.get("id_token"), str):
            raise Unauthenticated("The provider returned no ID token.")
        return str(token_answer["id_token"])

    def _identity(self, token: str, nonce: str) -> Document:
        """Return the claims of an identity token after verifying it."""
        issuer, own_client_id = self._provider()["issuer"], self._settings.oidc_client_id
        keys = KeySet(list(_usable(ask_provider(self._provider()["jwks_uri"]).get("keys"))))  # read at every log-in
        expected_claims = {"iss": {"value": issuer}, "aud": {"value": own_client_id}, "sub": {"essential": True}}
        try:
            signed_token = jwt.decode(token, keys, registry=_PROVIDERS)
            from authlib.oidc.core import CodeIDToken  # only a log-in by a provider needs it

            claims = CodeIDToken(
                signed_token.claims, signed_token.header, expected_claims, {"nonce": nonce, "client_id": own_client_id}
            )
            claims.validate(now=self._clock.now_ms() // 1000, leeway=_LEEWAY_S)
        except (JoseError, ValueError) as error:
            raise Unauthenticated(f"The provider's ID token is invalid: {error}") from error
        if not all(_is_text(claims.get(key), most) for key, most in _LONGEST.items() if claims.get(key) is not None):
            raise Unauthenticated("The provider's ID token contains invalid values.")
        return dict(claims)

    def _provider(self) -> Json:
        """Return the provider's metadata, read once."""
        with self._lock:
            if self._metadata is None:
                metadata = ask_provider(f"{self.issuer}/.well-known/openid-configuration")
                is_whole = all(origin_of(metadata.get(key)) for key in _ENDPOINTS)
                if str(metadata.get("issuer", "")).rstrip("/") != self.issuer or not is_whole:
                    raise Unavailable(
                        "The discovery document of the OpenID Connect provider is incomplete or belongs to another"
                        " issuer."
                    )
                self._metadata = metadata
            return self._metadata

    def _person(self, claims: Document) -> Person:
        """Return the user of an identity: by its first log-in, or else by email address.

        An unverified address matches nobody, nor does one of a user with another identity.
        """
        identity = Identity(self.issuer, str(claims["sub"]))
        bound_person = self._people.by_identity(identity)
        if bound_person is not None:
            return _present(bound_person)
        email = claims.get("email")
        if not isinstance(email, str) or "@" not in email or becomes_another(email):
            raise Forbidden("The provider returned no e-mail address.")
        if not self._is_verified(claims):
            raise Forbidden(
                "The provider does not say that the e-mail address is verified (`email_verified`). If it never"
                " does, and verifies all addresses, an administrator can set oidc_trust_email."
            )
        user = self._people.by_email(email)
        if user is None and not self._settings.oidc_create_users:
            raise Forbidden(f"There is no user with the address {email}; an administrator can create one.")
        person = self._create_person(email.strip().lower(), claims) if user is None else _present(user)
        if not self._people.bind(identity, person.id):
            raise Forbidden(
                f"{email} belongs to a user with another identity at the provider; if it is the same person, an"
                f" administrator can run: tocsin admin forget-identity {person.name}"
            )
        return person

    def _is_verified(self, claims: Document) -> bool:
        """Return whether the provider vouches for the address, or is trusted to say nothing about that."""
        if "email_verified" not in claims:
            return self._settings.oidc_trust_email
        return claims["email_verified"] in (True, "true")

    def _create_person(self, email: str, claims: Document) -> Person:
        request: Document = {"name": email.partition("@")[0], "email": email, "isEmailVerified": True}
        display_name = claims.get("name")
        if isinstance(display_name, str) and display_name.strip() and invisible_character(display_name.strip()) is None:
            request["displayName"] = display_name.strip()
        try:
            self._writes.create("user", request, actor=SYSTEM)
        except (Conflict, InvalidInput):  # the name belongs to another person, or looks as if it did
            if self._people.by_email(email) is None:  # else they have logged in elsewhere at the same time
                self._writes.ensure("user", {**request, "name": email}, actor=SYSTEM)
        person = self._people.by_email(email)
        if person is None:
            raise InvalidInput(f"no user can be created for {email}")
        return person


def _usable(keys: Json) -> Iterator[Key]:
    """Yield the keys of a provider that are understood; others may stand beside them (RFC 7517, section 5)."""
    for entry in keys if isinstance(keys, list) else ():
        with suppress(JoseError, ValueError, KeyError, TypeError):
            key = JWKRegistry.import_key(entry)
            key.ensure_kid()
            yield key


def _is_text(value: object, longest: int) -> bool:
    """Return whether a claim is a text of Unicode characters, and not too long."""
    if not isinstance(value, str) or len(value) > longest:
        return False
    return not any("\ud800" <= sign <= "\udfff" for sign in value)


def _present(person: Person) -> Person:
    """Return the user if they may log in this way: bots and deleted users may not."""
    if person.deleted or person.is_bot:
        raise Forbidden(f"{person.name} may not log in; ask an administrator.")
    return person


_TIMEOUT_S = 10
_MOST_BYTES = 1_048_576
Json = Any  # Any: what a provider answers


def ask_provider(address: str, form: Mapping[str, str] | None = None) -> Json:
    """Return the JSON object at an address of the provider, or what it answers to a form.

    Raises
    ------
    Unauthenticated : it refuses
    Unavailable : it does not answer, or not with a JSON object of reasonable size in reasonable time
    """
    method = "GET" if form is None else "POST"
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    try:
        with httpx.stream(method, address, data=form, headers=headers, timeout=_TIMEOUT_S) as answer:
            status, document = answer.status_code, _object(answer)
    except (httpx.HTTPError, httpx.InvalidURL, orjson.JSONDecodeError) as error:
        raise Unavailable("The OpenID Connect provider does not respond.") from error
    if not httpx.codes.is_success(status) or not isinstance(document, dict):
        raise Unauthenticated(f"The OpenID Connect provider returned an error: {status}.")
    return document


def _object(answer: httpx.Response) -> Json:
    """Return the body of an answer as received; compressed bodies are not unpacked."""
    read, give_up_s = bytearray(), time.monotonic() + _TIMEOUT_S
    for chunk in answer.iter_raw():
        read += chunk
        if len(read) > _MOST_BYTES or time.monotonic() > give_up_s:
            raise Unavailable("The response of the OpenID Connect provider is too large.")
    return orjson.loads(bytes(read))
