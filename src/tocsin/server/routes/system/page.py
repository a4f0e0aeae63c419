"""Routes of the web application: its page at each of its addresses, and its built files. Next: ``web/src/main.ts``."""

from __future__ import annotations

import mimetypes
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import fastapi
from fastapi import Request, Response
from fastapi.responses import FileResponse
from starlette.convertors import Convertor, register_url_convertor

from tocsin.errors import NotFound
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.request import PartsHere

PLACES = (
    "admin",
    "alerts",
    "changes",
    "components",
    "events",
    "explore",
    "following",
    "governance",
    "inbox",
    "incidents",
    "searches",
    "settings",
)
"""First words of the application's addresses; those of assets begin with their type, as in ``/table/<fqn>``."""

_FOLDER = Path(str(files("tocsin"))) / "ui" / "static"
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_GUARDS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_KEPT_FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
_ASKED_AGAIN = {"Cache-Control": "no-cache"}
_FOR_OTHER_SITES = {"Cache-Control": "public, max-age=600", "Cross-Origin-Resource-Policy": "cross-origin"}
_EMBED = "tocsin.js"


class PlaceConvertor(Convertor[str]):
    """Lets a path begin with a place of the application or with the type of an asset."""

    regex = "|".join(sorted({*PLACES, *ENTITY_TYPES}, key=len, reverse=True))

    def convert(self, value: str) -> str:
        """Return the place in the path."""
        return value

    def to_string(self, value: str) -> str:
        """Return the place as a path."""
        return value


register_url_convertor("place", PlaceConvertor())
router = DeclaredRoutes(include_in_schema=False)


@router.get("/")
@router.get("/{place:place}")
@router.get("/{place:place}/{rest:path}")
def page() -> Response:
    """Return the page of the application, which shows what its address names."""
    return _page(HTTPStatus.OK)


def page_of_unknown_address(request: Request, status: int) -> Response | None:
    """Return the application, which says that it has no such page, to a browser; None for programs and for the API."""
    is_address = request.method == "GET" and not request.url.path.startswith(("/api/", "/v1/"))
    if status != HTTPStatus.NOT_FOUND or not is_address or "text/html" not in request.headers.get("accept", ""):
        return None
    return _page(status)


@router.get("/static/{name}")
def built_file(
    name: Annotated[str, fastapi.Path(max_length=100)],
    accept_encoding: Annotated[str, fastapi.Header(max_length=200)] = "",
) -> Response:
    """Return a built file; its name changes with its content, so browsers keep it for good."""
    if name not in _built_names():
        raise NotFound(f"file {name!r} not found")
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    accepted_encodings = {part.partition(";")[0].strip() for part in accept_encoding.lower().split(",")}
    for encoding, suffix in _ENCODINGS:
        if encoding in accepted_encodings and name + suffix in _built_names():
            headers = {**_GUARDS, **_KEPT_FOR_GOOD, "Content-Encoding": encoding}
            return FileResponse(_FOLDER / "static" / (name + suffix), media_type=media_type, headers=headers)
    return FileResponse(_FOLDER / "static" / name, media_type=media_type, headers={**_GUARDS, **_KEPT_FOR_GOOD})


@router.get("/service-worker.js")
def service_worker(parts: PartsHere) -> Response:
    """Return the script that shows push messages: at the root, for a browser lets it act for what is below it."""
    if not parts.settings.web_push:
        raise NotFound("file 'service-worker.js' not found")
    return FileResponse(_FOLDER / "service-worker.js", media_type="text/javascript", headers=_GUARDS | _ASKED_AGAIN)


@router.get("/embed/{name}")
def embed_file(name: Annotated[str, fastapi.Path(max_length=100)], parts: PartsHere) -> Response:
    """Return the script of the elements that other sites show; its name stays, so browsers ask again after a while."""
    if name != _EMBED or not parts.settings.embed_origins:
        raise NotFound(f"file {name!r} not found")
    return FileResponse(_FOLDER / "embed" / name, media_type="text/javascript", headers=_GUARDS | _FOR_OTHER_SITES)


@cache
def _built_names() -> frozenset[str]:
    """Return the names of all built files, compressed ones included."""
    return frozenset(path.name for path in (_FOLDER / "static").iterdir())


def _page(status: int) -> Response:
    headers = {**_GUARDS, **_ASKED_AGAIN}
    return FileResponse(_FOLDER / "index.html", status, media_type="text/html", headers=headers)
