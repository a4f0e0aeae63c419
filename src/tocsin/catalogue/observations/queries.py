"""Use of queries: their users and tables, which connectors add one by one, and their costs.

The costs are one record per query and moment, as the client's usage workflow reports them, in the query's time series.
They make no event: they say nothing about the query itself.
Source: OpenMetadata's ``QueryRepository``, schema ``api/data/createQueryCostRecord.json``.
Next: ``server/routes/observations/queries.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid5

from tocsin.catalogue.observations.field_checks import checked_document, shape_of
from tocsin.errors import InvalidInput
from tocsin.flow.capture.references import key_of
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.list_identity import REFERENCE_LISTS, target_of
from tocsin.model.notification import NAMESPACE
from tocsin.model.report import Line, StoredReport
from tocsin.model.stored import Key, Stored, Written

KIND = "queryCostRecord"
_REQUEST = shape_of("createQueryCostRecord")


def check_cost(request: Document) -> tuple[Key, Document]:
    """Return the key of the query that a request names, and the request without its nulls.

    Raises
    ------
    InvalidInput : it is malformed
    """
    checked_request = checked_document(_REQUEST, request)
    for name in ("cost", "count", "totalDuration"):
        if checked_request.get(name, 0) < 0:
            raise InvalidInput("must not be negative", field=name)
    if checked_request["queryReference"].get("type", "query") != "query":
        raise InvalidInput("must refer to a query", field="queryReference.type")
    return key_of(checked_request["queryReference"]), checked_request


def put_cost(record: Record, query: Stored, request: Document) -> Written:
    """Keep the cost of a query at a moment, in place of the one of the same moment."""
    at_ms = request["timestamp"]
    cost = {
        "id": str(uuid5(NAMESPACE, f"{KIND}|{query.id}|{at_ms}")),
        "timestamp": at_ms,
        "jsonSchema": KIND,
        "queryReference": {"id": query.id, "type": query.entity_type, "fullyQualifiedName": query.fqn},
        "cost": request["cost"],
        "count": request["count"],
        "totalDuration": request.get("totalDuration", 0),
    }
    record.transaction.series.put(Line(query.id, KIND), StoredReport(at_ms, cost))
    return Written(cost, None)


USED_IN, USERS, USED_BY = "queryUsedIn", "users", "usedBy"
"""The lists: what a query runs on, who ran it, and who did that nobody knows here."""


def change_usage(record: Record, query: Stored, field: str, request: object, *, belongs: bool = True) -> Written:
    """Add to a list of a query, or take out of it; nothing if it is so already.

    Raises
    ------
    NotFound : a person or an entity that it names is missing
    InvalidInput : it is no list, or holds something else than references or names
    """
    if not isinstance(request, list):
        raise InvalidInput("The body must be a list.")
    before: list[Any] = query.document.get(field) or []  # Any: names or references, as the list has it
    after: list[Any]
    if field == USED_BY:
        after = _names(before, request)
    else:
        given_references = [_reference(record, field, one) for one in request]
        ids = {target_of(one) for one in given_references}
        remaining_entries = [one for one in before if target_of(one) not in ids]
        old_targets = {target_of(one) for one in before}
        after = (
            [*before, *(one for one in given_references if target_of(one) not in old_targets)]
            if belongs
            else remaining_entries
        )
    if after == before:
        return Written(query.document, None)
    return change(record, record.resolver(), query, query.document | {field: after})


def _reference(record: Record, field: str, value: object) -> Document:
    types = REFERENCE_LISTS[field]
    reference_type = value.get("type") if isinstance(value, dict) else None
    if reference_type is not None and reference_type not in types:
        raise InvalidInput(f"must be a {' or a '.join(types)}, not a {reference_type}", field=field)
    key_of(value)  # refuses what is no reference
    return record.resolver().one(str(reference_type or types[0]), value)


def _names(before: Sequence[str], values: Sequence[object]) -> list[str]:
    names = [one for one in values if isinstance(one, str) and one]
    if len(names) < len(values):
        raise InvalidInput("must be a list of names", field=USED_BY)
    return list(dict.fromkeys((*before, *names)))
