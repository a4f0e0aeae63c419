"""Routes of substitutes: whom a person names for their absences, who agrees to stand in for whom.

A substitute alone agrees; either of the two ends it. Next: ``store/catalogue/people/substitutes.py``.
"""

from __future__ import annotations

from contextlib import nullcontext

from fastapi import Response

from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.substitute import SubstituteRequest, Substitution, request_thread
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.alerts.hourly_counts import counted_post
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import FLAG, OPEN, TIME, array, exact_object, nullable
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer
from tocsin.server.routes.notifications.inbox import Owner

_USER = ENTITY_TYPES["user"]
_SUBSTITUTION = exact_object({"user": OPEN, "accepted": FLAG, "since": TIME})
SUBSTITUTES = exact_object({"substitute": nullable(_SUBSTITUTION), "standsInFor": array(_SUBSTITUTION)})

router = DeclaredRoutes(prefix="/users/{user_id}", tags=["inbox"])


@router.get("/substitute", openapi_extra=answers("Substitutes", SUBSTITUTES))
def read_substitute(owner: Owner, caller: Asked) -> Response:
    """Return whom a user has named as substitute (`accepted`: they have agreed), and for whom the user stands in."""
    return _answer_of(owner, caller)


@router.put("/substitute", openapi_extra=answers("Substitutes", SUBSTITUTES, reads="SubstituteRequest", refuses="429"))
def name_substitute(owner: Owner, body: DocumentBody, caller: Asked) -> Response:
    """Ask a person to take the incidents that are assigned to a user while they are away; a mention tells them once."""
    substitute_id = str(parse_as(SubstituteRequest, body).substitute.id)
    document = visible_document(_USER, Key.by_id(substitute_id), caller)
    if substitute_id == owner or document.get("isBot") or document.get("deleted"):
        raise InvalidInput("must be another person, who is not deleted", field="substitute")
    user = caller.parts.catalogue.reference("user", Key.by_id(owner))
    if user is None:
        raise NotFound(f"user {owner} not found")
    request = request_thread(user, document)
    substitutes = caller.parts.alert_stores.substitutes
    before = substitutes.of(owner)
    is_named = before is not None and before.substitute_id == substitute_id
    with nullcontext() if is_named else counted_post([request["message"]], caller):
        substitution = substitutes.name(owner, substitute_id, now_ms=caller.parts.clock.now_ms())
    if not substitution.is_accepted:
        _ask(substitution, request, caller)
    return _answer_of(owner, caller)


@router.delete("/substitute", openapi_extra=answers("Substitutes", SUBSTITUTES, never="409"))
def withdraw_substitute(owner: Owner, caller: Asked) -> Response:
    """End it for a user, whether their substitute has agreed or not."""
    if not caller.parts.alert_stores.substitutes.remove(owner):
        raise NotFound("No substitute is named.")
    return _answer_of(owner, caller)


@router.put("/standsInFor/{person_id}", openapi_extra=answers("Substitutes", SUBSTITUTES))
def agree_to_stand_in(owner: Owner, person_id: PathId, caller: Asked) -> Response:
    """Agree to stand in for a person who has named the user; nobody else can agree for them."""
    if caller.actor.id != owner or caller.actor.is_bot:
        raise Forbidden("Only the substitute may agree.")
    caller.parts.alert_stores.substitutes.accept(str(person_id), owner)
    return _answer_of(owner, caller)


@router.delete("/standsInFor/{person_id}", openapi_extra=answers("Substitutes", SUBSTITUTES, never="409"))
def decline_to_stand_in(owner: Owner, person_id: PathId, caller: Asked) -> Response:
    """Decline to stand in for a person, or end it later."""
    if not caller.parts.alert_stores.substitutes.remove(str(person_id), owner):
        raise NotFound("That person has not named this user as their substitute.")
    return _answer_of(owner, caller)


def _ask(substitution: Substitution, request: Document, caller: Caller) -> None:
    """Tell a substitute by a mention that they are asked, unless they have been told."""
    try:
        caller.parts.discussion.feed_writes.create_once(substitution.thread_id, request, actor=caller.actor)
    except Conflict:  # another request has just told them
        return


def _answer_of(user_id: str, caller: Caller) -> Response:
    substitutes = caller.parts.alert_stores.substitutes
    own_substitution, substitutions = substitutes.of(user_id), substitutes.of_substitute(user_id)
    ids = {one.user_id for one in substitutions} | ({own_substitution.substitute_id} if own_substitution else set())
    references = {one["id"]: one for one in _references(ids, caller)}

    def substitution_json(substitution: Substitution, person_id: str) -> Document:
        reference = references.get(person_id, {"id": person_id, "type": "user"})
        return {"user": reference, "accepted": substitution.is_accepted, "since": substitution.since_ms}

    own_json = own_substitution and substitution_json(own_substitution, own_substitution.substitute_id)
    stands_in_for = [substitution_json(one, one.user_id) for one in substitutions]
    return answer({"substitute": own_json, "standsInFor": stands_in_for})


def _references(ids: set[str], caller: Caller) -> list[Document]:
    references = caller.parts.catalogue.references(ids)
    return visible_references(caller, [references[one] for one in sorted(ids) if one in references])
