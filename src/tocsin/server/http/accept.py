"""Content negotiation: requests that accept none of the media types the API serves are refused.

Source: RFC 9110 section 12.5.1. Next: ``server/request.py``.
"""

from __future__ import annotations

from email.message import Message

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.server.http.errors import error_answer
from tocsin.server.http.paths import API

SERVED = ("application/json", "text/plain", "text/html", "text/event-stream")
"""Media types of the API's answers: documents, sheets, the page after unsubscribing, streams."""


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
