"""Routes of log-in by OpenID Connect: redirect and callback. Next: ``server/login/openid.py``."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Cookie, Query, Request, Response

from tocsin.errors import Unauthenticated
from tocsin.server.http.paths import API
from tocsin.server.http.request import PartsHere, address_of
from tocsin.server.login.openid import COOKIE, WITHIN_S
from tocsin.server.routes.people.users import client_address

Text = Annotated[str, Query(max_length=4_000)]

open_router = APIRouter(prefix="/auth", tags=["users"])
"""What works without a token."""


@open_router.get("/login", status_code=302)
async def begin(request: Request, parts: PartsHere) -> Response:
    """Redirect to the OpenID Connect provider; 503 if none is configured."""
    root = parts.settings.public_url or address_of(request)
    callback = f"{root.rstrip('/')}{API}/auth/callback"
    started = await parts.openid_queue.run(lambda: parts.openid.start(callback), client_address(request))
    answer = Response(status_code=302, headers={"Location": started.location, "Cache-Control": "no-store"})
    answer.set_cookie(
        COOKIE,
        started.cookie,
        max_age=WITHIN_S,
        path=f"{API}/auth",
        secure=root.startswith("https"),
        httponly=True,
        samesite="lax",
    )
    return answer


@open_router.get("/callback", status_code=302)
async def come_back(
    request: Request,
    parts: PartsHere,
    *,
    code: Text = "",
    state: Text = "",
    error: Text = "",
    tocsin_login: Annotated[str | None, Cookie(max_length=8_000)] = None,
) -> Response:
    """Complete the log-in from the provider and redirect to the web page with a token."""
    if error or not code:
        raise Unauthenticated(f"The provider rejected the log-in: {error or 'no code'}.")
    token = await parts.openid_queue.run(
        lambda: parts.tokens.issue(parts.openid.finish(code, state, tocsin_login)), client_address(request)
    )
    # A fragment is never sent to a server, so the token is in no log.
    headers = {"Location": f"/#token={quote(token.text)}", "Cache-Control": "no-store"}
    answer = Response(status_code=302, headers=headers)
    answer.delete_cookie(COOKIE, path=f"{API}/auth")
    return answer
