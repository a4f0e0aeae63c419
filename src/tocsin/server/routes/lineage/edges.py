"""Routes of lineage: edges, and the graph around one asset. Next: ``store/catalogue/lineage/reach.py``."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Response

from tocsin.catalogue.lineage.external import ReceivedEdge, edges_in, events_in
from tocsin.errors import Forbidden, InvalidInput, NotFound, TocsinError
from tocsin.flow.capture.references import key_of
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require, visible_document, visible_references
from tocsin.server.entities.bulk_results import bulk_result, outcome_of
from tocsin.server.entities.response import with_address
from tocsin.server.http.body_values import patch_of, value_in
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.rdf.answers import graph_answer, json_answer
from tocsin.server.rdf.entities import lineage_nodes
from tocsin.server.rdf.formats import AskedFormat, Format
from tocsin.server.rdf.vocabulary import ENTITY_CONTEXT
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathId, PathText, TypeName, answer

Depth = Annotated[int, Query(ge=0, le=50)]
Ends = tuple[Document, Document]

MOST_EVENTS = 10_000
"""Change events that one request may bring."""

router = DeclaredRoutes(prefix="/lineage", tags=["lineage"])


async def ends_of(from_type: TypeName, from_id: PathId, to_type: TypeName, to_id: PathId) -> Ends:
    """Return the ends of the edge that the path names by ids."""
    return {"type": from_type, "id": str(from_id)}, {"type": to_type, "id": str(to_id)}


async def named_ends_of(from_type: TypeName, from_fqn: PathText, to_type: TypeName, to_fqn: PathText) -> Ends:
    """Return the ends of the edge that the path names by FQNs."""
    return {"type": from_type, "fullyQualifiedName": from_fqn}, {"type": to_type, "fullyQualifiedName": to_fqn}


IdentifiedEnds = Annotated[Ends, Depends(ends_of)]
NamedEnds = Annotated[Ends, Depends(named_ends_of)]


@router.put("", openapi_extra=answers("LineageEdge", reads="AddLineageRequest"))
def put_edge(body: DocumentBody, caller: Asked) -> Response:
    """Add an edge (`{"edge": {fromEntity, toEntity, lineageDetails}}`) or replace its details."""
    edge = value_in(body, "edge", dict, "is missing: send {fromEntity, toEntity, lineageDetails}")
    return _put(caller, (edge.get("fromEntity"), edge.get("toEntity")), edge)


@router.put(
    "/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}",
    openapi_extra=answers("LineageEdge", reads="LineageDetailsRequest"),
)
def put_edge_by_name(ends: NamedEnds, body: DocumentBody, caller: Asked) -> Response:
    """Add an edge by FQNs or replace its details; the body is `lineageDetails`."""
    return _put(caller, ends, {"lineageDetails": body})


@router.post("/events", openapi_extra=answers("BulkOperationResult", reads="LineageEvents"))
def receive_events(body: JsonBody, caller: Asked) -> Response:
    """Apply the edges in the ``lineage`` fields of change events; returns a result for each."""
    events = events_in(body)
    if len(events) > MOST_EVENTS:
        raise InvalidInput(f"at most {MOST_EVENTS} events at once, not {len(events)}")
    return answer(bulk_result([outcome for event in events for outcome in _receive(caller, event)]))


@router.get("/getLineageEdge/{from_id}/{to_id}", openapi_extra=answers("LineageEdge"))
def read_edge(from_id: PathId, to_id: PathId, caller: Asked) -> Response:
    """Return the details of one edge."""
    edge = caller.parts.graph.lineage.edge(str(from_id), str(to_id))
    for end in (edge.from_, edge.to):
        _checked_end(caller, end, Operation.VIEW_BASIC)
    return _edge_answer(caller, {"columnsLineage": []} | edge.details)


@router.get("/getLineageEdge/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}", openapi_extra=answers("LineageEdge"))
def read_edge_by_name(ends: NamedEnds, caller: Asked) -> Response:
    """Return the details of one edge by FQNs."""
    from_, to = (_checked_end(caller, end, Operation.VIEW_BASIC) for end in ends)
    edge = caller.parts.graph.lineage.edge(from_["id"], to["id"])
    return _edge_answer(caller, {"columnsLineage": []} | edge.details)


@by_id_and_name(
    router.get,
    "/{entity_type}/{entity_id}",
    by_name="around_name",
    openapi_extra=answers("EntityLineage", is_linked=True),
)
def around(
    entity_type: TypeName,
    key: Key,
    caller: Asked,
    *,
    upstream_depth: Annotated[Depth, Query(alias="upstreamDepth")] = 1,
    downstream_depth: Annotated[Depth, Query(alias="downstreamDepth")] = 1,
    asked_format: AskedFormat,
) -> Response:
    """Return the lineage of an asset."""
    kind = kind_of_type(entity_type)
    root, nodes, sides = visible_graph(kind, key, caller, up=upstream_depth, down=downstream_depth)
    graph = {"entity": root, "nodes": nodes, **sides}
    if asked_format is Format.JSON:
        return json_answer(graph)
    return graph_answer(ENTITY_CONTEXT, lineage_nodes(graph), asked_format)


@router.delete("/{entity_type}/{entity_id}/type/{source}", openapi_extra=answers("LineageEdges"))
def delete_by_source(entity_type: TypeName, entity_id: PathId, source: PathText, caller: Asked) -> Response:
    """Remove all edges to an asset with this source, e.g. ``ViewLineage``."""
    return _delete_by_source(caller, {"type": entity_type, "id": str(entity_id)}, source)


@router.delete("/source/name/{entity_type}/{fqn}/type/{source}", openapi_extra=answers("LineageEdges"))
def delete_by_source_by_name(entity_type: TypeName, fqn: PathText, source: PathText, caller: Asked) -> Response:
    """Remove all edges to an asset by FQN with this source."""
    return _delete_by_source(caller, {"type": entity_type, "fullyQualifiedName": fqn}, source)


@router.patch("/{from_type}/{from_id}/{to_type}/{to_id}", openapi_extra=answers("LineageEdge", reads="JsonPatch"))
def patch_edge(ends: IdentifiedEnds, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch (RFC 6902) to the details of one edge, e.g. to `/columnsLineage/0`."""
    return _patch(caller, ends, body)


