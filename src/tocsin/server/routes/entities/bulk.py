"""Routes of bulk writes: a JSON array of create requests, each of which succeeds or fails on its own.

Source: schemas/type/bulkOperationResult.json. Next: ``flow/capture/bulk.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from tocsin.catalogue.writes import BulkWrites
from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.capture.bulk import Outcome
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stored import Written
from tocsin.server.http.errors import explain, status_of
from tocsin.server.http.request import Asked, Caller, JsonBody, Row, answer, no_misspelt_rehearsal

MOST_ROWS = 10_000
"""Rows of one request."""

_ONE_AT_A_TIME = frozenset({"eventsubscription"})
"""Types whose routes do more than write an entity: an alert's secrets are stored elsewhere."""

_Write = Callable[..., list[Outcome]]

router = APIRouter(tags=["bulk"])
"""Included under every collection (``server/app.py``)."""


class BulkQuery(BaseModel):
    """Parameters of a bulk request; unknown ones are ignored, as upstream does, except a misspelt ``dryRun``.

    ``async`` is one of them: the response always has every row's result, so it waits until all are written.
    ``overrideMetadata`` is another: a PUT writes its values, whoever sends it.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    dry_run: bool = False


@router.put("/bulk", dependencies=[Depends(no_misspelt_rehearsal)])
def put_many(row: Row, body: JsonBody, caller: Asked, query: Annotated[BulkQuery, Query()]) -> Response:
    """Create or update the entities of a JSON array; failing rows do not stop the others."""
    return _answer(BulkWrites.put, row, body, caller, dry_run=query.dry_run)


@router.post("/bulk", dependencies=[Depends(no_misspelt_rehearsal)])
def create_many(row: Row, body: JsonBody, caller: Asked, query: Annotated[BulkQuery, Query()]) -> Response:
    """Create the entities of a JSON array; rows with an existing name fail."""
    return _answer(BulkWrites.create, row, body, caller, dry_run=query.dry_run)


def _answer(write: _Write, row: EntityType, body: object, caller: Caller, *, dry_run: bool) -> Response:
    rows = _rows(row, body)
    refused = {at: refusal for at, one in enumerate(rows) if (refusal := _refusal(one)) is not None}
    allowed = [one for at, one in enumerate(rows) if at not in refused]
    written = iter(write(caller.parts.bulk, row.name, allowed, actor=caller.actor, dry_run=dry_run))
    outcomes = [refused[at] if at in refused else next(written) for at in range(len(rows))]
    return answer(_result(rows, outcomes, dry_run=dry_run))


def _rows(row: EntityType, body: object) -> list[Document]:
    if row.name in _ONE_AT_A_TIME:
        raise InvalidInput(f"{row.collection} have no bulk requests")
    if not isinstance(body, list):
        raise InvalidInput("The body must be a JSON array of create requests.")
    if len(body) > MOST_ROWS:
        raise InvalidInput(f"At most {MOST_ROWS} rows at once, not {len(body)}.")
    return body


def _refusal(request: object) -> TocsinError | None:
    """Return why this row cannot be sent at all, if so; whether the caller may is asked as each row is written."""
    return None if isinstance(request, dict) else InvalidInput("a row must be a JSON object")


def _result(rows: list[Document], outcomes: list[Outcome], *, dry_run: bool) -> Document:
    """Return upstream's ``BulkOperationResult``."""
    passed = [_passed(outcome) for outcome in outcomes if isinstance(outcome, Written)]
    failed = [
        _failed(at, rows[at - 1], outcome)
        for at, outcome in enumerate(outcomes, start=1)
        if not isinstance(outcome, Written)
    ]
    status = "success" if not failed else ("partialSuccess" if passed else "failure")
    return {
        "dryRun": dry_run,
        "status": status,
        "numberOfRowsProcessed": len(outcomes),
        "numberOfRowsPassed": len(passed),
        "numberOfRowsFailed": len(failed),
        "successRequest": passed,
        "failedRequest": failed,
    }


def _passed(written: Written) -> Document:
    if written.created:
        status, message = HTTPStatus.CREATED, "created"
    else:
        status, message = HTTPStatus.OK, "unchanged" if written.event is None else "updated"
    return {"request": written.document["fullyQualifiedName"], "message": message, "status": int(status)}


def _failed(at: int, request: Document, refusal: TocsinError) -> Document:
    name = request.get("name") if isinstance(request, dict) else None
    return {
        "request": name if isinstance(name, str) else f"row {at}",
        "message": f"row {at}: {explain(refusal)}",
        "status": int(status_of(refusal)),
    }
