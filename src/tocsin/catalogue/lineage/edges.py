"""Lineage writes: each makes an event of the downstream asset and no version.

Source: seeds/002 "Data Lineage Tracking": the field change is called ``lineage`` and its value is the edge.
``catalogue/lineage/edge_details.py`` validates the edge's details.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tocsin.catalogue.lineage.edge_details import (
    Ends,
    checked_details,
    given_details,
    notifying_details,
    parse_source,
    without_stamps,
)
from tocsin.errors import InvalidInput, NotFound
from tocsin.flow.capture.authorization import check_view
from tocsin.flow.capture.diff import is_same
from tocsin.flow.capture.json_patch import apply_to_copy
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.redaction import Redaction, hidden_references
from tocsin.flow.capture.references import key_of, reference_to
from tocsin.flow.capture.write import Record
from tocsin.model.access import Operation
from tocsin.model.change import LINEAGE, describe
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.lineage import Edge, LineageSource
from tocsin.model.phrases import with_article
from tocsin.model.stored import Key, Stored, Written, not_found

_NO_ENDS = frozenset(
    "user team role policy bot type classification tag eventsubscription notificationTemplate testDefinition".split()
)
"""Types of what no data is in, nor moves through."""

Operations = Sequence[dict[str, Any]]  # Any: an operation's value is any JSON


def put_edge(record: Record, edge: Document) -> Written:
    """Add an edge, or replace its details; nothing if it exists unchanged. Checks permissions as ``asked_ends``.

    A change of ``sqlQuery`` or of the order of columns alone makes no event: every run of dbt writes the model's SQL,
    then the statement it ran.
    """
    ends = asked_ends(record, edge.get("fromEntity"), edge.get("toEntity"))
    return _put(record, ends, record.transaction.edge(ends.from_.id, ends.to.id), given_details(edge))


def patch_edge(record: Record, from_entity: Document, to_entity: Document, operations: Operations) -> Written:
    """Apply a JSON Patch to the details of an edge. Asks as ``asked_ends``.

    Raises
    ------
    NotFound : there is no such edge.
    InvalidInput : the patch does not fit, or leaves something malformed.
    """
    ends = asked_ends(record, from_entity, to_entity)
    old = _find_edge(record, ends)
    # Who read no columns reads an empty list, and adds to that.
    readable: Document = {"columnsLineage": []} | old.details
    redaction = Redaction(record.ids.event())
    shown_details = redaction.hide(readable, hidden_references(readable, record.permit, record.transaction))
    return _put(record, ends, old, redaction.restore(apply_to_copy(shown_details, operations, record.bounds)))


def delete_edge(record: Record, from_entity: Document, to_entity: Document) -> Written:
    """Remove an edge. Asks as ``asked_ends``.

    Raises
    ------
    NotFound : there is no such edge.
    """
    ends = asked_ends(record, from_entity, to_entity)
    return _drop(record, ends.to, _find_edge(record, ends))


def asked_ends(record: Record, from_entity: object, to_entity: object) -> Ends:
    """Return both ends of an edge to change, if the actor may: it changes the downstream asset.

    Raises
    ------
    Forbidden : they may not see the upstream asset, or not edit the lineage of the downstream one.
    """
    ends = Ends(_end(record, from_entity), _end(record, to_entity))
    check_view(record.permit, ends.from_)
    check_edit(record, ends.to)
    return ends


def check_edit(record: Record, to: Stored) -> None:
    """Refuse to change edges that lead to an asset whose lineage the actor may not edit, or which they may not see."""
    record.permit.check(to.entity_type, (Operation.VIEW_BASIC, Operation.EDIT_LINEAGE), to.document)


def delete_by_source(record: Record, entity: Document, source: str) -> list[Written]:
    """Remove every edge to an entity that was found by ``source``, each with its event.

    Asked of a pipeline for ``PipelineLineage``, the edges whose data it moves go too: they are asked for one by one.

    Raises
    ------
    Forbidden : the actor may not edit the lineage of an asset that one of them leads to; all of them stay then.
    """
    wanted_source, end = parse_source(source), _end(record, entity)
    check_edit(record, end)
    return [
        _drop(record, _asked_end(record, edge.to, end), edge)
        for edge in record.transaction.edges_of(end.id)
        if edge.details.get("source") == wanted_source and _is_meant(edge, end, wanted_source)
    ]


def _asked_end(record: Record, reference: Document, asked_entity: Stored) -> Stored:
    end = _end(record, reference)
    if end.id != asked_entity.id:
        check_edit(record, end)
    return end


def leave_edges(record: Record, entity: Stored, also_gone: Collection[str] = ()) -> None:
    """Record the effects of removing the edges of a hard-deleted entity, before they are removed with its rows.

    An asset that loses a source, or the pipeline of an edge, gets an event, unless it is deleted as well:
    its deletion says more.
    """
    for edge in record.transaction.edges_of(entity.id):
        from_id, to_id = edge.from_["id"], edge.to["id"]
        if to_id == entity.id or to_id in also_gone:
            continue
        if from_id == entity.id:
            _note_loss(record, _end(record, edge.to), edge)
        elif from_id not in also_gone:
            details = {key: value for key, value in edge.details.items() if key != "pipeline"}
            _put(record, Ends(_end(record, edge.from_), _end(record, edge.to)), edge, details)


def _put(record: Record, ends: Ends, old: Edge | None, request: Document) -> Written:
    old_details = old.details if old else {}
    details = checked_details(record.resolver(), ends, request, old_details)
    if old is not None and is_same(without_stamps(old_details), details):
        return Written(old.to_wire(), None)
    stamps: Document = {"updatedAt": record.at_ms, "updatedBy": record.actor.name}
    creation_stamps = {key: old_details[key] for key in ("createdAt", "createdBy") if key in old_details}
    details |= {"createdAt": record.at_ms, "createdBy": record.actor.name} | creation_stamps | stamps
    record.transaction.put_edge(ends.from_, ends.to, details)
    new = Edge(reference_to(ends.from_), reference_to(ends.to), details).to_wire()
    if old is not None and is_same(notifying_details(old_details), notifying_details(details)):
        return Written(new, None)
    changes = describe(LINEAGE, old=old.to_wire() if old else None, new=new)
    return Written(new, record.note(ends.to, changes).event, created=old is None)


def _drop(record: Record, to: Stored, edge: Edge) -> Written:
    record.transaction.delete_edge(edge.from_["id"], to.id)
    return _note_loss(record, to, edge)


def _note_loss(record: Record, to: Stored, edge: Edge) -> Written:
    return Written(edge.to_wire(), record.note(to, describe(LINEAGE, old=edge.to_wire())).event)


def _is_meant(edge: Edge, end: Stored, source: LineageSource) -> bool:
    if edge.to["id"] == end.id:
        return True
    pipeline = edge.details.get("pipeline") or {}
    return source is LineageSource.PIPELINE and pipeline.get("id") == end.id


def _find_edge(record: Record, ends: Ends) -> Edge:
    edge = record.transaction.edge(ends.from_.id, ends.to.id)
    if edge is None:
        raise NotFound(f"lineage edge from {ends.from_.fqn} to {ends.to.fqn} not found")
    return edge


def _end(record: Record, reference: object) -> Stored:
    entity_type = reference.get("type") if isinstance(reference, dict) else None
    if not isinstance(entity_type, str) or entity_type not in ENTITY_TYPES:
        raise InvalidInput("an edge needs fromEntity and toEntity, each with a type and an id or name")
    if entity_type in _NO_ENDS:
        raise InvalidInput(f"{with_article(entity_type)} cannot have lineage")
    key: Key = key_of(reference)
    entity = record.transaction.find(entity_type, key, Hold.SHARED)
    if entity is None:
        raise not_found(entity_type, key)
    return entity


Source = tuple[str, Key]

_BARE = {"source": LineageSource.MANUAL.value}


def connect(record: Record, entity_type: str, document: Document, before: Document) -> None:
    """Add the edges that a document newly implies, and remove those it no longer implies.

    An edge with details of its own stays unchanged: it has another source, too. A source that is not
    catalogued has no edge.
    """
    if entity_type != "mlmodel":
        return
    old_sources, new_sources = _sources(before), _sources(document)
    if old_sources == new_sources:
        return
    model = record.transaction.find(entity_type, Key.by_id(document["id"]))
    assert model is not None, "the model is held while it is written"  # noqa: S101
    old, new = _catalogued_sources(record, old_sources), _catalogued_sources(record, new_sources)
    for source_id in sorted(new.keys() - old.keys()):
        if record.transaction.edge(source_id, model.id) is None:
            source = _end(record, reference_to(record.visible(new[source_id])))
            _put(record, Ends(source, model), None, {})
    for source_id in sorted(old.keys() - new.keys()):
        edge = record.transaction.edge(source_id, model.id)
        if edge is not None and without_stamps(edge.details) == _BARE:
            _drop(record, model, edge)


def _catalogued_sources(record: Record, sources: frozenset[Source]) -> dict[str, Stored]:
    """Return the sources that are catalogued, by id."""
    entities = (record.transaction.find(*source, Hold.SHARED) for source in sorted(sources, key=str))
    return {stored.id: stored for stored in entities if stored is not None}


def _sources(document: Document) -> frozenset[Source]:
    features = document.get("mlFeatures") or ()
    references = (source.get("dataSource") for feature in features for source in feature.get("featureSources") or ())
    return frozenset((one["type"], key_of(one)) for one in references if isinstance(one, dict) and _is_catalogued(one))


def _is_catalogued(reference: Document) -> bool:
    has_name = any(isinstance(reference.get(key), str) for key in ("id", "fullyQualifiedName", "name"))
    return has_name and isinstance(reference.get("type"), str) and reference["type"] in ENTITY_TYPES
