"""Sessions of browsers: a token in a cookie that no script can read, and what keeps other sites from using it.

Browsers send a cookie with requests that other sites make, so a request that changes something must carry the CSRF
token of its session, which only pages of this server can read, and name this server as its origin. A session ends when
it is not used for a while, at its log-out, and after its total lifetime. Source: OWASP Session Management and CSRF
Prevention Cheat Sheets; RFC 6265bis, section 4.1.3 (``__Host-``). Next: ``server/routes/people/sessions.py``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass

from fastapi import Request, Response

from tocsin.clock import Clock
from tocsin.errors import Forbidden, Unauthenticated
from tocsin.model.address import origin_of
from tocsin.model.people import Person
from tocsin.server.login.sessions import LoginSessions
from tocsin.server.login.tokens import COOKIE_SCHEME, OWN_SCHEMES, Token
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.tokens import IssuedToken, TokenKind

COOKIE = "tocsin_session"
SECURE_COOKIE = f"__Host-{COOKIE}"
CSRF_HEADER = "X-CSRF-Token"

_NOTED_MS = 60_000
"""How much later a session may end than is stored: its use is noted once a minute."""
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class SessionLife:
    """How long a session lasts unused, and in all, in milliseconds."""

    idle_ms: int
    total_ms: int


class BrowserSessions:
    """Begins, recognizes and ends the sessions of browsers; ``sessions`` records log-ins and log-outs."""

    def __init__(self, sessions: LoginSessions, people: People, clock: Clock, life: SessionLife) -> None:
        self._sessions, self._people, self._clock, self._life = sessions, people, clock, life
        self._key = people.secret("csrf-key", lambda: secrets.token_hex(32)).encode()

    def begin(self, person: Person, browser: str, previous: str | None = None) -> Token:
        """Return the token of a new session in a browser, which is described as its requests do.

        The session that the browser had before, of whomever, ends: ``previous`` is its cookie.
        """
        if previous is not None:
            authorization = f"{COOKIE_SCHEME} {previous}"
            with suppress(Unauthenticated):
                actor = self._sessions.tokens.actor(authorization)
                self._sessions.end(self._sessions.tokens.id_of(authorization), actor)
        return self._sessions.begin_in_browser(
            person, browser, idle_ms=self._life.idle_ms, total_ms=self._life.total_ms
        )

    def note_use(self, authorization: str) -> None:
        """Let a session last longer that a request was just accepted for."""
        token_id, now_ms = self._sessions.tokens.id_of(authorization), self._clock.now_ms()
        session = self._people.tokens.find(token_id)
        if session is None or session.expires_at_ms is None:
            return
        ends_at_ms = min(now_ms + self._life.idle_ms, session.issued_at_ms + self._life.total_ms)
        if ends_at_ms - session.expires_at_ms >= min(_NOTED_MS, self._life.idle_ms // 2):
            self._people.tokens.extend(token_id, ends_at_ms)

    def sessions_of(self, user_id: str) -> list[IssuedToken]:
        """Return the sessions that a person has in browsers, oldest first."""
        now_ms = self._clock.now_ms()
        tokens = self._people.tokens.of(user_id, TokenKind.BROWSER)
        return [token for token in tokens if token.expires_at_ms is not None and token.expires_at_ms > now_ms]

    def last_used_at_ms(self, session: IssuedToken) -> int:
        """Return when a session was used last, to the minute (epoch ms)."""
        ends_at_ms = session.expires_at_ms or session.issued_at_ms
        if ends_at_ms >= session.issued_at_ms + self._life.total_ms:
            return max(session.issued_at_ms, ends_at_ms - min(self._life.idle_ms, self._life.total_ms))
        return max(session.issued_at_ms, ends_at_ms - self._life.idle_ms)

    def token_id_of(self, authorization: str) -> str:
        """Return the id of the token in a cookie.

        Raises
        ------
        Unauthenticated : it is none of this server's
        """
        return self._sessions.tokens.id_of(authorization)

    def csrf_token_of(self, token_id: str) -> str:
        """Return what requests of a session that change something must carry."""
        return hmac.new(self._key, token_id.encode(), hashlib.sha256).hexdigest()


def is_of_browser(authorization: str | None) -> bool:
    """Return whether a request proved its sender with a cookie."""
    return (authorization or "").startswith(f"{COOKIE_SCHEME} ")


def authorization_of(request: Request, sessions: BrowserSessions, public_url: str | None) -> str | None:
    """Return what a request proves its sender with: its header, or the session of its cookie.

    Raises
    ------
    Forbidden : it would change something, has only a cookie, and was not made by a page of this server
    Unauthenticated : its header names the scheme of cookies or embeds
    """
    header = request.headers.get("authorization")
    if header is not None:
        if header.partition(" ")[0].lower() in OWN_SCHEMES:
            raise Unauthenticated("Send the token as Authorization: Bearer <token>.")
        return header
    text = session_cookie_of(request, public_url)
    if text is None:
        return None
    authorization = f"{COOKIE_SCHEME} {text}"
    if request.method not in _SAFE_METHODS:
        check_origin(request, public_url)
        csrf_token = sessions.csrf_token_of(sessions.token_id_of(authorization))
        if not hmac.compare_digest(csrf_token.encode(), request.headers.get(CSRF_HEADER, "").encode()):
            raise Forbidden(f"The header {CSRF_HEADER} is missing, or of another session; reload the page.")
    return authorization


def check_origin(request: Request, public_url: str | None) -> None:
    """Refuse what was not made by a page of this server, as its ``Origin`` says, which browsers always send with it.

    Raises
    ------
    Forbidden : it was made by another page, or by no browser
    """
    stated_origins = request.headers.getlist("origin")
    origin = origin_of(stated_origins[0]) if len(stated_origins) == 1 else None
    # Without public_url a proxy may have taken TLS away: the host is equal, the scheme may be another.
    own_url = public_url or f"{origin.scheme if origin else 'http'}://{request.headers.get('host', '')}"
    if origin is None or origin != origin_of(own_url):
        raise Forbidden(
            "This request was not made by a page of this server. Programs send Authorization: Bearer <token>; if you"
            " have opened Tocsin at another address than its public_url, open it there."
        )


def set_cookie(response: Response, request: Request, token: Token, public_url: str | None) -> None:
    """Let a browser keep its session until it is closed, or the session ends."""
    is_secure = _is_secure(request, public_url)
    name = SECURE_COOKIE if is_secure else COOKIE
    response.set_cookie(name, token.text, path="/", secure=is_secure, httponly=True, samesite="strict")


def delete_cookie(response: Response, request: Request, public_url: str | None) -> None:
    """Let a browser forget its session."""
    is_secure = _is_secure(request, public_url)
    name = SECURE_COOKIE if is_secure else COOKIE
    response.delete_cookie(name, path="/", secure=is_secure, httponly=True, samesite="strict")


def session_cookie_of(request: Request, public_url: str | None) -> str | None:
    """Return the cookie of a session; where TLS is known to be used, none that another host could have set.

    Raises
    ------
    Unauthenticated : there are several: another host or path has set one beside it
    """
    secure = _cookie_called(SECURE_COOKIE, request)
    if secure or (public_url or "").startswith("https:"):
        return secure
    return _cookie_called(COOKIE, request)


def _cookie_called(name: str, request: Request) -> str | None:
    """Return the one cookie of exactly this name; None for none.

    Starlette takes white space from names that browsers leave there, so that any host of the site could set a cookie
    that becomes one with a prefix. *Source:* RFC 6265bis, section 5.7, step 6: only spaces and tabs are taken away.
    """
    pairs = (pair.partition("=") for header in request.headers.getlist("cookie") for pair in header.split(";"))
    texts = {text.strip(" \t") for key, _, text in pairs if key.strip(" \t") == name}
    if len(texts) > 1:
        raise Unauthenticated("Your browser sent two sessions; delete the cookies of this site, and log in again.")
    return next(iter(texts), "") or None


def _is_secure(request: Request, public_url: str | None) -> bool:
    return (public_url or request.headers.get("origin") or request.scope["scheme"] + ":").startswith("https:")