@router.patch(
    "/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}", openapi_extra=answers("LineageEdge", reads="JsonPatch")
)
def patch_edge_by_name(ends: NamedEnds, body: JsonBody, caller: Asked) -> Response:
    """Apply a JSON Patch to the details of one edge by FQNs."""
    return _patch(caller, ends, body)


@router.delete("/{from_type}/{from_id}/{to_type}/{to_id}", openapi_extra=answers("LineageEdge"))
def delete_edge(ends: IdentifiedEnds, caller: Asked) -> Response:
    """Remove one edge."""
    return _delete(caller, ends)


@router.delete("/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}", openapi_extra=answers("LineageEdge"))
def delete_edge_by_name(ends: NamedEnds, caller: Asked) -> Response:
    """Remove one edge by FQNs."""
    return _delete(caller, ends)


def _receive(caller: Caller, event: object) -> list[Document]:
    """Return the result of every edge of one event."""
    try:
        edges = edges_in(event)
    except TocsinError as error:
        return [outcome_of(event, error)]
    return [_received_edge(caller, received) for received in edges]


def _received_edge(caller: Caller, received: ReceivedEdge) -> Document:
    try:
        from_, to = _ends(caller, received.edge["fromEntity"], received.edge["toEntity"])
        if received.is_gone:
            return outcome_of(received.edge, None, _remove(caller, from_, to))
        ends = {"fromEntity": from_, "toEntity": to}
        written = caller.parts.writes.put_edge(received.edge | ends, actor=caller.actor)
        message = "added" if written.created else "unchanged" if written.event is None else "updated"
        return outcome_of(received.edge, None, message)
    except TocsinError as error:
        return outcome_of(received.edge, error)


def _remove(caller: Caller, from_: Document, to: Document) -> str:
    try:
        caller.parts.writes.delete_edge(from_, to, actor=caller.actor)
    except NotFound:  # it went before: that is what the event asks for
        return "unchanged"
    return "removed"


