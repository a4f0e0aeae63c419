"""Lineage edges extracted from the ``lineage`` field of external change events.

Source: seeds/002 "Data Lineage Tracking". Events may have any format that Tocsin or OpenMetadata sends. Ids of another
catalogue mean nothing here, so the ends of an edge are looked up by FQN if the event has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from tocsin.catalogue.lineage.edge_details import STAMPS
from tocsin.errors import InvalidInput
from tocsin.model.change import LINEAGE
from tocsin.model.entity import Document

Given = Any  # Any: whatever JSON was sent


@dataclass(frozen=True)
class ReceivedEdge:
    """One edge of an event, and whether the event removes it."""

    edge: Document
    is_gone: bool


def events_in(body: Given) -> list[Given]:
    """Return the events of a body: one, a list, a page of ``GET /events``, a CloudEvents envelope."""
    if isinstance(body, dict) and "data" in body and "eventType" not in body:
        return events_in(body["data"])
    return [event for one in body for event in events_in(one)] if isinstance(body, list) else [body]


def edges_in(event: Given) -> list[ReceivedEdge]:
    """Return the edges in an event's ``lineage`` fields, in their order: removed ones first.

    Raises
    ------
    InvalidInput : it is no change event, or such a field holds something else than edges.
    """
    if not isinstance(event, dict) or not isinstance(event.get("eventType"), str):
        raise InvalidInput("not a change event: it has no eventType")
    change = event.get("changeDescription") or {}
    if not isinstance(change, dict):
        raise InvalidInput("must be an object", field="changeDescription")
    removed_edges = [
        edge for key in ("fieldsDeleted", "fieldsUpdated") for edge in _edges(event, change.get(key), "oldValue")
    ]
    present_edges = [
        edge for key in ("fieldsAdded", "fieldsUpdated") for edge in _edges(event, change.get(key), "newValue")
    ]
    present_ends = [_ends(edge) for edge in present_edges]
    return [
        *(ReceivedEdge(edge, is_gone=True) for edge in removed_edges if _ends(edge) not in present_ends),
        *(ReceivedEdge(edge, is_gone=False) for edge in present_edges),
    ]


def _edges(event: Document, fields: Given, key: str) -> Iterator[Document]:
    """Yield the edges in these field changes."""
    changes = [one for one in (fields if isinstance(fields, list) else ()) if isinstance(one, dict)]
    for value in (_parse(change.get(key)) for change in changes if change.get("name") == LINEAGE):
        values = value if isinstance(value, list) else [value]
        yield from (_edge_with_ends(event, edge) for edge in values if edge is not None)


def _parse(value: Given) -> Given:
    """Return the value of a field; OpenMetadata writes those that are no texts as JSON in a text."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as refused:
        raise InvalidInput("contains neither an edge nor its JSON", field=LINEAGE) from refused


def _edge_with_ends(event: Document, edge: Given) -> Document:
    """Return the edge with both ends; one that names no end leads to what the event is about."""
    if not isinstance(edge, dict) or not isinstance(edge.get("fromEntity"), dict):
        raise InvalidInput("contains no edge: fromEntity is missing", field=LINEAGE)
    subject = {
        "type": event.get("entityType"),
        "id": event.get("entityId"),
        "fullyQualifiedName": event.get("entityFullyQualifiedName"),
    }
    to = edge.get("toEntity")
    edge_with_ends = {"fromEntity": _end(edge["fromEntity"]), "toEntity": _end(to if isinstance(to, dict) else subject)}
    details = edge.get("lineageDetails")
    return edge_with_ends | ({"lineageDetails": _details(details)} if isinstance(details, dict) else {})


def _details(details: Document) -> Document:
    details_without_stamps = {key: value for key, value in details.items() if key not in STAMPS}
    if isinstance(details_without_stamps.get("pipeline"), dict):
        details_without_stamps["pipeline"] = _end(details_without_stamps["pipeline"])
    return details_without_stamps


def _end(reference: Document) -> Document:
    name = reference.get("fullyQualifiedName")
    key = "fullyQualifiedName" if isinstance(name, str) and name else "id"
    return {"type": reference.get("type"), key: reference.get(key)}


def _ends(edge: Document) -> tuple[Document, Document]:
    return edge["fromEntity"], edge["toEntity"]
