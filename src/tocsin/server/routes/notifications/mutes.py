"""Routes of a person's mutes: an alert or an asset, until a given time or indefinitely.

Only the person or an administrator may set them. Next: ``store/alerts/mutes.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.mute import FOR_GOOD_MS, Mute, MuteKind
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.server.access.permissions import seen
from tocsin.server.http.errors import describe_validation
from tocsin.server.http.request import LATEST_MS, Asked, Caller, DocumentBody, PathId, answer
from tocsin.server.routes.entities.crud import found
from tocsin.server.routes.notifications.inbox import own_inbox

_ALERT = "eventsubscription"

Owner = Annotated[str, Depends(own_inbox)]
router = APIRouter(prefix="/users/{user_id}/mutes", tags=["inbox"])


class MuteRequest(BaseModel):
    """What to mute; ``type`` is the asset's, ``until`` epoch milliseconds (left out: for good)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: MuteKind
    id: UUID
    type: str | None = Field(default=None, max_length=40)
    until: int | None = Field(default=None, ge=0, le=LATEST_MS)
    channel: Literal[Channel.ACTIVITY_FEED, Channel.EMAIL, Channel.SLACK] | None = None


@router.get("")
def list_mutes(owner: Owner, caller: Asked) -> Response:
    """Return a user's active mutes, newest first."""
    mutes = caller.parts.alert_stores.mutes.of(owner, caller.parts.clock.now_ms())
    names = _names(mutes, caller)
    return answer({"data": [_shown(one, names) for one in mutes], "paging": {"total": len(mutes)}})


@router.put("")
def put_mute(owner: Owner, body: DocumentBody, caller: Asked) -> Response:
    """Mute an alert or an asset, on one channel or all, until a time or forever."""
    asked = _asked(body)
    now_ms = caller.parts.clock.now_ms()
    if asked.until is not None and asked.until <= now_ms:
        raise InvalidInput("must not be in the past", field="until")
    type_name = _ALERT if asked.kind is MuteKind.ALERT else asked.type or "table"
    if type_name not in ENTITY_TYPES:
        raise InvalidInput(f"{type_name!r} is not a type of asset", field="type")
    document = found(ENTITY_TYPES[type_name], Key.by_id(str(asked.id)), caller)
    until_ms = FOR_GOOD_MS if asked.until is None else asked.until
    one = Mute(owner, asked.kind, document["id"], asked.channel or "", now_ms, until_ms)
    caller.parts.alert_stores.mutes.put(one)
    return answer(_shown(one, {one.about_id: document}))


def _asked(body: Document) -> MuteRequest:
    try:
        return MuteRequest.model_validate(body)
    except ValidationError as error:
        raise InvalidInput(describe_validation(error.errors())) from error


@router.delete("/{about_id}")
def delete_mute(owner: Owner, about_id: PathId, caller: Asked) -> Response:
    """Unmute an alert or an asset on all channels."""
    if not caller.parts.alert_stores.mutes.remove(owner, str(about_id)):
        raise NotFound(f"{about_id} is not muted.")
    return answer({"id": str(about_id), "muted": False})


def _names(mutes: list[Mute], caller: Caller) -> dict[str, Document]:
    """Return the names of what is muted, is still there, and may be seen."""
    references = caller.parts.alert_stores.mutes.references([one.about_id for one in mutes])
    return {one["id"]: one for one in seen(caller, references)}


def _shown(one: Mute, names: dict[str, Document]) -> Document:
    named = names.get(one.about_id, {})
    return {
        "kind": one.kind.value,
        "id": one.about_id,
        "name": named.get("displayName") or named.get("name"),
        "fullyQualifiedName": named.get("fullyQualifiedName"),
        "channel": one.channel or None,
        "since": one.since_ms,
        "until": None if one.until_ms >= FOR_GOOD_MS else one.until_ms,
        "unsubscribed": one.unsubscribed,
    }
