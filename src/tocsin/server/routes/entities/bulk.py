"""Routes of bulk writes: a JSON array of create requests, or what a connector no longer sees; each row on its own.

Source: schemas/type/bulkOperationResult.json. Next: ``flow/capture/bulk.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from tocsin.catalogue.observations.field_checks import checked_document, flag, list_check_of, name, shape, text
from tocsin.catalogue.writes import BulkWrites
from tocsin.errors import Forbidden, InvalidInput, NotFound, TocsinError
from tocsin.flow.capture.bulk import Outcome, probable_fqn
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key, Written
from tocsin.server.access.permissions import check_delete, permitted_document, require
from tocsin.server.entities.bulk_results import bulk_result, outcome_of
from tocsin.server.http.errors import explain
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, Kind, QueryParameters, answer

MOST_ROWS = 10_000
"""Rows of one request."""

_ONE_AT_A_TIME = frozenset({"eventsubscription"})
"""Types whose routes do more than write an entity: an alert's secrets are stored elsewhere."""

_FEW_STALE = 10
"""Entities that a request deletes whatever part they are: of a small scope, one deletion is a large part."""

MostPercent = Annotated[int, Query(alias="maxDeletedPercent", ge=0, le=100)]

_STALE = shape(
    {"scopeEntityType": name, "scopeFqn": name, "seenFqns": list_check_of(text)}, {"recursive": flag, "dryRun": flag}
)
_SERVICES = tuple(one for one in ENTITY_TYPES if one.endswith("Service"))

_Write = Callable[..., list[Outcome]]

router = DeclaredRoutes(tags=["bulk"])
"""Included under every collection (``server/app.py``)."""


class BulkQuery(QueryParameters):
    """Parameters of a bulk request.

    With ``async`` the status is 202, as upstream's; the response has every row's result all the same, so it waits until
    all are written.
    """

    dry_run: bool = False
    is_async: bool = Field(default=False, alias="async")


class BulkPutQuery(BulkQuery):
    """Parameters of a bulk PUT; with ``overrideMetadata``, a bot replaces what people wrote last."""

    override_metadata: bool = False


@router.put("/bulk", openapi_extra=answers("BulkOperationResult", reads="Create{}List", also=("200", "202")))
def put_many(kind: Kind, body: JsonBody, caller: Asked, query: Annotated[BulkPutQuery, Query()]) -> Response:
    """Create or update the entities of a JSON array; failing rows do not stop the others.

    A bot leaves what people wrote last, unless ``overrideMetadata`` is set.
    """
    write = partial(BulkWrites.put, overrides=query.override_metadata)
    return _answer(write, kind, body, caller, query=query)


@router.post("/bulk", openapi_extra=answers("BulkOperationResult", reads="Create{}List", also=("200", "202")))
def create_many(kind: Kind, body: JsonBody, caller: Asked, query: Annotated[BulkQuery, Query()]) -> Response:
    """Create the entities of a JSON array; rows with an existing name fail."""
    return _answer(BulkWrites.create, kind, body, caller, query=query)


@router.delete("/deleteStale", openapi_extra=answers("BulkOperationResult", reads="StaleRequest"))
def delete_stale(kind: Kind, body: DocumentBody, caller: Asked, *, most_percent: MostPercent = 20) -> Response:
    """Soft-delete entities that a connector no longer sees: those below ``scopeFqn`` that ``seenFqns`` does not name.

    More than ten that are more than ``maxDeletedPercent`` of them are refused: the list may be cut off. An empty list
    deletes nothing, since a run that failed has seen nothing either. ``dryRun`` only lists them.
    """
    request = checked_document(_STALE, body)
    seen_fqns, is_dry = frozenset(request["seenFqns"]), request.get("dryRun", False)
    below = _below(kind, request["scopeEntityType"], request["scopeFqn"], caller)
    stale = [one for one in below if seen_fqns and one["fullyQualifiedName"] not in seen_fqns]
    if len(stale) > _FEW_STALE and len(stale) * 100 > most_percent * len(below):
        raise InvalidInput(
            f"{len(stale)} of {len(below)} would be deleted, more than {most_percent} %; "
            "if the list is complete, send maxDeletedPercent=100",
            field="seenFqns",
        )
    work = _deletable if is_dry else partial(_soft_deleted, recursive=request.get("recursive", True))
    outcomes = [work(kind, one, caller) for one in stale]
    return answer(_result(kind, stale, outcomes, is_dry=is_dry))


