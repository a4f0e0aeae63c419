"""URL paths, which are split before they are decoded (``/v1`` is an alias of ``/api/v1``), and content negotiation.

A name may hold an encoded slash (``%22a.b%2Fc%22``); decoding the path first would break routing.
So routing sees the raw path, and ``request.PathText`` decodes each parameter. OpenMetadata's client sends
``/tables/name/x&include=all`` when it asks for no fields: an ampersand in a name is always encoded, so what follows
an unencoded one is the query.

Source: RFC 9110 section 12.5.1 for requests that accept none of the media types served. Next: ``server/routes/``.
"""

from __future__ import annotations

import re
from email.message import Message

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.server.http.errors import error_answer

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
    """Answer 406 to requests for the API whose ``Accept`` names none of its media types."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        is_api = scope["type"] == "http" and scope["path"].startswith(f"{API}/")
        accepted_types = ",".join(Headers(scope=scope).getlist("accept")) if is_api else ""
        if is_acceptable(accepted_types):
            await self._app(scope, receive, send)
            return
        message = f"Accept: none of the requested media types is served; served are {', '.join(SERVED)}."
        await error_answer(406, message)(scope, receive, send)


def is_acceptable(accept: str) -> bool:
    """Return whether an ``Accept`` header allows a media type that is served; an empty one allows all."""
    ranges = [one for one in accept.split(",") if one.strip()]
    return not ranges or any(_allows(one) for one in ranges)


def _allows(media_range: str) -> bool:
    name, _, _ = media_range.partition(";")
    main, _, sub = name.strip().lower().partition("/")
    is_served = (main, sub) in (("*", "*"), ("*", "")) or any(
        served == f"{main}/{sub}" or (sub == "*" and served.startswith(f"{main}/")) for served in SERVED
    )
    return is_served and _quality(media_range) > 0


def _quality(media_range: str) -> float:
    """Return the weight of a media range; 1 where it has none, or one that is no number."""
    header = Message()
    header["content-type"] = media_range
    try:
        return float(str(header.get_param("q", "1")))
    except ValueError:
        return 1.0
