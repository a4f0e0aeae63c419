"""Routes of the web page: static files that use only the public API. Next: ``ui/page.js``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import fastapi
from fastapi import Response
from fastapi.responses import FileResponse

from tocsin.errors import NotFound
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.http.routing import DeclaredRoutes

FILES = {
    "page.js": "text/javascript",
    "alerts.js": "text/javascript",
    "api.js": "text/javascript",
    "backtest.js": "text/javascript",
    "description.js": "text/javascript",
    "drawn.js": "text/javascript",
    "health.js": "text/javascript",
    "incidents.js": "text/javascript",
    "mutes.js": "text/javascript",
    "preferences.js": "text/javascript",
    "stream.js": "text/javascript",
    "why.js": "text/javascript",
    "page.css": "text/css",
    "bell.svg": "image/svg+xml",
}
"""Every file of the page but the page itself, and its type."""

_FOLDER = Path(str(files("tocsin"))) / "ui"
_GUARDS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

router = DeclaredRoutes(include_in_schema=False)


@router.get("/")
def page() -> Response:
    """Return the page."""
    return _file("index.html", "text/html")


@router.get("/ui/{name}")
def part(name: Annotated[str, fastapi.Path(max_length=50)]) -> Response:
    """Return one of the page's files."""
    if name not in FILES:
        raise NotFound(f"file {name!r} not found")
    return _file(name, FILES[name])


@router.get("/{entity_type}/{fqn}")
def page_of(entity_type: str, fqn: str) -> Response:
    """Return the page for one asset, as mails link to it: ``/table/<fqn>``."""
    del fqn  # the page itself asks for it
    if entity_type not in ENTITY_TYPES:
        raise NotFound(f"entity type {entity_type!r} not found")
    return page()


def _file(name: str, media_type: str) -> Response:
    return FileResponse(_FOLDER / name, media_type=media_type, headers=_GUARDS)
