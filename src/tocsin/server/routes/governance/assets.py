"""Routes of the assets of a domain, data product, tag, term, person or team: list, add, remove.

Next: ``catalogue/governance/memberships.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import Query, Response

from tocsin.catalogue.governance.memberships import GROUPS, member_of
from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.capture.references import key_of
from tocsin.flow.capture.upsert import set_membership
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, scopes_of, visible_document
from tocsin.server.entities.bulk_results import bulk_result, outcome_of
from tocsin.server.entities.response import with_address
from tocsin.server.http.body_values import list_in, value_in
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, Kind, PathText, answer

MOST_AT_ONCE = 1_000
"""Assets that one request may add or remove, and that one page may hold."""

_EDITS = {"tags": Operation.EDIT_TAGS, "owners": Operation.EDIT_OWNERS}
Limit = Annotated[int, Query(ge=0, le=MOST_AT_ONCE)]
Offset = Annotated[int, Query(ge=0, le=2**53, description="Number of entries to skip.")]

router = DeclaredRoutes(tags=["assets"])
"""Included under every collection (``server/app.py``)."""


@by_id_and_name(router.get, "/{entity_id}/assets", openapi_extra=answers("EntityReferencePage"))
def list_assets(kind: Kind, key: Key, caller: Asked, *, limit: Limit = 10, offset: Offset = 0) -> Response:
    """Return the assets of a domain, data product, tag, term, user or team."""
    _check_groups(kind)
    group = visible_document(kind, key, caller)
    assets, total = caller.parts.entities.grouped.assets(
        kind.name, group, scopes_of(caller), limit=limit, offset=offset
    )
    data = [with_address(one, caller.root) for one in assets]
    return answer({"data": data, "paging": {"offset": offset, "limit": limit, "total": total}})


@router.put("/{group}/assets/{change}", openapi_extra=answers("BulkOperationResult", reads="AssetsRequest"))
def change_assets(
    kind: Kind, group: PathText, change: Literal["add", "remove"], body: DocumentBody, caller: Asked
) -> Response:
    """Add assets to the group (id or name), or ``remove`` them: ``{"assets": [{"id": …, "type": …}]}``."""
    _check_groups(kind)
    document = visible_document(kind, key_of(group), caller)
    assets = list_in(body, "assets", f"must be a list of at most {MOST_AT_ONCE} references", max_count=MOST_AT_ONCE)
    is_dry = value_in(body, "dryRun", bool, "must be true or false", default=False)
    outcomes = [_change_one(kind, document, one, caller, belongs=change == "add", is_dry=is_dry) for one in assets]
    return answer(bulk_result(outcomes, is_dry=is_dry))


def _change_one(
    group_kind: EntityType, group: Document, reference: object, caller: Caller, *, belongs: bool, is_dry: bool
) -> Document:
    try:
        kind, key = _asset(reference)
        asset = visible_document(kind, key, caller)
        field = GROUPS[group_kind.name]
        require(caller, _EDITS.get(field, Operation.EDIT_ALL), kind, asset)
        if not is_dry:
            member = member_of(group_kind.name, group)
            work = partial(set_membership, entity=(kind.name, key), field=field, member=member, belongs=belongs)
            caller.parts.writes.within(work, actor=caller.actor)
    except TocsinError as error:
        return outcome_of(reference, error)
    return outcome_of(reference)


def _asset(reference: object) -> tuple[EntityType, Key]:
    if not isinstance(reference, dict) or reference.get("type") not in ENTITY_TYPES:
        raise InvalidInput("Each entry of assets needs a known type, and an id or fullyQualifiedName.")
    return ENTITY_TYPES[reference["type"]], key_of(reference)


def _check_groups(kind: EntityType) -> None:
    if kind.name not in GROUPS:
        raise InvalidInput(f"{with_article(kind.name)} cannot contain assets; valid types: {', '.join(GROUPS)}")