def _delete_by_source(caller: Caller, entity: Document, source: str) -> Response:
    asset = _checked_end(caller, entity, Operation.EDIT_LINEAGE)
    edges = caller.parts.writes.delete_edges_by_source(asset, source, actor=caller.actor).document["edges"]
    ends = [end for edge in edges for end in (edge["fromEntity"], edge["toEntity"])]
    visible_ids = {end["id"] for end in visible_references(caller, ends)}
    visible_edges = [one for one in edges if {one["fromEntity"]["id"], one["toEntity"]["id"]} <= visible_ids]
    return answer({"edges": caller.visibility.visible_documents(visible_edges)})


def _put(caller: Caller, ends: tuple[object, object], edge: Document) -> Response:
    from_, to = _ends(caller, *ends)
    written = caller.parts.writes.put_edge(edge | {"fromEntity": from_, "toEntity": to}, actor=caller.actor)
    return _edge_answer(caller, _with_columns(written.document))


def _patch(caller: Caller, ends: tuple[Document, Document], body: object) -> Response:
    operations = patch_of(body)
    from_, to = _ends(caller, *ends)
    written = caller.parts.writes.patch_edge(from_, to, operations, actor=caller.actor)
    return _edge_answer(caller, _with_columns(written.document))


def _delete(caller: Caller, ends: tuple[Document, Document]) -> Response:
    from_, to = _ends(caller, *ends)
    written = caller.parts.writes.delete_edge(from_, to, actor=caller.actor)
    return _edge_answer(caller, _with_columns(written.document))


def _edge_answer(caller: Caller, edge: Document) -> Response:
    """Return an edge as it is answered: without a pipeline that may not be seen."""
    (visible,) = caller.visibility.visible_documents([edge])
    return answer({"edge": visible})


def _ends(caller: Caller, from_entity: object, to_entity: object) -> tuple[Document, Document]:
    """Return both ends of an edge to change; it changes the asset it leads to, and the other must be seen."""
    from_ = _checked_end(caller, from_entity, Operation.VIEW_BASIC)
    return from_, _checked_end(caller, to_entity, Operation.EDIT_LINEAGE)


def _checked_end(caller: Caller, reference: object, operation: Operation) -> Document:
    if not isinstance(reference, dict):
        raise InvalidInput("an edge needs fromEntity and toEntity, each with a type and an id or name", field="edge")
    row = kind_of_type(reference.get("type"))
    document = visible_document(row, key_of(reference), caller, include="all")
    require(caller, operation, row, document)
    return {"type": row.name, "id": document["id"]}


def visible_graph(
    kind: EntityType, key: Key, caller: Caller, *, up: int, down: int
) -> tuple[Document, list[Document], dict[str, list[Document]]]:
    """Return an asset, the nodes around it that may be seen, and the edges between these, on either side.

    Raises
    ------
    Forbidden : the caller may not view the asset
    """
    graph = caller.parts.graph.lineage.around(kind.name, key, upstream_depth=up, downstream_depth=down)
    if not visible_references(caller, [graph["entity"]]):
        raise Forbidden(f"You may not view this {kind.name}.")
    root, *nodes = (
        with_address(node, caller.root) for node in (graph["entity"], *visible_references(caller, graph["nodes"]))
    )
    visible_ids = {root["id"], *(node["id"] for node in nodes)}
    sides = {
        side: caller.visibility.visible_documents(
            [_with_columns(one) for one in graph[side] if {one["fromEntity"], one["toEntity"]} <= visible_ids]
        )
        for side in ("upstreamEdges", "downstreamEdges")
    }
    return root, nodes, sides


def _with_columns(edge: Document) -> Document:
    """Return an edge whose details have a list of columns, an empty one if there are none, as upstream's do."""
    return edge | {"lineageDetails": {"columnsLineage": []} | edge.get("lineageDetails", {})}


def kind_of_type(entity_type: object) -> EntityType:
    """Return the row of the type that a path or a reference names."""
    if not isinstance(entity_type, str) or entity_type not in ENTITY_TYPES:
        raise InvalidInput(f"unknown entity type {entity_type!r}", field="entityType")
    return ENTITY_TYPES[entity_type]