def _answer(write: _Write, kind: EntityType, body: object, caller: Caller, *, query: BulkQuery) -> Response:
    requests = _rows(kind, body)
    refused = {at: refusal for at, one in enumerate(requests) if (refusal := _refusal(one)) is not None}
    accepted = [one for at, one in enumerate(requests) if at not in refused]
    written = iter(write(caller.parts.entities.bulk, kind.name, accepted, actor=caller.actor, dry_run=query.dry_run))
    outcomes = [refused[at] if at in refused else next(written) for at in range(len(requests))]
    status = HTTPStatus.ACCEPTED if query.is_async else HTTPStatus.OK
    return answer(_result(kind, requests, outcomes, is_dry=query.dry_run), status)


def _rows(kind: EntityType, body: object) -> list[Document]:
    if kind.name in _ONE_AT_A_TIME:
        raise InvalidInput(f"{kind.collection} cannot be written in bulk")
    if not isinstance(body, list):
        raise InvalidInput("The body must be a JSON array of create requests.")
    if len(body) > MOST_ROWS:
        raise InvalidInput(f"At most {MOST_ROWS} rows at once, not {len(body)}.")
    return body


def _refusal(request: object) -> TocsinError | None:
    """Return why this row cannot be sent at all, if so; rights are checked as each row is written."""
    return None if isinstance(request, dict) else InvalidInput("a row must be a JSON object")


def _below(kind: EntityType, scope_type: str, scope_fqn: str, caller: Caller) -> list[Document]:
    """Return the live entities of a type below the scope, as far as the caller may see them.

    Raises
    ------
    NotFound : there is no such scope
    """
    types = _SERVICES if scope_type == "service" else (scope_type,)
    key = Key.by_name(scope_fqn)
    references = (caller.parts.catalogue.reference(name, key) for name in types if name in ENTITY_TYPES)
    scope = next((one for one in references if one is not None), None)
    if scope is None:
        raise NotFound(f"{scope_type} {scope_fqn} does not exist")
    permitted_document(scope["type"], key, caller, Operation.VIEW_BASIC)
    below = caller.parts.catalogue.entities_under(kind.name, scope["fullyQualifiedName"])
    return [one for one in below if _is_visible(kind, one, caller)]


def _is_visible(kind: EntityType, document: Document, caller: Caller) -> bool:
    try:
        require(caller, Operation.VIEW_BASIC, kind, document)
    except Forbidden:
        return False
    return True


def _deletable(kind: EntityType, document: Document, caller: Caller) -> Outcome:
    try:
        check_delete(caller, kind, document)
    except TocsinError as error:
        return error
    return Written(document | {"deleted": True}, None)


def _soft_deleted(kind: EntityType, document: Document, caller: Caller, *, recursive: bool) -> Outcome:
    try:
        check_delete(caller, kind, document)
        return caller.parts.writes.delete(kind.name, Key.by_id(document["id"]), actor=caller.actor, recursive=recursive)
    except TocsinError as error:
        return error


def _result(kind: EntityType, documents: list[Document], outcomes: list[Outcome], *, is_dry: bool) -> Document:
    results = [
        _success_json(outcome) if isinstance(outcome, Written) else _refusal_json(at, kind, documents[at - 1], outcome)
        for at, outcome in enumerate(outcomes, start=1)
    ]
    return bulk_result(results, is_dry=is_dry)


def _success_json(written: Written) -> Document:
    if written.created:
        message = "created"
    elif written.document.get("deleted"):
        message = "deleted"
    else:
        message = "unchanged" if written.event is None else "updated"
    return outcome_of(written.document["fullyQualifiedName"], message=message)


def _refusal_json(at: int, kind: EntityType, request: object, refusal: TocsinError) -> Document:
    """Return the outcome of a row that is refused, under its FQN or name; upstream repeats the row, secrets and all."""
    document: Document = request if isinstance(request, dict) else {}
    names = (document.get("fullyQualifiedName"), probable_fqn(kind, document), document.get("name"), f"row {at}")
    request_name = next(name for name in names if isinstance(name, str))
    return outcome_of(request_name, refusal, f"row {at}: {explain(refusal)}")
