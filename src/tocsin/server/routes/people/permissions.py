"""Routes of effective permissions with their rules: one's own, or, for administrators, another person's.

Next: ``access/report.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from tocsin.access.decide import Permissions
from tocsin.access.report import resource_permission
from tocsin.access.resources import RESOURCES
from tocsin.access.rules import policy_of
from tocsin.access.subject import Grant, Subject
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import with_asked
from tocsin.model.stored import Key, not_found
from tocsin.server.access.permissions import require, visible_document
from tocsin.server.http.body_values import parse_id
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, answer, list_answer

MOST_POLICIES = 100
"""Policies that one request may ask about."""

User = Annotated[str | None, Query(max_length=300)]
Resource = Annotated[str, Path(max_length=60)]

router = DeclaredRoutes(prefix="/permissions", tags=["permissions"])


@router.get("", openapi_extra=answers("ResourcePermissionPage", refuses="404"))
def list_permissions(caller: Asked, *, user: User = None) -> Response:
    """Return one's permissions for every type; administrators: those of ``user``."""
    permissions = _permissions(caller, user)
    return _list_answer(permissions)


@router.get("/policies", openapi_extra=answers("ResourcePermissionPage", refuses="404"))
def list_of_policies(
    caller: Asked, *, ids: Annotated[str, Query(max_length=4_000, description="Ids of policies.")] = ""
) -> Response:
    """Return the combined permissions of policies (comma list of ids)."""
    names = [one.strip() for one in ids.split(",") if one.strip()]
    if not names or len(names) > MOST_POLICIES:
        raise InvalidInput(f"must be a list of 1 to {MOST_POLICIES} policy ids", field="ids")
    policies = [_policy(one, caller) for one in names]
    return _list_answer(Permissions(Subject(id="", name="", grants=tuple(Grant(policy_of(one)) for one in policies))))


@router.get("/{resource}", openapi_extra=answers("ResourcePermission"))
def read_permissions(resource: Resource, caller: Asked, *, user: User = None) -> Response:
    """Return one's permissions for a type."""
    permissions = _permissions(caller, user)
    if resource not in RESOURCES:
        raise NotFound(f"resource {resource!r} not found")
    return answer(resource_permission(permissions, resource))


@by_id_and_name(
    router.get,
    "/{resource}/{entity_id}",
    by_name="read_permissions_by_name",
    openapi_extra=answers("ResourcePermission"),
)
def read_permissions_of_entity(resource: Resource, key: Key, caller: Asked, *, user: User = None) -> Response:
    """Return one's permissions for an entity."""
    if resource not in ENTITY_TYPES:
        raise NotFound(f"type {resource!r} not found")
    row = ENTITY_TYPES[resource]
    permissions = _permissions(caller, user)
    catalogue = caller.parts.catalogue
    stored = catalogue.get(row.name, key, "all")
    document = with_asked(row.name, stored, lambda entry: catalogue.heritage([entry]).get(entry, {}))
    if not permissions.may(Operation.VIEW_BASIC, row.name, document):
        require(caller, Operation.VIEW_BASIC, row, document)
    return answer(resource_permission(permissions, row.name, document))


def _list_answer(permissions: Permissions) -> Response:
    documents: list[Document] = [resource_permission(permissions, resource) for resource in sorted(RESOURCES)]
    return list_answer(documents)


def _permissions(caller: Caller, user: str | None) -> Permissions:
    if user is None or user == caller.actor.name:
        return caller.permissions
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators may see the permissions of others.")
    person = caller.parts.people.by_name(user)
    if person is None:
        raise not_found("user", Key.by_name(user))
    return caller.policies.of(person.id)


def _policy(text: str, caller: Caller) -> Document:
    policy_id = parse_id(text, f"{text!r} is not an id", field="ids")
    return visible_document(ENTITY_TYPES["policy"], Key.by_id(policy_id), caller)
