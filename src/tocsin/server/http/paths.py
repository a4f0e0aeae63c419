"""URL paths, which are split before they are decoded (``/v1`` is an alias of ``/api/v1``), and content negotiation.

A name may hold an encoded slash (``%22a.b%2Fc%22``); decoding the path first would break routing.
So routing sees the raw path, and ``request.PathText`` decodes each parameter. OpenMetadata's client sends
``/tables/name/x&include=all`` when it asks for no fields: an ampersand in a name is always encoded, so what follows
an unencoded one is the query.

Source: RFC 9110 section 12.5.1 for requests that accept none of the media types served. Next: ``server/routes/``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin.server.http.errors import error_answer
from tocsin.server.http.media_types import LINKED_DATA, NEGOTIATED, best_of

API = "/api/v1"

SERVED = ("application/json", "text/plain", "text/html", "text/event-stream")
"""Media types of the API's answers: documents, sheets, the page after unsubscribing, streams."""

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


class Acceptable:
    """Answer 406 to requests for the API whose ``Accept`` names none of its media types.

    Linked data is served by some reads only. Where a request accepts nothing else and its route has chosen no format,
    what it answers is replaced: a read has no effect, and writes are refused at once.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        is_api = scope["type"] == "http" and scope["path"].startswith(f"{API}/")
        accepted_types = ",".join(Headers(scope=scope).getlist("accept")) if is_api else ""
        if is_acceptable(accepted_types):
            await self._app(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD") and best_of(accepted_types, LINKED_DATA):
            await _Negotiated(self._app)(scope, receive, send)
        else:
            await _NOT_ACCEPTABLE(scope, receive, send)


class _Negotiated:
    """Replaces an answer whose format its route did not choose; errors stay as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; send what it answers, or 406."""
        is_refused = False

        async def check(message: Message) -> None:
            nonlocal is_refused
            if message["type"] == "http.response.start":
                is_refused = message["status"] < 400 and NEGOTIATED not in scope
                if is_refused:
                    await _NOT_ACCEPTABLE(scope, receive, send)
            if not is_refused:
                await send(message)

        await self._app(scope, receive, check)


_NOT_ACCEPTABLE = error_answer(
    406,
    f"Accept: none of the requested media types is served here; served are {', '.join(SERVED)}; reads of entities, "
    f"events and lineage are served as {', '.join(LINKED_DATA)}, too.",
)


@lru_cache(128)  # clients send the same few headers with every request
def is_acceptable(accept: str) -> bool:
    """Return whether an ``Accept`` header allows a media type that every kind of route may serve."""
    return best_of(accept, SERVED) is not None
