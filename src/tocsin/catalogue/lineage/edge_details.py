"""Validation of lineage details in requests.

Source: schemas/type/entityLineage.json, ``lineageDetails``. Next: ``catalogue/lineage/edges.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from tocsin.errors import InvalidInput
from tocsin.flow.capture.references import Resolver
from tocsin.model import fqn
from tocsin.model.columns import column_fqns, missing_column
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.lineage import Edge, LineageSource
from tocsin.model.stored import Stored

STAMPS = frozenset({"createdAt", "createdBy", "updatedAt", "updatedBy"})
"""What only the server says of an edge; a request may hold what it once read, and it is left aside."""

_EDGE = frozenset({"fromEntity", "toEntity", "description", "lineageDetails"})
_TEXTS = frozenset({"sqlQuery", "description"})
_LISTS = frozenset({"columnsLineage", "tempLineageTables"})
_DETAILS = STAMPS | _TEXTS | _LISTS | {"source", "pipeline", "assetEdges"}
_COLUMN = frozenset({"fromColumns", "toColumn", "function"})
_HOP = frozenset({"fromEntity", "toEntity"})
_MOST_ASSETS = 2**53


@dataclass(frozen=True)
class Ends:
    """Where an edge leads from and to."""

    from_: Stored
    to: Stored


def given_details(edge: Document) -> Document:
    """Return the details that a request gives, including the edge's own description.

    Raises
    ------
    InvalidInput : the details are no object
    """
    _check_keys("an edge", edge, _EDGE)
    details = edge.get("lineageDetails")
    details = {} if details is None else details
    if not isinstance(details, dict):
        raise InvalidInput("must be an object", field="lineageDetails")
    description = edge.get("description")
    return details if description is None else {"description": description} | details


def checked_details(resolver: Resolver, ends: Ends, request: Document, old_details: Document) -> Document:
    """Return an edge's details as they are stored: without nulls, with explicit source and full references.

    ``old_details`` are the existing details, whose pipeline and columns are trusted.

    Raises
    ------
    InvalidInput : a key is unknown, a value of another kind, or a column not one of its end.
    NotFound : there is no such pipeline.
    """
    _check_keys("lineageDetails", request, _DETAILS)
    details = {key: value for key, value in request.items() if key not in STAMPS and value not in (None, "", [])}
    for key in _TEXTS & details.keys():
        _check(isinstance(details[key], str), key, "must be a string")
    for key in _LISTS & details.keys():
        _check(isinstance(details[key], list), key, "must be a list")
    details["source"] = _source(details.get("source", LineageSource.MANUAL.value))
    if "assetEdges" in details:
        count = details["assetEdges"]
        _check(type(count) is int and abs(count) <= _MOST_ASSETS, "assetEdges", "must be an integer")
    if "columnsLineage" in details:
        details["columnsLineage"] = _columns(ends, details["columnsLineage"], old_details.get("columnsLineage") or [])
    if "tempLineageTables" in details:
        details["tempLineageTables"] = [_hop(hop) for hop in details["tempLineageTables"]]
    if "pipeline" in details:
        details["pipeline"] = _pipeline(resolver, details["pipeline"], old_details.get("pipeline") or {})
    return details


def without_stamps(details: Document) -> Document:
    """Return the details without the server's stamps: what makes a change when it differs."""
    return {key: value for key, value in details.items() if key not in STAMPS}


def notifying_details(details: Document) -> Document:
    """Return the details that make an event when they differ: all but stamps, ``sqlQuery`` and the order of columns.

    The text and the order come from the query in which a connector found the edge; they connect nothing else.
    """
    notifying_details = {key: value for key, value in details.items() if key not in STAMPS and key != "sqlQuery"}
    if "columnsLineage" in notifying_details:
        notifying_details["columnsLineage"] = sorted(
            map(_in_order, notifying_details["columnsLineage"]), key=orjson.dumps
        )
    return notifying_details


def _in_order(entry: Document) -> Document:
    """Return an entry of ``columnsLineage`` with its keys and its ``fromColumns`` sorted."""
    from_columns = {"fromColumns": sorted(entry["fromColumns"])} if "fromColumns" in entry else {}
    return dict(sorted((entry | from_columns).items()))


