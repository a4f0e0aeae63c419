"""Routes of sample data of tables, containers, topics and search indexes, and of failed rows of a test.

``access/sample_masks.py`` masks values for people who may not see them.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from tocsin.access.sample_masks import MASKED, masked_messages, masked_rows
from tocsin.catalogue.observations import samples
from tocsin.catalogue.observations.failed_rows import (
    FAILED_ROWS,
    RESULT_AT,
    SentRows,
    forget_failed_rows,
    put_failed_rows,
)
from tocsin.catalogue.observations.profiles import place_of
from tocsin.catalogue.observations.table_details import attach
from tocsin.clock import LATEST_MS
from tocsin.errors import NotFound
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document
from tocsin.server.access.samples import masked_tags_for
from tocsin.server.entities.included_fields import included_values
from tocsin.server.entities.reports import Work, write_permitted
from tocsin.server.entities.serialize import past
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, Kind, PathId, TextBody, answer

_CASE = ENTITY_TYPES["testCase"]
_ResultTime = Annotated[
    int | None,
    Query(
        alias="timestamp",
        ge=0,
        le=LATEST_MS,
        description="Time of the result that the rows belong to, epoch milliseconds.",
    ),
]

router = DeclaredRoutes(tags=["samples"])
of_asset = DeclaredRoutes(tags=["samples"])
"""Included under every collection (``server/app.py``)."""


@of_asset.put("/{entity_id}/sampleData", openapi_extra=answers("{}", reads="SampleRequest"))
def put(kind: Kind, entity_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Set sample data: ``columns`` and ``rows`` (table, container) or ``messages`` (topic, search index)."""
    asset = _write(kind, _key_of(kind, entity_id), caller, partial(samples.put_sample, sample=body))
    return _with_sample(kind, asset, caller)


@of_asset.get("/{entity_id}/sampleData", openapi_extra=answers("{}"))
def read(kind: Kind, entity_id: PathId, caller: Asked) -> Response:
    """Return a table, container, topic or search index with its sample data, masked."""
    document = permitted_document(kind.name, _key_of(kind, entity_id), caller, Operation.VIEW_SAMPLE_DATA)
    return _with_sample(kind, document, caller)


@of_asset.delete("/{entity_id}/sampleData", openapi_extra=answers("{}"))
def delete(kind: Kind, entity_id: PathId, caller: Asked) -> Response:
    """Delete the sample data."""
    work = partial(attach, kind=samples.SAMPLE, attachment=None)
    return answer(past(kind, _write(kind, _key_of(kind, entity_id), caller, work), caller))


@router.put(
    "/dataQuality/testCases/{case_id}/failedRowsSample", openapi_extra=answers("TestCase", reads="FailedRowsRequest")
)
def put_failed(
    case_id: PathId,
    body: DocumentBody,
    caller: Asked,
    *,
    validate: bool = True,
    result_at_ms: _ResultTime = None,
) -> Response:
    """Set rows that failed a test (``columns``, ``rows``), kept until it succeeds, of its newest result.

    ``timestamp`` names the result, also one that is reported later; ``validate=false`` takes any columns.
    """
    sent_rows = SentRows(body, result_at_ms, validates=validate)
    work = partial(put_failed_rows, sent=sent_rows, masked_tags=caller.parts.settings.masked_tags)
    case = _write_case(case_id, caller, work)
    return answer(past(_CASE, case, caller) | _failed_rows(case, caller))


@router.get("/dataQuality/testCases/{case_id}/failedRowsSample", openapi_extra=answers("TableData"))
def read_failed(
    case_id: PathId,
    caller: Asked,
    result_at_ms: _ResultTime = None,
) -> Response:
    """Return the rows that failed a test, masked; with ``timestamp`` only those of that result."""
    case = permitted_document("testCase", Key.by_id(str(case_id)), caller, Operation.VIEW_SAMPLE_DATA)
    return answer(_failed_rows(case, caller, result_at_ms).get(FAILED_ROWS, {"columns": [], "rows": []}))


@router.delete("/dataQuality/testCases/{case_id}/failedRowsSample", openapi_extra=answers("TestCase"))
def delete_failed(case_id: PathId, caller: Asked) -> Response:
    """Delete the rows that failed a test."""
    return answer(past(_CASE, _write_case(case_id, caller, forget_failed_rows), caller))


@router.put("/dataQuality/testCases/{case_id}/inspectionQuery", openapi_extra=answers("TestCase", reads="QueryText"))
def put_inspection(case_id: PathId, query: TextBody, caller: Asked) -> Response:
    """Set the query (plain text or JSON string) that shows the failing rows."""
    case = _write_case(case_id, caller, partial(samples.put_query, query=query))
    (details,) = included_values(_CASE, [case], caller.parts, frozenset({samples.QUERY}))
    return answer(past(_CASE, case, caller) | details)


def _write_case(case_id: UUID, caller: Caller, work: Work) -> Document:
    return write_permitted(_CASE.name, Key.by_id(str(case_id)), caller, Operation.EDIT_TESTS, work).document


def _write(kind: EntityType, key: Key, caller: Caller, work: Work) -> Document:
    return write_permitted(kind.name, key, caller, Operation.EDIT_SAMPLE_DATA, work).document


def _key_of(kind: EntityType, entity_id: UUID) -> Key:
    if kind.name not in samples.FORMS:
        raise NotFound(f"{with_article(kind.name)} has no sample data; valid types: {', '.join(samples.FORMS)}")
    return Key.by_id(str(entity_id))


def _with_sample(kind: EntityType, document: Document, caller: Caller) -> Response:
    view = past(kind, document, caller)
    sample = caller.parts.reports.observations.attachments([document["id"]], samples.SAMPLE).get(document["id"])
    if sample is None:
        return answer(view)
    tags = masked_tags_for(caller, document)
    mask = masked_rows if "rows" in sample else masked_messages
    return answer(view | {samples.SAMPLE: mask(sample, document, tags)})


def _failed_rows(case: Document, caller: Caller, result_at_ms: int | None = None) -> Document:
    sample = caller.parts.reports.observations.attachments([case["id"]], FAILED_ROWS).get(case["id"])
    if sample is None or result_at_ms not in (None, sample.get(RESULT_AT)):
        return {}
    table = caller.parts.catalogue.get("table", Key.by_name(place_of(case["entityFQN"])[0]), "all")
    shown_sample = masked_rows(sample, table, masked_tags_for(caller, table))
    return {FAILED_ROWS: {key: value for key, value in shown_sample.items() if key not in (RESULT_AT, MASKED)}}
