"""Request dependencies: the authenticated caller, path parameters and JSON body, each validated.

These are FastAPI dependencies; routes name them in their signatures. They are few and none is a plain function:
FastAPI would run it in a separate thread, which costs more than all of them together.
Next: ``server/routes/entities/crud.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Annotated, Any
from urllib.parse import unquote
from uuid import UUID

import orjson
from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from starlette.concurrency import run_in_threadpool

from tocsin.access.decide import Permissions
from tocsin.access.permission_cache import PolicySnapshot
from tocsin.access.person_visibility import Visibility
from tocsin.clock import LATEST_MS
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import BY_COLLECTION
from tocsin.model.people import Actor
from tocsin.model.stated_reason import WHY_HEADER, reason_in_header
from tocsin.server.build import Parts
from tocsin.server.http.request_slots import Taken
from tocsin.server.login.browser_sessions import authorization_of
from tocsin.server.login.embeds import embed_authorization_of

DEEPEST_JSON = 64
"""Levels of nesting that a body may have."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})

MOST_BRACKETS = 1_000_000
"""Lists and objects that a body may hold: each takes more memory than it takes bytes."""


async def parts_of(request: Request) -> Parts:
    """Return the parts this server is built of."""
    parts: Parts = request.app.state.parts
    return parts


class QueryParameters(BaseModel):
    """Query parameters of a route, which the wire has in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


@dataclass(frozen=True)
class Caller:
    """Who asks, of which server, under which address, and the place that the request holds in their share."""

    actor: Actor
    parts: Parts
    root: str
    place: Taken

    @cached_property
    def policies(self) -> PolicySnapshot:
        """What policies say as this request begins."""
        return self.parts.access.permission_cache.current_policies()

    @cached_property
    def permissions(self) -> Permissions:
        """What the sender may do."""
        return self.policies.of(self.actor.id)

    @cached_property
    def visibility(self) -> Visibility:
        """What the sender may see, of things as they are now or were last."""
        return Visibility(self.permissions, self.parts.access.standing)

    @cached_property
    def zone(self) -> str:
        """The IANA zone that the sender prefers: sentences for them have times in it."""
        return self.parts.alert_stores.preferences.of(self.actor.id).timezone


async def caller_of(request: Request) -> AsyncIterator[Caller]:
    """Yield the caller: person, server and address; requests without a valid token are rejected.

    Until the response is sent the request holds one of its sender's slots.

    Raises
    ------
    InvalidInput : it writes, and why it does is no reason (``model/stated_reason.py``)
    """
    parts = await parts_of(request)
    authorization = authorization_of(request, parts.login.browsers, parts.settings.public_url)
    actor = await _sender_of(request, parts, authorization)
    with await parts.traffic.shares.place_for(actor) as place:
        caller = Caller(actor, parts, parts.settings.public_url or address_of(request), place)
        request.state.caller = caller
        yield caller


async def embedded_caller_of(request: Request) -> AsyncIterator[Caller]:
    """Yield the person whom an embed is for; requests without a token of an embed are rejected.

    Raises
    ------
    InvalidInput : as ``caller_of``
    """
    parts = await parts_of(request)
    actor = await _sender_of(request, parts, embed_authorization_of(request, parts.settings))
    with await parts.traffic.shares.place_for(actor) as place:
        caller = Caller(actor, parts, parts.settings.public_url or address_of(request), place)
        request.state.caller = caller
        yield caller


async def _sender_of(request: Request, parts: Parts, authorization: str | None) -> Actor:
    """Return who sent a request, and why, where it writes and says so."""
    actor = parts.login.tokens.cached_actor(authorization)
    if actor is None:
        actor = await run_in_threadpool(parts.login.actor_of, authorization)
    request.state.authorization = authorization
    if request.method not in _READING and WHY_HEADER in request.headers:
        return replace(actor, reason=_reason_of(request))
    return actor


def _reason_of(request: Request) -> str | None:
    """Return why a request writes, as its header says."""
    values = request.headers.getlist(WHY_HEADER)
    if len(values) > 1:
        raise InvalidInput("is there more than once", field=WHY_HEADER)
    return reason_in_header(values[0].encode("latin-1"))  # as Starlette has decoded it


async def actor_of(caller: Annotated[Caller, Depends(caller_of)]) -> Actor:
    """Return who sent the request."""
    return caller.actor


async def kind_of(request: Request) -> EntityType:
    """Return the type of entity whose collection the path names."""
    return BY_COLLECTION[request.path_params["collection"]]


async def token_id_of(request: Request, caller: Annotated[Caller, Depends(caller_of)]) -> str:
    """Return the id of the token that the request was sent with."""
    return caller.parts.login.tokens.id_of(request.state.authorization)


async def json_of(request: Request) -> Any:  # Any: whatever JSON was sent
    """Return the body's JSON, refused when it is malformed, too deep, too full, or holds a NUL character."""
    bodies = (await parts_of(request)).traffic.bodies
    with await bodies.read(request) as text:
        return await bodies.parse(text, parse_json)


