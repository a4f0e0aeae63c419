"""URL path handling: paths are split before they are decoded, and ``/v1`` is an alias of ``/api/v1``.

A name may hold an encoded slash (``%22a.b%2Fc%22``); decoding the path first would break routing.
So routing sees the raw path, and ``request.PathText`` decodes each parameter. OpenMetadata's client sends
``/tables/name/x&include=all`` when it asks for no fields: an ampersand in a name is always encoded, so what follows
an unencoded one is the query. Next: ``server/routes/``.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.server.http.errors import error_answer

API = "/api/v1"

_LOST_QUERY = re.compile(r"(.*?)(&include=(?:all|deleted|non-deleted))?", re.DOTALL)


class RawPaths:
    """Route by the undecoded path; treat ``/v1/…`` as ``/api/v1/…`` and forget a trailing slash."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on under its plain path; reject NUL, which no store can hold.

        The scope stays the same object, so that the logger of a failure outside knows which route was found.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        if b"%00" in raw or b"%00" in scope["query_string"]:
            await error_answer(400, "The path contains a NUL character; remove it.")(scope, receive, send)
            return
        path, include = _LOST_QUERY.fullmatch(raw.decode("latin-1")).groups(default="")  # type: ignore[union-attr]  # fits any path
        query = scope["query_string"] or include.lstrip("&").encode()
        scope.update(path=_plain(path), query_string=query)
        await self._app(scope, receive, send)


def _plain(path: str) -> str:
    path = path.rstrip("/") or "/"
    if path == "/v1" or path.startswith("/v1/"):
        return f"/api{path}"
    return path
