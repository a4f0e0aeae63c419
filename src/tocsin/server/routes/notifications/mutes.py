"""Routes of a person's mutes: an alert or an asset, until a given time or indefinitely.

Only the person or an administrator may set them. Next: ``store/recipients/mutes.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.mute import FOR_GOOD_MS, Mute, MuteKind, MuteRequest
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.http.errors import parse_as
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer, list_answer
from tocsin.server.routes.notifications.inbox import own_inbox

_ALERT = "eventsubscription"

Owner = Annotated[str, Depends(own_inbox)]
router = APIRouter(prefix="/users/{user_id}/mutes", tags=["inbox"])


@router.get("", openapi_extra=answers("MutePage"))
def list_mutes(owner: Owner, caller: Asked) -> Response:
    """Return a user's active mutes, newest first."""
    mutes = caller.parts.alert_stores.mutes.of(owner, caller.parts.clock.now_ms())
    names = _names(mutes, caller)
    return list_answer([_mute_json(one, names) for one in mutes])


@router.put("", openapi_extra=answers("Mute", reads="MuteRequest", never="409"))
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
    return answer(_mute_json(mute, {mute.about_id: document}))


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


def _mute_json(mute: Mute, names: dict[str, Document]) -> Document:
    document = names.get(mute.about_id, {})
    return {
        "kind": mute.kind.value,
        "id": mute.about_id,
        "name": document.get("displayName") or document.get("name"),
        "fullyQualifiedName": document.get("fullyQualifiedName"),
        "channel": mute.channel or None,
        "since": mute.since_ms,
        "until": None if mute.until_ms >= FOR_GOOD_MS else mute.until_ms,
        "unsubscribed": mute.unsubscribed,
    }
