"""Routes of log-in by OpenID Connect: redirect, callback, and exchange of the code for a token.

Next: ``server/login/openid.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Cookie, Query, Request, Response

from tocsin.errors import Unauthenticated
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.login.openid import COOKIE, WITHIN_S
from tocsin.server.login.tokens import Token
from tocsin.server.openapi.operations import answers
from tocsin.server.request import DocumentBody, PartsHere, address_of, answer
from tocsin.server.routes.people.users import client_address, text_in

Code = Annotated[str, Query(max_length=4_000, description="Code for the tokens of the provider.")]
State = Annotated[str, Query(max_length=4_000, description="The state that the log-in began with.")]
Failure = Annotated[str, Query(max_length=4_000, description="Why the provider refused, instead of a code.")]
LoginCookie = Annotated[str | None, Cookie(max_length=8_000, description="Cookie of a log-in that has begun.")]

open_router = DeclaredRoutes(prefix="/auth", tags=["users"])
"""What works without a token."""


@open_router.get("/login", status_code=302, openapi_extra=answers(None, refuses="401 429"))
async def begin(request: Request, parts: PartsHere) -> Response:
    """Redirect to the OpenID Connect provider; 503 if none is configured."""
    root = parts.settings.public_url or address_of(request)
    callback = f"{root.rstrip('/')}{API}/auth/callback"
    login_start = await parts.login.openid_queue.run(
        lambda: parts.login.openid.start(callback), client_address(request)
    )
    redirection = Response(status_code=302, headers={"Location": login_start.location, "Cache-Control": "no-store"})
    redirection.set_cookie(
        COOKIE,
        login_start.cookie,
        max_age=WITHIN_S,
        path=f"{API}/auth",
        secure=root.startswith("https"),
        httponly=True,
        samesite="lax",
    )
    return redirection


@open_router.get("/callback", status_code=302, openapi_extra=answers(None, refuses="401 429"))
async def come_back(
    request: Request,
    parts: PartsHere,
    *,
    code: Code = "",
    state: State = "",
    error: Failure = "",
    tocsin_login: LoginCookie = None,
) -> Response:
    """Complete the log-in from the provider and redirect to the web page with a code for one use in this browser."""
    if error or not code:
        raise Unauthenticated(f"The provider rejected the log-in: {error or 'no code'}.")

    def finish() -> str:
        person = parts.login.openid.finish(code, state, tocsin_login)
        return parts.login.openid.code_for(person, tocsin_login)

    exchangeable = await parts.login.openid_queue.run(finish, client_address(request))
    # A fragment is never sent to a server, so the code is in no log.
    headers = {"Location": f"/#login={exchangeable}", "Cache-Control": "no-store"}
    return Response(status_code=302, headers=headers)


@open_router.post("/token", openapi_extra=answers("LogIn", reads="LogInCode", refuses="401 429", never="409"))
async def exchange(
    request: Request, body: DocumentBody, parts: PartsHere, *, tocsin_login: LoginCookie = None
) -> Response:
    """Return a token for the ``code`` of the callback, in the browser that began the log-in."""
    code = text_in(body, "code")

    def redeem() -> Token:
        return parts.login.sessions.begin(parts.login.openid.redeem(code, tocsin_login))

    token = await parts.login.openid_queue.run(redeem, client_address(request))
    logged_in = answer({"accessToken": token.text, "tokenType": "Bearer", "expiryDuration": token.expires_at_ms})
    logged_in.delete_cookie(COOKIE, path=f"{API}/auth")
    return logged_in
