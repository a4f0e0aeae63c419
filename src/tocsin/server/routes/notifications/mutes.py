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
from tocsin.model.alert_incident import AlertIncident, IncidentStatus
from tocsin.model.change_kinds import CHANGE_KINDS
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.mute import EVERYTHING_ID, FOR_GOOD_MS, Mute, MuteEnd, MuteKind, MuteRequest, actor_key, kind_key
from tocsin.model.phrases import hint
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.alerts.incidents import found_incident, visible_incidents
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import FLAG, TEXT, TIME, either, nullable
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, answer, list_answer
from tocsin.server.routes.notifications.inbox import Owner
from tocsin.store.recipients.followed_types import CONTAINING

_COVERED = "all that is in it"
_TYPES = {MuteKind.ALERT: "eventsubscription", MuteKind.ACTOR: "user"}
Subject = Annotated[str, Path(max_length=40)]

router = DeclaredRoutes(prefix="/users/{user_id}/mutes", tags=["inbox"])


class NamedMute(NamedTuple):
    """A mute, with the document of what is muted and the name of its incident, empty where these may not be seen."""

    mute: Mute
    document: Document
    incident: str | None = None


MUTE: Shape[NamedMute] = {
    "kind": (either(*MuteKind), lambda named: named.mute.kind.value),
    "id": (TEXT, lambda named: named.mute.subject),
    "name": (nullable(TEXT), lambda named: named.document.get("displayName") or named.document.get("name")),
    "fullyQualifiedName": (nullable(TEXT), lambda named: named.document.get("fullyQualifiedName")),
    "channel": (nullable(TEXT), lambda named: named.mute.channel or None),
    "since": (TIME, lambda named: named.mute.since_ms),
    "until": (nullable(TIME), lambda named: None if named.mute.until_ms >= FOR_GOOD_MS else named.mute.until_ms),
    "ends": (nullable(either(*MuteEnd)), lambda named: named.mute.ends_by and named.mute.ends_by.value),
    "incident": (nullable(TEXT), lambda named: named.incident),
    "unsubscribed": (FLAG, lambda named: named.mute.unsubscribed),
    "covers?": (TEXT, lambda named: _COVERED if named.document.get("type") in CONTAINING else None),
}


@router.get("", openapi_extra=answers("MutePage", schema_of(MUTE)))
def list_mutes(owner: Owner, caller: Asked) -> Response:
    """Return a user's active mutes, newest first."""
    mutes = caller.parts.alert_stores.mutes.of(owner, caller.parts.clock.now_ms())
    names, incidents = _names(mutes, caller), _incident_names(mutes, caller)
    named_mutes = (NamedMute(one, names.get(one.subject, {}), incidents.get(one.ends_of)) for one in mutes)
    return list_answer([json_of(MUTE, one) for one in named_mutes])


@router.put("", openapi_extra=answers("Mute", schema_of(MUTE), reads="MuteRequest", never="409"))
def put_mute(owner: Owner, body: DocumentBody, caller: Asked) -> Response:
    """Mute an alert, an asset, a kind of change (`name`), a person or bot, or everything, until a time or forever.

    A mute of a service, database, schema, domain and the like `covers` all that is in it. No mute suppresses kinds of
    change that are mandatory; the last three neither what critical alerts send. `ends` ends it before that time:
    `changed` with the next change of the asset or alert, `resolved` with an incident.
    """
    request = parse_as(MuteRequest, body)
    now_ms = caller.parts.clock.now_ms()
    if request.until is not None and request.until <= now_ms:
        raise InvalidInput("must not be in the past", field="until")
    about_id, document = _subject_of(request, caller)
    until_ms = FOR_GOOD_MS if request.until is None else request.until
    incident = _incident_of(request, about_id, caller)
    ends_of = incident.id if incident else about_id if request.ends else ""
    channel = request.channel or ""
    mute = Mute(owner, request.kind, about_id, channel, now_ms, until_ms, ends_by=request.ends, ends_of=ends_of)
    caller.parts.alert_stores.mutes.put(mute)
    return answer(json_of(MUTE, NamedMute(mute, document, incident.name if incident else None)))


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
    if request.kind is MuteKind.ACTOR:
        return actor_key(document["id"]), document
    return document["id"], {**document, "type": type_name}


def _incident_of(request: MuteRequest, about_id: str, caller: Caller) -> AlertIncident | None:
    """Return the incident with which a mute ends; None for one that ends otherwise."""
    if request.ends is not MuteEnd.RESOLVED:
        if request.incident is not None:
            raise InvalidInput("is for a mute that ends with an incident: say ends: resolved as well", field="incident")
        if request.ends is MuteEnd.CHANGED and request.kind not in (MuteKind.ASSET, MuteKind.ALERT):
            raise InvalidInput("changed is for an asset or an alert; name an incident, or a time", field="ends")
        return None
    if request.incident is not None:
        incident = found_incident(request.incident, caller)
        if incident.status is IncidentStatus.RESOLVED:
            raise InvalidInput(f"{incident.name} is resolved", field="incident")
        return incident
    stores = caller.parts.alert_stores
    open_ids = stores.mutes.open_incidents(about_id) if request.kind is MuteKind.ASSET else []
    open_incidents = visible_incidents(caller, list(stores.incidents.by_ids(open_ids).values()))
    incidents = [one for one in open_incidents if one is not None]
    if len(incidents) == 1:
        return incidents[0]
    if request.kind is not MuteKind.ASSET:
        raise InvalidInput("must be given: only an asset has its own", field="incident")
    names = ", ".join(sorted(one.name for one in incidents))
    problem = f"has several that are not resolved, name one: {names}" if names else "has none that is not resolved"
    raise InvalidInput(f"must be given: the asset {problem}", field="incident")


def _incident_names(mutes: list[Mute], caller: Caller) -> dict[str, str]:
    """Return the names of the incidents that end these mutes and may be seen, by their ids."""
    ids = {one.ends_of for one in mutes if one.ends_by is MuteEnd.RESOLVED}
    incidents = list(caller.parts.alert_stores.incidents.by_ids(ids).values()) if ids else []
    return {one.id: one.name for one in visible_incidents(caller, incidents) if one is not None}


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
