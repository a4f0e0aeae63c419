"""What feeds what? Lineage edges, and the graph around one asset. Next: ``store/lineage.py``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Key
from tocsin.flow.resolve.visibility import may_view
from tocsin.model.entity_types import ENTITY_TYPES, EntityType
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, PathText, answer
from tocsin.server.routes.entities import check_visible
from tocsin.server.view import addressed

Depth = Annotated[int, Query(ge=0, le=50)]
TypeName = Annotated[str, Path(max_length=40)]

router = APIRouter(prefix="/lineage", tags=["lineage"])


@router.put("")
def put_edge(body: DocumentBody, caller: Asked) -> Response:
    """Add an edge (``{"edge": {fromEntity, toEntity, lineageDetails}}``) or replace its details."""
    edge = body.get("edge")
    if not isinstance(edge, dict):
        raise InvalidInput("is missing: send {fromEntity, toEntity, lineageDetails}", field="edge")
    written = caller.parts.writes.put_edge(edge, actor=caller.actor)
    return answer({"edge": written.document})


@router.get("/getLineageEdge/{from_id}/{to_id}")
def read_edge(from_id: PathId, to_id: PathId, caller: Asked) -> Response:
    """Return what is known of one edge."""
    return answer({"edge": caller.parts.lineage.edge(str(from_id), str(to_id))})


@router.get("/{entity_type}/name/{fqn}")
def around_name(
    entity_type: TypeName,
    fqn: PathText,
    caller: Asked,
    *,
    upstream_depth: Annotated[Depth, Query(alias="upstreamDepth")] = 1,
    downstream_depth: Annotated[Depth, Query(alias="downstreamDepth")] = 1,
) -> Response:
    """Return the lineage around the asset of that name."""
    return _around(_row(entity_type), Key.by_name(fqn), caller, up=upstream_depth, down=downstream_depth)


@router.get("/{entity_type}/{entity_id}")
def around(
    entity_type: TypeName,
    entity_id: PathId,
    caller: Asked,
    *,
    upstream_depth: Annotated[Depth, Query(alias="upstreamDepth")] = 1,
    downstream_depth: Annotated[Depth, Query(alias="downstreamDepth")] = 1,
) -> Response:
    """Return the lineage around the asset with that id."""
    return _around(_row(entity_type), Key.by_id(str(entity_id)), caller, up=upstream_depth, down=downstream_depth)


@router.delete("/{from_type}/{from_id}/{to_type}/{to_id}")
def delete_edge(from_type: TypeName, from_id: PathId, to_type: TypeName, to_id: PathId, caller: Asked) -> Response:
    """Remove one edge."""
    from_entity = {"type": _row(from_type).name, "id": str(from_id)}
    to_entity = {"type": _row(to_type).name, "id": str(to_id)}
    return answer({"edge": caller.parts.writes.delete_edge(from_entity, to_entity, actor=caller.actor).document})


def _around(row: EntityType, key: Key, caller: Caller, *, up: int, down: int) -> Response:
    graph = caller.parts.lineage.around(row.name, key, upstream_depth=up, downstream_depth=down)
    check_visible(caller, graph["entity"])
    nodes = [addressed(node, caller.root) for node in graph["nodes"] if may_view(caller.actor, node)]
    seen = {graph["entity"]["id"], *(node["id"] for node in nodes)}
    sides = {
        side: [edge for edge in graph[side] if {edge["fromEntity"], edge["toEntity"]} <= seen]
        for side in ("upstreamEdges", "downstreamEdges")
    }
    return answer({"entity": addressed(graph["entity"], caller.root), "nodes": nodes, **sides})


def _row(entity_type: str) -> EntityType:
    if entity_type not in ENTITY_TYPES:
        raise InvalidInput(f"there is no entity type {entity_type!r}", field="entityType")
    return ENTITY_TYPES[entity_type]