def _source(value: object) -> str:
    if not isinstance(value, str) or value not in set(LineageSource):
        raise InvalidInput(f"unknown source {value!r}; valid values: {', '.join(LineageSource)}", field="source")
    return value


def parse_source(text: str) -> LineageSource:
    """Return the source a text names; ``InvalidInput`` if there is none like it."""
    return LineageSource(_source(text))


def _columns(ends: Ends, entries: list[Any], old_entries: list[Document]) -> list[Document]:  # Any: whatever was sent
    of_from, of_to = (_Columns.of(end) for end in (ends.from_, ends.to))
    # What was known before may name a column that has gone since: it says whom that concerned.
    checked = [entry if entry in old_entries else _entry(entry, of_from, of_to) for entry in entries]
    return [entry for at, entry in enumerate(checked) if entry and entry not in checked[:at]]


@dataclass(frozen=True)
class _Columns:
    """The columns of one end; None where its type has none, or none are known."""

    fqn: str
    names: frozenset[str] | None

    @classmethod
    def of(cls, end: Stored) -> _Columns:
        return cls(end.fqn, frozenset(column_fqns(end.entity_type, end.fqn, end.document)) or None)

    def checked_name(self, column: object) -> str:
        _check(
            isinstance(column, str) and column != "", "columnsLineage", "must be the fully qualified names of columns"
        )
        name = fqn.join(fqn.split(str(column)))
        if self.names is not None and name not in self.names:
            raise missing_column(self.fqn, name, self.names, field="columnsLineage")
        return name


def _entry(entry: object, of_from: _Columns, of_to: _Columns) -> Document:
    if not isinstance(entry, dict):
        raise InvalidInput("must be a list of objects", field="columnsLineage")
    _check_keys("columnsLineage", entry, _COLUMN)
    checked_entry: Document = {}
    from_columns = entry.get("fromColumns")
    if from_columns is not None:
        _check(isinstance(from_columns, list), "fromColumns", "must be a list")
        checked_entry["fromColumns"] = list(dict.fromkeys(of_from.checked_name(column) for column in from_columns))
    if entry.get("toColumn") is not None:
        checked_entry["toColumn"] = of_to.checked_name(entry["toColumn"])
    if entry.get("function") is not None:
        _check(isinstance(entry["function"], str), "function", "must be a string")
        checked_entry["function"] = entry["function"]
    return checked_entry


def _hop(hop: object) -> Document:
    if not isinstance(hop, dict):
        raise InvalidInput("must be a list of objects", field="tempLineageTables")
    _check_keys("tempLineageTables", hop, _HOP)
    has_ends = all(isinstance(hop.get(key), str) for key in _HOP)
    _check(has_ends, "tempLineageTables", "each needs a fromEntity and a toEntity")
    return dict(hop)


def _pipeline(resolver: Resolver, reference: object, old_pipeline: Document) -> Document:
    if not isinstance(reference, dict):
        raise InvalidInput("must be a reference", field="pipeline")
    entity_type = reference.get("type") or "pipeline"
    if not isinstance(entity_type, str) or entity_type not in ENTITY_TYPES:
        raise InvalidInput(f"unknown type {entity_type!r}", field="pipeline")
    if old_pipeline and reference.get("id") == old_pipeline.get("id"):
        return old_pipeline
    return resolver.one(entity_type, {key: value for key, value in reference.items() if value is not None})


def _check_keys(noun: str, value: Document, valid_keys: frozenset[str]) -> None:
    unknown = sorted(value.keys() - valid_keys)
    if unknown:
        raise InvalidInput(f"{noun} has no {unknown[0]}; valid keys: {', '.join(sorted(valid_keys))}", field=unknown[0])


def _check(holds: bool, field: str, message: str) -> None:
    if not holds:
        raise InvalidInput(message, field=field)


def is_written_only_by(edge: Edge, actor_name: str) -> bool:
    """Return whether an actor made an edge, and wrote it last."""
    return {edge.details.get("createdBy"), edge.details.get("updatedBy")} == {actor_name}