def parse_json(text: bytes) -> Any:  # Any: whatever JSON was sent
    """Return what JSON says.

    Raises
    ------
    InvalidInput : it is malformed, too deep, too full, or holds a NUL character
    """
    brackets = text.count(b"{") + text.count(b"[")
    if brackets > MOST_BRACKETS:
        raise InvalidInput(f"The body contains more than {MOST_BRACKETS} lists and objects; split it.")
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"The body is not JSON: {error}") from error
    # Without the one spelling of NUL and without more brackets than levels, there is nothing to look for.
    if b"\\u0000" in text:
        _check_texts(body)
    if brackets > DEEPEST_JSON:
        _check_depth(body)
    return body


async def document_of(request: Request) -> Document:
    """Return the body, which must be a JSON object.

    Raises
    ------
    InvalidInput : the body is no JSON object
    """
    return _object_of(await json_of(request))


def _object_of(body: Any) -> Document:  # Any: whatever JSON was sent
    if not isinstance(body, dict):
        raise InvalidInput("The body must be a JSON object.")
    return body


async def text_of(request: Request) -> str:
    """Return the body as a text: what a JSON string says, or the body itself.

    Raises
    ------
    InvalidInput : the body is not UTF-8, or contains a NUL character
    """
    read = await body_of(request)
    try:
        text = read.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("The body is not UTF-8.") from error
    if text.startswith('"'):
        with contextlib.suppress(orjson.JSONDecodeError):
            text = orjson.loads(text)
    if "\0" in text:
        raise InvalidInput("The body contains a NUL character; remove it.")
    return text


async def csv_of(request: Request) -> str:
    """Return the body, which must be text in UTF-8.

    Raises
    ------
    InvalidInput : it is not
    """
    try:
        return (await body_of(request)).decode("utf-8")
    except UnicodeDecodeError as refused:
        raise InvalidInput(f"The CSV is not UTF-8, at byte {refused.start}.") from refused


async def optional_document_of(request: Request) -> Document:
    """Return the body, which must be a JSON object, or may be left out; a body in chunks says no length before.

    Raises
    ------
    InvalidInput : as ``document_of``
    """
    bodies = (await parts_of(request)).traffic.bodies
    with await bodies.read(request) as text:
        return _object_of(await bodies.parse(text, parse_json)) if text else {}


def answer(document: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return ``document`` as the JSON body of an answer."""
    return Response(orjson.dumps(document), status_code=status, headers=headers, media_type="application/json")


def list_answer(documents: Sequence[object]) -> Response:
    """Return a whole list as the body of an answer: a page with all there is."""
    return answer({"data": documents, "paging": {"total": len(documents)}})


async def body_of(request: Request) -> bytes:
    """Return the body, read no further than it may be long."""
    with await (await parts_of(request)).traffic.bodies.read(request) as text:
        return text


def _check_depth(body: object) -> None:
    level: list[Any] = [body]  # Any: objects and arrays
    for _ in range(DEEPEST_JSON):
        parts = chain.from_iterable(whole.values() if type(whole) is dict else whole for whole in level)
        level = [part for part in parts if type(part) is dict or type(part) is list]
        if not level:
            return
    raise InvalidInput(f"The body is nested deeper than {DEEPEST_JSON} levels.")


def _check_texts(body: object) -> None:
    """Refuse NUL, which PostgreSQL cannot hold."""
    waiting: list[object] = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += (*value.keys(), *value.values())
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and "\0" in value:
            raise InvalidInput("The body contains a NUL character (\\u0000); remove it.")


def address_of(request: Request) -> str:
    """Return the address this server is reached at, as links must name it."""
    host = request.headers.get("host")
    return f"{request.scope['scheme']}://{host}" if host else str(request.base_url).rstrip("/")


Asked = Annotated[Caller, Depends(caller_of)]
Embedded = Annotated[Caller, Depends(embedded_caller_of)]
PartsHere = Annotated[Parts, Depends(parts_of)]
RequestActor = Annotated[Actor, Depends(actor_of)]
Kind = Annotated[EntityType, Depends(kind_of)]
TokenId = Annotated[str, Depends(token_id_of)]
OptionalBody = Annotated[Document, Depends(optional_document_of)]
JsonBody = Annotated[Any, Depends(json_of)]  # Any: whatever JSON was sent
TextBody = Annotated[str, Depends(text_of)]
DocumentBody = Annotated[Document, Depends(document_of)]
PathId = Annotated[UUID, Path(), AfterValidator(str)]
PathText = Annotated[str, Path(max_length=10_000), AfterValidator(unquote)]
IfMatch = Annotated[str | None, Header(max_length=1000)]
HardDelete = Annotated[bool, Query(alias="hardDelete", description="Whether it is deleted for good.")]
TypeName = Annotated[str, Path(max_length=40)]
Fields = Annotated[str | None, Query(max_length=2000)]
Limit = Annotated[int, Query(ge=0, le=1_000_000)]
Timestamp = Annotated[int, Query(ge=0, le=LATEST_MS)]
