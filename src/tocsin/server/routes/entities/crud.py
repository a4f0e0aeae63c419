"""Routes that read and write entities: one set for every type of ``model/entity_types.py``.

The path names the collection, whose row in the table of types defines the rest. Additional routes of single types are
in the other files of this package. Next: ``server/entities/response.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import Query, Response

from tocsin.clock import LATEST_MS
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.flow.capture import etag
from tocsin.flow.capture.operations import new_entity_id
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stored import Key, Written
from tocsin.server.access.permissions import Include, check_delete, require, require_now, visible_document
from tocsin.server.entities.response import parse_fields
from tocsin.server.entities.serialize import past, views_of
from tocsin.server.entities.version_words import version_words
from tocsin.server.http.body_values import patch_of
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.login.tokens import hash_password
from tocsin.server.openapi.operations import answers
from tocsin.server.rdf.answers import entity_answer
from tocsin.server.rdf.formats import AskedFormat
from tocsin.server.request import (
    Asked,
    Caller,
    DocumentBody,
    Fields,
    HardDelete,
    IfMatch,
    JsonBody,
    Kind,
    PathId,
    PathText,
    TokenId,
    answer,
)
from tocsin.server.routes.people.tokens import give_first_token, token_asked_for
from tocsin.server.routes.people.users import check_password

AsOf = Annotated[int | None, Query(alias="asOf", ge=0, le=LATEST_MS)]
OverrideMetadata = Annotated[bool, Query(alias="overrideMetadata")]

_VERSION = re.compile(r"\d{1,6}(\.\d)?")
_PASSWORD_KEYS = frozenset({"password", "confirmPassword", "createPasswordType"})

OLDEST_LEFT_OUT = "X-Tocsin-Oldest-Left-Out"
"""The header of a list of versions without the oldest: each is read by its number, or with ``asOf``."""

router = DeclaredRoutes(tags=["entities"])
"""Included under every collection (``server/app.py``)."""


@router.post("", status_code=201, openapi_extra=answers("{}", reads="Create{}"))
def create(kind: Kind, body: DocumentBody, caller: Asked, token_id: TokenId) -> Response:
    """Create an entity; 409 if the name exists."""
    require(caller, Operation.CREATE, kind)
    request, credentials = _without_credentials(kind, body, caller)
    written = caller.parts.writes.create(kind.name, request, actor=caller.actor)
    return _with_credentials(kind, written, caller, credentials, token_id)


@router.put("", openapi_extra=answers("{}", reads="Create{}", also=("200", "201")))
def create_or_update(
    kind: Kind, body: DocumentBody, caller: Asked, token_id: TokenId, *, override_metadata: OverrideMetadata = False
) -> Response:
    """Create or update an entity by name; omitted keys stay unchanged.

    A bot leaves what people wrote last, unless ``overrideMetadata`` is set.
    """
    request, credentials = _without_credentials(kind, body, caller)
    written = caller.parts.writes.upsert(kind.name, request, actor=caller.actor, overrides=override_metadata)
    return _with_credentials(kind, written, caller, credentials, token_id)


@router.put("/restore", openapi_extra=answers("{}", reads="RestoreRequest", or_accepted="EndedJob"))
def restore(
    kind: Kind, body: DocumentBody, caller: Asked, *, is_async: Annotated[bool, Query(alias="async")] = False
) -> Response:
    """Restore a soft-deleted entity: ``{"id": …}`` or ``{"fullyQualifiedName": …}``.

    With ``async`` it is restored before the answer as well, which names a job that has ended.
    """
    entity_id, fqn = body.get("id"), body.get("fullyQualifiedName")
    if entity_id is None and isinstance(fqn, str):
        entity_id = visible_document(kind, Key.by_name(fqn), caller, include="all")["id"]
    if not isinstance(entity_id, str):
        raise InvalidInput("is missing: send the id or fullyQualifiedName of the entity to restore", field="id")
    written = caller.parts.writes.restore(kind.name, entity_id.lower(), actor=caller.actor)
    return _ended_job(f"Restored {kind.name} {entity_id}.") if is_async else written_answer(kind, written, caller)


@by_id_and_name(router.get, "/{entity_id}", openapi_extra=answers("{}", is_linked=True))
def read(
    kind: Kind,
    key: Key,
    caller: Asked,
    *,
    fields: Fields = None,
    include: Include = "non-deleted",
    as_of: AsOf = None,
    asked_format: AskedFormat,
) -> Response:
    """Return an entity; with ``asOf`` (epoch ms), its state at that time, even if it is deleted now."""
    field_names = parse_fields(kind, fields)
    if as_of is not None:
        return entity_answer(kind.name, _past_view(kind, key, caller, as_of, include=include), asked_format)
    document = visible_document(kind, key, caller, include=include)
    (view,) = views_of(kind, [document], caller, fields=field_names)
    return entity_answer(kind.name, view, asked_format, tag=etag.strong_tag(document))


@by_id_and_name(router.patch, "/{entity_id}", openapi_extra=answers("{}", reads="JsonPatch"))
def patch(kind: Kind, key: Key, body: JsonBody, caller: Asked, *, if_match: IfMatch = None) -> Response:
    """Apply a JSON Patch (RFC 6902) to an entity; ``If-Match`` guards against concurrent changes."""
    key = Key.by_id(key.id or visible_document(kind, key, caller)["id"])
    operations = patch_of(body)
    written = caller.parts.writes.patch(kind.name, key, operations, actor=caller.actor, if_match=if_match)
    return written_answer(kind, written, caller)


@by_id_and_name(router.delete, "/{entity_id}", openapi_extra=answers("{}"))
def delete(
    kind: Kind, key: Key, caller: Asked, *, hard_delete: HardDelete = False, recursive: bool = False
) -> Response:
    """Soft-delete an entity, or hard-delete it with ``hardDelete``; ``recursive`` includes all below it."""
    key = Key.by_id(key.id or visible_document(kind, key, caller, include="all")["id"])
    check_delete(caller, kind, caller.parts.catalogue.get(kind.name, key, "all"))
    written = caller.parts.writes.delete(kind.name, key, actor=caller.actor, recursive=recursive, hard=hard_delete)
    return answer(past(kind, written.document, caller))


@router.get("/{entity_id}/versions", openapi_extra=answers("EntityHistory"))
def list_versions(kind: Kind, entity_id: PathId, caller: Asked, *, words: bool = False) -> Response:
    """Return all versions, newest first, as JSON texts; ``words`` adds descriptions of the changes.

    It also adds, as ``breaking``, why each version breaks who relied on the one before: no reasons where it does not,
    or where a change request announced it; and, as ``reasons``, why each was written, as its author says: empty where
    nobody did.

    Where they are too large together (``page_bytes``), the oldest are left out, and a header says so.
    """
    require_now(caller, kind, str(entity_id))
    all_versions = caller.parts.catalogue.versions(str(entity_id))
    versions = caller.visibility.visible_documents(all_versions)
    texts = [orjson.dumps(past(kind, one, caller)).decode() for one in versions]
    descriptions = version_words(kind.name, versions, caller) if words else {}
    return answer(
        {"entityType": kind.name, "versions": texts, **descriptions},
        headers={OLDEST_LEFT_OUT: "true"} if all_versions.is_cut else None,
    )


@router.get("/{entity_id}/versions/{version}", openapi_extra=answers("{}", is_linked=True))
def read_version(
    kind: Kind, entity_id: PathId, version: PathText, caller: Asked, asked_format: AskedFormat
) -> Response:
    """Return one version of an entity."""
    if not _VERSION.fullmatch(version):
        raise InvalidInput(f"{version!r} is not a version; versions look like 0.1", field="version")
    require_now(caller, kind, str(entity_id))
    view = past(kind, caller.parts.catalogue.version(str(entity_id), version), caller)
    return entity_answer(kind.name, view, asked_format)


def written_answer(kind: EntityType, written: Written, caller: Caller) -> Response:
    """Return the answer to a write: the whole entity, 201 when it is new."""
    headers = {"ETag": etag.strong_tag(written.document)}
    (view,) = views_of(kind, [written.as_read or written.document], caller, written=written)
    return answer(view, 201 if written.created else 200, headers)


def _past_view(kind: EntityType, key: Key, caller: Caller, at_ms: int, *, include: Include) -> Document:
    require_now(caller, kind, caller.parts.entities.history.identify(kind.name, key))
    document = caller.parts.entities.history.as_of(kind.name, key, at_ms)
    if include != "all" and bool(document.get("deleted")) != (include == "deleted"):
        raise NotFound(f"{kind.name} {key} did not exist at {at_ms}")
    return past(kind, document, caller)


@router.delete("/async/{entity_id}", status_code=202, openapi_extra=answers("EndedJob"))
def delete_async(
    kind: Kind, entity_id: PathId, caller: Asked, *, hard_delete: HardDelete = False, recursive: bool = False
) -> Response:
    """Delete an entity as ``DELETE /{entity_id}`` does: done before the answer, which names a job that has ended."""
    delete(kind, Key.by_id(str(entity_id)), caller, hard_delete=hard_delete, recursive=recursive)
    return _ended_job(f"Deleted {kind.name} {entity_id}.")


def _ended_job(message: str) -> Response:
    return answer({"jobId": new_entity_id(), "message": message}, 202)


@dataclass(frozen=True)
class _Credentials:
    """What a new user is to log in with: a password, or the token that a bot asks for."""

    password: str | None = None
    token: Document | None = None


def _without_credentials(kind: EntityType, body: Document, caller: Caller) -> tuple[Document, _Credentials]:
    """Split a new user's credentials from the request: they must never be part of an entity."""
    if kind.name != "user":
        return body, _Credentials()
    request, password = _without_password(body, caller)
    return request, _Credentials(password, token_asked_for(body))


def _without_password(body: Document, caller: Caller) -> tuple[Document, str | None]:
    if not _PASSWORD_KEYS & body.keys():
        return body, None
    if not caller.actor.is_admin:
        raise Forbidden("Only an administrator may set another user's password.")
    password = body.get("password")
    if password is not None and (not isinstance(password, str) or body.get("confirmPassword", password) != password):
        raise InvalidInput("must be a string and equal to confirmPassword", field="password")
    checked = None if password is None else check_password(password)
    return {key: value for key, value in body.items() if key not in _PASSWORD_KEYS}, checked


def _with_credentials(
    kind: EntityType, written: Written, caller: Caller, credentials: _Credentials, token_id: str
) -> Response:
    if credentials.password is not None:
        caller.parts.people.set_password(written.document["id"], hash_password(credentials.password))
    if credentials.token is not None:
        give_first_token(written.document["id"], credentials.token, caller, token_id)
    return written_answer(kind, written, caller)
