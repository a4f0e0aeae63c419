"""Routes of a person's mutes: an alert or an asset, until a given time or indefinitely.

Only the person or an administrator may set them. Next: ``store/recipients/mutes.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from fastapi import Response

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.mute import FOR_GOOD_MS, Mute, MuteKind, MuteRequest
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import FLAG, TEXT, TIME, either, nullable
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer, list_answer
from tocsin.server.routes.notifications.inbox import Owner

_ALERT = "eventsubscription"

router = DeclaredRoutes(prefix="/users/{user_id}/mutes", tags=["inbox"])


class NamedMute(NamedTuple):
    """A mute, with the document of what is muted, empty where that may not be seen."""

    mute: Mute
    document: Document


MUTE: Shape[NamedMute] = {
    "kind": (either(*MuteKind), lambda named: named.mute.kind.value),
    "id": (TEXT, lambda named: named.mute.about_id),
    "name": (nullable(TEXT), lambda named: named.document.get("displayName") or named.document.get("name")),
    "fullyQualifiedName": (nullable(TEXT), lambda named: named.document.get("fullyQualifiedName")),
    "channel": (nullable(TEXT), lambda named: named.mute.channel or None),
    "since": (TIME, lambda named: named.mute.since_ms),
    "until": (nullable(TIME), lambda named: None if named.mute.until_ms >= FOR_GOOD_MS else named.mute.until_ms),
    "unsubscribed": (FLAG, lambda named: named.mute.unsubscribed),
}


@router.get("", openapi_extra=answers("MutePage", schema_of(MUTE)))
def list_mutes(owner: Owner, caller: Asked) -> Response:
    """Return a user's active mutes, newest first."""
    mutes = caller.parts.alert_stores.mutes.of(owner, caller.parts.clock.now_ms())
    names = _names(mutes, caller)
    return list_answer([json_of(MUTE, NamedMute(one, names.get(one.about_id, {}))) for one in mutes])


@router.put("", openapi_extra=answers("Mute", schema_of(MUTE), reads="MuteRequest", never="409"))
def put_mute(owner: Owner, body: DocumentBody, caller: Asked) -> Response:
    """Mute an alert or an asset, on one channel or all, until a time or forever."""
    request = parse_as(MuteRequest, body)
    now_ms = caller.parts.clock.now_ms()
    if request.until is not None and request.until <= now_ms:
        raise InvalidInput("must not be in the past", field="until")
    type_name = _ALERT if request.kind is MuteKind.ALERT else request.type or "table"
    if type_name not in ENTITY_TYPES:
        raise InvalidInput(f"{type_name!r} is not a type of asset", field="type")
    document = visible_document(ENTITY_TYPES[type_name], Key.by_id(str(request.id)), caller)
    until_ms = FOR_GOOD_MS if request.until is None else request.until
    mute = Mute(owner, request.kind, document["id"], request.channel or "", now_ms, until_ms)
    caller.parts.alert_stores.mutes.put(mute)
    return answer(json_of(MUTE, NamedMute(mute, document)))


@router.delete("/{about_id}", openapi_extra=answers("Unmuted", never="409"))
def delete_mute(owner: Owner, about_id: PathId, caller: Asked) -> Response:
    """Unmute an alert or an asset on all channels."""
    if not caller.parts.alert_stores.mutes.remove(owner, str(about_id)):
        raise NotFound(f"{about_id} is not muted.")
    return answer({"id": str(about_id), "muted": False})


def _names(mutes: list[Mute], caller: Caller) -> dict[str, Document]:
    """Return the names of what is muted, is still there, and may be seen."""
    references = caller.parts.alert_stores.mutes.references([one.about_id for one in mutes])
    return {one["id"]: one for one in visible_references(caller, references)}
