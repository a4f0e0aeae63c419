"""Permission checks of routes, before anything is shown or done.

Policies decide (``access/decide.py``). Writes are checked again inside their transaction, against the stored state
(``flow/capture/authorization.py``), so no route can omit it. Next: ``server/policies/writes.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from tocsin.access.nodes import Condition
from tocsin.access.subject import ORGANIZATION
from tocsin.access.visibility import may_view
from tocsin.errors import Forbidden
from tocsin.logic import ALWAYS, NEVER
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key, not_found
from tocsin.server.policies.writes import refusal
from tocsin.server.request import Caller
from tocsin.store.catalogue.access.visibility import Scopes

Include = Literal["non-deleted", "deleted", "all"]


def require(caller: Caller, operation: Operation, kind: EntityType, document: Document | None = None) -> None:
    """Refuse an operation that the caller may not do on entities of this type, or on this one.

    ``document`` is the entity as stored; None asks about the type as a whole: whether there could be an entity that
    allows it.

    Raises
    ------
    Forbidden : the caller may not
    """
    require_on(caller, operation, kind.name, document)


def require_on(caller: Caller, operation: Operation, resource: str, document: Document | None = None) -> None:
    """Refuse as ``require`` does, for something that is no type of entity: ``lineage``, ``feed``.

    Raises
    ------
    Forbidden : a policy denies the operation, or none allows it
    """
    if caller.actor.is_admin:
        return
    if document is None:
        is_allowed = caller.permissions.scope(resource, operation) is not NEVER
    else:
        document = caller.parts.access.standing.as_asked(caller.permissions, operation, resource, document)
        is_allowed = caller.permissions.may(operation, resource, document)
    if not is_allowed:
        raise _refusal(caller, operation, resource, document or {})


def visible_document(kind: EntityType, key: Key, caller: Caller, *, include: Include = "non-deleted") -> Document:
    """Return the entity's document, if there is one and the caller may see it."""
    return permitted_document(kind.name, key, caller, Operation.VIEW_BASIC, include=include)


def permitted_document(
    entity_type: str, key: Key, caller: Caller, operation: Operation, *, include: Include = "non-deleted"
) -> Document:
    """Return an entity's document, if there is one and the caller may do this with it."""
    document = caller.parts.catalogue.get(entity_type, key, include)
    require_on(caller, operation, entity_type, document)
    return document


def require_apart(caller: Caller, operation: Operation, kind: EntityType) -> None:
    """Refuse what concerns all entities of a type to who may do it only on some, such as on those they own.

    Raises
    ------
    Forbidden : the caller may not do it on an entity of which nothing is said
    """
    if not caller.actor.is_admin and not caller.permissions.may(operation, kind.name, {}):
        raise _refusal(caller, operation, kind.name, {})


def sees(caller: Caller, resource: str, document: Document | None) -> bool:
    """Return whether the caller may see this document of a type; what no document is known of follows the type."""
    subject_document = document or {}
    if not caller.actor.is_admin and (caller.actor.is_bot or not caller.policies.is_open(resource)):
        subject_document = caller.parts.access.standing.as_asked(
            caller.permissions, Operation.VIEW_BASIC, resource, subject_document
        )
    return may_view(caller.actor, resource, subject_document, caller.policies)


def require_now(caller: Caller, kind: EntityType, entity_id: str) -> None:
    """Refuse to show anything of an entity's past to who may not see the entity as it is now, or was last.

    Raises
    ------
    NotFound : there never was such an entity of this type
    Forbidden : the caller may not see it
    """
    entity_type, document = caller.parts.access.standing.of([entity_id]).get(entity_id, ("", {}))
    if entity_type != kind.name:
        raise not_found(kind.name, Key.by_id(entity_id))
    if not caller.permissions.may(Operation.VIEW_BASIC, entity_type, document):
        raise _refusal(caller, Operation.VIEW_BASIC, entity_type, document)


def _refusal(caller: Caller, operation: Operation, resource: str, document: Document) -> Forbidden:
    by = (caller.permissions, caller.parts.access.refusals)
    return refusal(caller.actor, operation, resource, document, by)


def scope_of(caller: Caller, kind: EntityType) -> Condition:
    """Return which entities of a type the caller may see, for a list to be narrowed to; refuses who may see none."""
    require(caller, Operation.VIEW_BASIC, kind)
    return scope_on(caller, kind.name)


def scope_on(caller: Caller, resource: str, operation: Operation = Operation.VIEW_BASIC) -> Condition:
    """Return of which entities of a type the caller may see this much; ``NEVER`` when there are none."""
    return ALWAYS if caller.actor.is_admin else caller.permissions.scope(resource, operation)


def scopes_of(caller: Caller) -> Scopes:
    """Return per type which entities the caller may see; types that they see whole are left out."""
    scopes = {resource: scope_on(caller, resource) for resource in ENTITY_TYPES}
    return {resource: scope for resource, scope in scopes.items() if scope is not ALWAYS}


def ids_to_filter_by(references: Iterable[Document], caller: Caller) -> set[str]:
    """Return the ids of those of these people, teams and domains by which the caller may filter.

    Whose profile is hidden would be met by what a filter finds; oneself may always be named.
    """
    named_references = list(references)
    own_ids = {str(one["id"]) for one in named_references if one["id"] == caller.actor.id}
    return caller.visibility.sees(named_references) | own_ids


def check_delete(caller: Caller, kind: EntityType, document: Document) -> None:
    """Reject deleting oneself, so that one administrator remains, and system entities.

    Raises
    ------
    Forbidden : it is the person's own account, or a system entity
    """
    if document["id"] == caller.actor.id:
        raise Forbidden("You cannot delete yourself; ask another administrator.")
    is_root = kind.name == "team" and document["name"] == ORGANIZATION
    if is_root or document.get("provider") == "system":
        raise Forbidden(f"The {kind.name} {document['name']} is required by Tocsin: it can be changed, not deleted.")


def visible_references(caller: Caller, references: Iterable[Document]) -> list[Document]:
    """Return those of these references whose entities the caller may see, in their order."""
    candidates = list(references)
    if caller.actor.is_admin:
        return candidates
    ids_of: dict[str, set[str]] = defaultdict(set)
    for reference in candidates:
        ids_of[reference["type"]].add(reference["id"])
    visible_ids = {one for resource, ids in ids_of.items() for one in _seen_ids(caller, resource, ids)}
    return [reference for reference in candidates if reference["id"] in visible_ids]


def _seen_ids(caller: Caller, resource: str, ids: set[str]) -> set[str]:
    scope = caller.permissions.scope(resource, Operation.VIEW_BASIC)
    if scope is ALWAYS or scope is NEVER:
        return ids if scope is ALWAYS else set()
    return caller.parts.catalogue.visible_ids(resource, ids, scope)
