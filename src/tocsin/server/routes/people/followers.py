"""Routes of followers, in the seed's form (the user in the path) and in upstream's (the user in the body).

They return the change event; following twice changes nothing and returns ``entityNoChange``.
Next: ``server/routes/people/follows.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Response

from tocsin.access.person_visibility import Visibility
from tocsin.delivery.wording.event_formats import as_default
from tocsin.errors import Forbidden, InvalidInput, NotFound, TocsinError
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.follow_review import advice_on, advice_thread, advice_thread_id
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Written
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.entities.bulk_results import bulk_result, outcome_of
from tocsin.server.entities.followed_assets import own_follows, stop_following
from tocsin.server.entities.response import with_address
from tocsin.server.http.body_values import list_in, parse_id
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, Kind, PathId, answer
from tocsin.store.recipients.idle_follows import FollowPlace

MOST_AT_ONCE = 1_000
"""Assets that one request may follow."""

ADVICE = "X-Tocsin-Advice"
"""The header of a follow that advises a person who follows very much."""

of_asset = DeclaredRoutes(prefix="/{entity_id}/followers", tags=["followers"])
"""Included under every collection (``server/app.py``)."""

router = DeclaredRoutes(tags=["followers"])


@of_asset.get("", openapi_extra=answers("Followers"))
def list_followers(kind: Kind, entity_id: PathId, caller: Asked) -> Response:
    """Return the followers of an asset, as ``data`` and as ``followers``."""
    visible_document(kind, Key.by_id(str(entity_id)), caller, include="all")
    users = [with_address(user, caller.root) for user in caller.parts.catalogue.followers(str(entity_id))]
    return answer({"entityType": kind.name, "entityId": str(entity_id), "followers": users, "data": users})


OfColumn = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=3000,
        description="Only this column of the asset, by its name, or its names with dots between.",
    ),
]


@of_asset.put("", openapi_extra=answers("ChangeEvent", reads="FollowerId"))
def add_follower(kind: Kind, entity_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Add the user whose id is the body (a JSON string) as a follower."""
    visible_document(kind, Key.by_id(str(entity_id)), caller)
    user_id = parse_id(body, "The body must be a user id, as a JSON string.")
    return _followed_answer(kind, _follow(kind, str(entity_id), user_id, caller), user_id, caller)


@of_asset.put("/{user_id}", openapi_extra=answers("ChangeEvent"))
def follow(kind: Kind, entity_id: PathId, user_id: PathId, caller: Asked, column: OfColumn = None) -> Response:
    """Add a follower of the asset, or of one column of it."""
    written = _follow(kind, str(entity_id), str(user_id), caller, column=column)
    return _followed_answer(kind, written, str(user_id), caller)


@of_asset.delete("/{user_id}", openapi_extra=answers("ChangeEvent"))
def unfollow(kind: Kind, entity_id: PathId, user_id: PathId, caller: Asked, column: OfColumn = None) -> Response:
    """Remove a follower, of a soft-deleted asset as well: a restore does not bring them back.

    Who follows it by default of a team follows it no longer either; that is no event.
    """
    visible_document(kind, Key.by_id(str(entity_id)), caller, include="all")
    check_oneself(str(user_id), caller)
    asset = (kind.name, str(entity_id))
    written, _ = stop_following(caller.parts, asset, str(user_id), actor=caller.actor, column=column)
    return answer(event_of(kind, written, caller))


@router.get("/users/{user_id}/follows", openapi_extra=answers("Follows"))
def list_follows(
    user_id: PathId, caller: Asked, *, fields: Annotated[str | None, Query(max_length=1000)] = None
) -> Response:
    """Return the assets a user follows, by type: ``{"tables": […], "dashboards": […]}``."""
    check_person(str(user_id), caller)
    groups = {_group(row): row for row in ENTITY_TYPES.values() if row.is_followable}
    group_names = [name.strip() for name in (fields or "").split(",") if name.strip()]
    if unknown := [name for name in group_names if name not in groups]:
        raise InvalidInput(f"{unknown[0]!r} cannot be followed; valid types: {', '.join(groups)}", field="fields")
    grouped: dict[str, list[Document]] = {name: [] for name in group_names}
    for reference in visible_references(caller, caller.parts.catalogue.follows(str(user_id))):
        name = _group(ENTITY_TYPES[reference["type"]])
        if not group_names or name in grouped:
            grouped.setdefault(name, []).append(with_address(reference, caller.root))
    return answer(grouped)


