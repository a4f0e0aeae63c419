"""Origins that may read the routes of embeds from a browser (CORS): the listed ones, without cookies.

No other route answers a page of another site. Next: ``server/routes/notifications/embeds.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from tocsin.server.http.paths import API

EMBEDS = f"{API}/embed"
"""What the paths of embeds begin with."""

_SHARED = re.compile(re.escape(EMBEDS) + "/(inbox|inbox/seen|follows/[^/]+/[^/]+)")


class EmbedOrigins:
    """Lets pages of these origins read answers to the requests of their embeds; of none where the list is empty."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._shared = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=("GET", "PUT", "DELETE"),
            allow_headers=("Authorization",),
            expose_headers=("Date",),  # by which an embed knows the server's time
        )
        self._is_on = bool(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer what a browser asks before it sends one."""
        is_shared = self._is_on and scope["type"] == "http" and bool(_SHARED.fullmatch(scope["path"]))
        await (self._shared if is_shared else self._app)(scope, receive, send)
