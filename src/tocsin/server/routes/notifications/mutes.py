"""Routes of a person's mutes: an alert, an asset, a kind of change, an actor or everything, for a time or permanently.

Only the person or an administrator may set them. Next: ``store/recipients/mutes.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import Path, Response

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.change_kinds import CHANGE_KINDS
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.mute import EVERYTHING_ID, FOR_GOOD_MS, Mute, MuteKind, MuteRequest, actor_key, kind_key
from tocsin.model.phrases import hint
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import FLAG, TEXT, TIME, either, nullable
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, answer, list_answer
from tocsin.server.routes.notifications.inbox import Owner

_TYPES = {MuteKind.ALERT: "eventsubscription", MuteKind.ACTOR: "user"}
Subject = Annotated[str, Path(max_length=40)]

router = DeclaredRoutes(prefix="/users/{user_id}/mutes", tags=["inbox"])


class NamedMute(NamedTuple):
    """A mute, with the document of what is muted, empty where that may not be seen."""

    mute: Mute
    document: Document


MUTE: Shape[NamedMute] = {
    "kind": (either(*MuteKind), lambda named: named.mute.kind.value),
    "id": (TEXT, lambda named: named.mute.subject),
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
    return list_answer([json_of(MUTE, NamedMute(one, names.get(one.subject, {}))) for one in mutes])


@router.put("", openapi_extra=answers("Mute", schema_of(MUTE), reads="MuteRequest", never="409"))
def put_mute(owner: Owner, body: DocumentBody, caller: Asked) -> Response:
    """Mute an alert, an asset, a kind of change (`name`), a person or bot, or everything, until a time or forever.

    The last three do not suppress kinds of change that are mandatory, nor what critical alerts send.
    """
    request = parse_as(MuteRequest, body)
    now_ms = caller.parts.clock.now_ms()
    if request.until is not None and request.until <= now_ms:
        raise InvalidInput("must not be in the past", field="until")
    about_id, document = _subject_of(request, caller)
    until_ms = FOR_GOOD_MS if request.until is None else request.until
    mute = Mute(owner, request.kind, about_id, request.channel or "", now_ms, until_ms)
    caller.parts.alert_stores.mutes.put(mute)
    return answer(json_of(MUTE, NamedMute(mute, document)))


@router.delete("/{about_id}", openapi_extra=answers("Unmuted", never="409"))
def delete_mute(owner: Owner, about_id: Subject, caller: Asked) -> Response:
    """End mutes on all channels: of an id, of the name of a kind of change, or of `everything`."""
    mutes = caller.parts.alert_stores.mutes
    if not sum(mutes.remove(owner, key) for key in _keys_of(about_id)):
        raise NotFound(f"{about_id} is not muted.")
    return answer({"id": about_id, "muted": False})


def _subject_of(request: MuteRequest, caller: Caller) -> tuple[str, Document]:
    """Return what a request mutes as it is stored, and the document of it, empty for a kind and everything."""
    if (request.name is None) is (request.kind is MuteKind.KIND):
        raise InvalidInput("is for a kind of change, and for nothing else", field="name")
    if (request.id is None) is (request.kind not in (MuteKind.KIND, MuteKind.EVERYTHING)):
        raise InvalidInput("is for an alert, an asset or an actor, and for nothing else", field="id")
    if request.kind is MuteKind.EVERYTHING:
        return EVERYTHING_ID, {}
    if request.name is not None:
        _check_kind(request.name, caller)
        return kind_key(request.name), {}
    type_name = _TYPES.get(request.kind) or request.type or "table"
    if type_name not in ENTITY_TYPES:
        raise InvalidInput(f"{type_name!r} is not a type of asset", field="type")
    document = visible_document(ENTITY_TYPES[type_name], Key.by_id(str(request.id)), caller)
    return actor_key(document["id"]) if request.kind is MuteKind.ACTOR else document["id"], document


def _check_kind(name: str, caller: Caller) -> None:
    if name not in CHANGE_KINDS:
        raise InvalidInput(f"{name!r} is not a kind of change{hint(name, CHANGE_KINDS)}", field="name")
    if name in caller.parts.alert_stores.preferences.defaults().mandatory:
        raise InvalidInput("is mandatory here, so it cannot be muted", field="name")


def _keys_of(subject: str) -> Iterator[str]:
    """Yield as what a subject may be muted."""
    if subject == EVERYTHING_ID or subject in CHANGE_KINDS:
        yield subject if subject == EVERYTHING_ID else kind_key(subject)
        return
    with suppress(ValueError):
        subject_id = str(UUID(subject))
        yield from (subject_id, actor_key(subject_id))


def _names(mutes: list[Mute], caller: Caller) -> dict[str, Document]:
    """Return the names of what is muted, is still there, and may be seen."""
    subjects = [one.subject for one in mutes]
    references = caller.parts.alert_stores.mutes.references(subjects)
    return {one["id"]: one for one in visible_references(caller, references)}