@router.put("/users/{user_id}/follows/bulk", openapi_extra=answers("BulkOperationResult", reads="FollowsRequest"))
def follow_many(user_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Follow several assets: ``{"entities": [{"id": …, "type": …}]}``; returns a result for each."""
    entities = list_in(body, "entities", f"must be a list of at most {MOST_AT_ONCE} references", max_count=MOST_AT_ONCE)
    check_follower(str(user_id), caller)
    results = [_follow_one(one, str(user_id), caller) for one in entities]
    advice = _advice_after(str(user_id), caller) if any(is_new for _, is_new in results) else {}
    return answer(bulk_result([outcome for outcome, _ in results]), headers=advice)


def _follow_one(reference: object, user_id: str, caller: Caller) -> tuple[Document, bool]:
    """Follow an asset; return what became of that, and whether the person did not follow it before."""
    try:
        row, entity_id = _target(reference)
        written = _follow(row, entity_id, user_id, caller)
    except TocsinError as error:
        return outcome_of(reference, error), False
    return outcome_of(reference), written.event is not None


def _target(reference: object) -> tuple[EntityType, str]:
    if not isinstance(reference, dict) or reference.get("type") not in ENTITY_TYPES:
        raise InvalidInput("Each entry of entities needs an id and a known type.")
    return ENTITY_TYPES[reference["type"]], parse_id(reference.get("id"), f"{reference.get('id')!r} is not an id.")


def _follow(kind: EntityType, entity_id: str, user_id: str, caller: Caller, *, column: str | None = None) -> Written:
    visible_document(kind, Key.by_id(entity_id), caller)
    check_follower(user_id, caller)
    if hidden_ids([{"type": kind.name, "id": entity_id}], user_id, caller):
        raise may_not_view(kind.name, user_id, caller)
    return follow_or_keep((kind.name, entity_id), user_id, caller, column=column)


def follow_or_keep(asset: tuple[str, str], user_id: str, caller: Caller, *, column: str | None = None) -> Written:
    """Let a person follow an asset, or a column; if they do and it was about to end, it goes on."""
    written = caller.parts.writes.follow(*asset, user_id, actor=caller.actor, column=column)
    if written.event is None:
        place = FollowPlace(user_id, asset[1], column or "")
        caller.parts.alert_stores.idle_follows.keep(place, caller.parts.clock.now_ms())
    return written


def _followed_answer(kind: EntityType, written: Written, user_id: str, caller: Caller) -> Response:
    """Return the event of a follow; a header advises who follows very much by now."""
    advice = {} if written.event is None else _advice_after(user_id, caller)
    return answer(event_of(kind, written, caller), headers=advice)


def _advice_after(user_id: str, caller: Caller) -> dict[str, str]:
    """Return the header that advises who has followed more and now follows very much, and tell them; else none."""
    advice = advice_on(len(own_follows(user_id, caller)))
    if advice is None:
        return {}
    tell_once(user_id, caller)
    return {ADVICE: advice}


def tell_once(user_id: str, caller: Caller) -> None:
    """Tell a person to review what they follow, by a thread that mentions them, unless it is there."""
    user = caller.parts.catalogue.reference("user", Key.by_id(user_id))
    if user is not None:
        thread = advice_thread(user["fullyQualifiedName"])
        caller.parts.discussion.feed_writes.create_once(advice_thread_id(user_id), thread, actor=SYSTEM)


def hidden_ids(references: Collection[Document], user_id: str, caller: Caller) -> set[str]:
    """Return the ids of those of these assets, all visible to the caller, that a person may not view."""
    ids = {one["id"] for one in references}
    if user_id == caller.actor.id or not ids:
        return set()
    visibility = Visibility(caller.policies.of(user_id), caller.parts.access.standing)
    return ids - visibility.sees(references)


def may_not_view(entity_type: str, user_id: str, caller: Caller) -> Forbidden:
    """Return the refusal to make another person follow what they may not view."""
    person = caller.parts.people.by_id(user_id)
    name = user_id if person is None else person.name
    return Forbidden(f"{name} may not view this {entity_type}, so cannot follow it; grant access first.")


def check_person(user_id: str, caller: Caller) -> None:
    """Refuse an id that no person has.

    Raises
    ------
    NotFound : there is no such user
    """
    if caller.parts.people.by_id(user_id) is None:
        raise NotFound(f"user {user_id} not found")


def check_oneself(user_id: str, caller: Caller) -> None:
    """Refuse to change what others follow.

    Raises
    ------
    Forbidden : the caller is another person, and neither an administrator nor a bot
    """
    if user_id != caller.actor.id and not (caller.actor.is_admin or caller.actor.is_bot):
        raise Forbidden("Only administrators and bots may change what others follow.")


def check_follower(user_id: str, caller: Caller) -> None:
    """Refuse who cannot follow, or whom the caller may not make follow.

    Raises
    ------
    Forbidden : as ``check_oneself``
    NotFound : there is no such user
    InvalidInput : it is a team, a bot, or a person who is deleted
    """
    check_oneself(user_id, caller)
    person = caller.parts.people.by_id(user_id)
    if person is None:
        team = caller.parts.catalogue.reference("team", Key.by_id(user_id))
        if team is not None and visible_references(caller, [team]):
            raise InvalidInput(
                f"{team['name']} is a team; only people follow. POST /teams/{{id}}/follows, "
                "or tocsin follow --team, lets its members follow by default; an alert may tell the team."
            )
        raise NotFound(f"user {user_id} not found")
    if person.is_bot:
        raise InvalidInput(f"{person.name} is a bot, and nobody reads what a bot is told: let an alert call a webhook.")
    if person.deleted:
        raise InvalidInput(f"user {person.name} is deleted")


def event_of(kind: EntityType, written: Written, caller: Caller) -> Document:
    """Return the event of a write that makes no version, or one that says that nothing changed.

    Whatever ``event_format`` says of webhooks, the answer has upstream's keys, since OpenMetadata's client reads it
    with a strict model; the values of its changes are JSON, not JSON texts, as in upstream's answers.
    """
    (event,) = caller.visibility.visible_events([written.event]) if written.event is not None else (None,)
    if event is not None:
        return {key: value for key, value in as_default(event.as_wire()).items() if key not in _NOT_UPSTREAM}
    document = written.document
    return {
        "id": str(uuid4()),
        "eventType": "entityNoChange",
        "entityType": kind.name,
        "entityId": document["id"],
        "entityFullyQualifiedName": document["fullyQualifiedName"],
        "previousVersion": document["version"],
        "currentVersion": document["version"],
        "userName": caller.actor.name,
        "timestamp": caller.parts.clock.now_ms(),
    }


_NOT_UPSTREAM = frozenset({"userId", "idempotencyKey"})
"""Keys of an event that upstream's schema lacks."""


def _group(kind: EntityType) -> str:
    return kind.collection.rpartition("/")[2]
