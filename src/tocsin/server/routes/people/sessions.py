"""Routes of sessions in browsers: log-in, log-out, and the list of one's own.

The cookie holds the session; the answer holds what requests that change something must carry besides.
Next: ``server/login/browser_sessions.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Cookie, Request, Response

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.server.build import Parts
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.login.browser_sessions import (
    check_origin,
    delete_cookie,
    is_of_browser,
    session_cookie_of,
    set_cookie,
)
from tocsin.server.login.openid import COOKIE as OPENID_COOKIE
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, PartsHere, PathId, TokenId, answer, list_answer
from tocsin.server.routes.people.tokens import token_of_request
from tocsin.server.routes.people.users import client_address, text_in
from tocsin.store.catalogue.people.tokens import IssuedToken

LoginCookie = Annotated[str | None, Cookie(max_length=8_000, description="Cookie of a log-in that has begun.")]

_LONGEST_BROWSER = 300

open_router = DeclaredRoutes(prefix="/auth", tags=["users"])
"""What works without a token."""

router = DeclaredRoutes(prefix="/auth", tags=["users"])


@open_router.post(
    "/session", openapi_extra=answers("BrowserSession", reads="BrowserLogIn", refuses="401 403 429", never="409")
)
async def begin(
    request: Request, body: DocumentBody, parts: PartsHere, *, tocsin_login: LoginCookie = None
) -> Response:
    """Log in with ``email`` and ``password``, or with the ``code`` of OpenID Connect, and set the session's cookie.

    Only a page of this server may: another could log a browser in as another person.
    """
    check_origin(request, parts.settings.public_url)
    address, browser = client_address(request), request.headers.get("user-agent", "")[:_LONGEST_BROWSER]
    login, browsers = parts.login, parts.login.browsers
    previous = session_cookie_of(request, parts.settings.public_url)
    if "code" in body:
        code = text_in(body, "code")
        token = await login.openid_queue.run(
            lambda: browsers.begin(login.openid.redeem(code, tocsin_login), browser, previous), address
        )
    else:
        name, password = text_in(body, "email"), text_in(body, "password")
        token = await login.passwords.run(
            lambda: browsers.begin(login.logins.authenticate(name, password, address), browser, previous), address
        )
    csrf_token = parts.login.browsers.csrf_token_of(token.issued.id)
    session_answer = answer(_document(token.issued, parts, token.issued.id) | {"csrfToken": csrf_token})
    set_cookie(session_answer, request, token, parts.settings.public_url)
    session_answer.delete_cookie(OPENID_COOKIE, path=f"{API}/auth")
    return session_answer


@router.get("/session", openapi_extra=answers("BrowserSession", never="403"))
def current(request: Request, caller: Asked, token_id: TokenId) -> Response:
    """Return the session of this browser, with its CSRF token."""
    check_has_session(request)
    token = token_of_request(token_id, caller)
    csrf_token = caller.parts.login.browsers.csrf_token_of(token_id)
    return answer(_document(token, caller.parts, token_id) | {"csrfToken": csrf_token})


@router.delete("/session", openapi_extra=answers("Said", never="403 409"))
def end(request: Request, caller: Asked, token_id: TokenId) -> Response:
    """Log out: end the session of this browser."""
    check_has_session(request)
    caller.parts.login.sessions.end(token_id, caller.actor)
    empty_answer = answer({"message": "Logged out."})
    delete_cookie(empty_answer, request, caller.parts.settings.public_url)
    return empty_answer


@router.get("/sessions", openapi_extra=answers("BrowserSessionPage", never="403"))
def list_own(caller: Asked, token_id: TokenId) -> Response:
    """Return one's sessions in browsers: which browser, since when, and when it was used last."""
    sessions = caller.parts.login.browsers.sessions_of(caller.actor.id)
    return list_answer([_document(session, caller.parts, token_id) for session in sessions])


@router.delete("/sessions/{session_id}", openapi_extra=answers("Said", never="403 409"))
def end_own(session_id: PathId, caller: Asked) -> Response:
    """End one of one's sessions, in whichever browser it is."""
    if str(session_id) not in {session.id for session in caller.parts.login.browsers.sessions_of(caller.actor.id)}:
        raise NotFound(f"session {session_id} not found")
    caller.parts.login.sessions.end(str(session_id), caller.actor)
    return answer({"message": "The session has ended."})


def check_has_session(request: Request) -> None:
    """Refuse what was sent with a token, even with a cookie beside it: it has another sender.

    Raises
    ------
    InvalidInput : it was
    """
    if not is_of_browser(request.state.authorization):
        raise InvalidInput("This request was sent with a token, not with the cookie of a session.")


def _document(session: IssuedToken, parts: Parts, token_id: str) -> Document:
    return {
        "id": session.id,
        "userId": session.user_id,
        "browser": session.name,
        "since": session.issued_at_ms,
        "lastUsed": parts.login.browsers.last_used_at_ms(session),
        "expiresAt": session.expires_at_ms,
        "isCurrent": session.id == token_id,
    }
