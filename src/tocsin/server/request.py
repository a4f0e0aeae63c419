"""What does a request bring along? Its sender, its parts of the path, its JSON body; each checked at the door.

These are FastAPI dependencies; routes name them in their signatures. Only those that read the store are plain
functions: FastAPI runs each of these in a thread of its own, which costs more than most of them do.
Next: ``server/routes/entities.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import unquote
from uuid import UUID

import orjson
from fastapi import Depends, Path, Query, Request, Response
from pydantic import AfterValidator
from starlette.exceptions import HTTPException

from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import BY_COLLECTION, EntityType
from tocsin.model.people import Actor
from tocsin.server.build import Parts

DEEPEST_JSON = 64
"""Levels of nesting that a body may have."""

LARGEST_BODY = 16 * 1024 * 1024
"""Bytes that a body may have; more is answered 413."""

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: no time beyond it is believed."""


async def parts_of(request: Request) -> Parts:
    """Return the parts this server is built of."""
    return _parts(request)


def actor_of(request: Request) -> Actor:
    """Return who sent the request; whoever has no valid token gets no further."""
    return _parts(request).tokens.actor(request.headers.get("authorization"))


async def root_of(request: Request) -> str:
    """Return the address this server is reached at, as links must name it."""
    return _parts(request).settings.public_url or str(request.base_url).rstrip("/")


async def row_of(request: Request) -> EntityType:
    """Return the type of entity whose collection the path names."""
    return BY_COLLECTION[request.path_params["collection"]]


async def administrator_of(actor: Annotated[Actor, Depends(actor_of)]) -> Actor:
    """Return who sent the request, if it is an administrator."""
    if not actor.is_admin:
        raise Forbidden("Only an administrator may do this.")
    return actor


async def json_of(request: Request) -> Any:  # Any: whatever JSON was sent
    """Return the body's JSON, refused when it is malformed, too deep, or holds a NUL character."""
    try:
        body = orjson.loads(await _body_of(request))
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"The body is not JSON: {error}") from error
    _check_json(body)
    return body


async def document_of(body: Annotated[Any, Depends(json_of)]) -> Document:
    """Return the body, which must be a JSON object."""
    if not isinstance(body, dict):
        raise InvalidInput("The body must be a JSON object.")
    return body


def answer(document: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return ``document`` as the JSON body of an answer."""
    return Response(orjson.dumps(document), status_code=status, headers=headers, media_type="application/json")


async def _body_of(request: Request) -> bytes:
    """Return the body, read no further than it may be long."""
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > LARGEST_BODY:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is longer than {LARGEST_BODY} bytes.")
    return bytes(read)


def _check_json(body: object) -> None:
    level: list[object] = [body]
    for _ in range(DEEPEST_JSON):
        level = [part for whole in level for part in _inside(whole)]
        if not level:
            return
    raise InvalidInput(f"The body is nested deeper than {DEEPEST_JSON} levels.")


def _inside(whole: object) -> list[object]:
    """Return what ``whole`` contains; texts are looked at for NUL, which PostgreSQL cannot hold."""
    if isinstance(whole, dict):
        return [*whole.keys(), *whole.values()]
    if isinstance(whole, list):
        return whole
    if isinstance(whole, str) and "\0" in whole:
        raise InvalidInput("The body holds a NUL character (\\u0000); remove it.")
    return []


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def _id_text(value: UUID) -> str:
    return str(value)


@dataclass(frozen=True)
class Caller:
    """Who asks, of which server, under which address."""

    actor: Actor
    parts: Parts
    root: str


async def caller_of(
    actor: Annotated[Actor, Depends(actor_of)],
    parts: Annotated[Parts, Depends(parts_of)],
    root: Annotated[str, Depends(root_of)],
) -> Caller:
    """Return who asks, of which server, under which address."""
    return Caller(actor, parts, root)


Asked = Annotated[Caller, Depends(caller_of)]
PartsHere = Annotated[Parts, Depends(parts_of)]
Sender = Annotated[Actor, Depends(actor_of)]
Row = Annotated[EntityType, Depends(row_of)]
Administrator = Annotated[Actor, Depends(administrator_of)]
JsonBody = Annotated[Any, Depends(json_of)]  # Any: whatever JSON was sent
DocumentBody = Annotated[Document, Depends(document_of)]
PathId = Annotated[UUID, Path(), AfterValidator(_id_text)]
PathText = Annotated[str, Path(max_length=10_000), AfterValidator(unquote)]
Fields = Annotated[str | None, Query(max_length=2000)]
Limit = Annotated[int, Query(ge=0, le=1_000_000)]
Timestamp = Annotated[int, Query(ge=0, le=LATEST_MS)]
