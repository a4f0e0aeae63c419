"""Route of the lineage graph as a map by FQN, in the form that upstream's web page requests.

Source: schemas/api/lineage/searchLineageResult.json. ``server/routes/lineage/edges.py`` has the other form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, answer
from tocsin.server.routes.lineage.edges import Depth, kind_of_type, visible_graph

_RENAMED = {"columnsLineage": "columns"}
_OF_AN_EDGE = frozenset(
    "pipeline sqlQuery columns description source createdAt createdBy updatedAt updatedBy assetEdges".split()
)

router = DeclaredRoutes(prefix="/lineage", tags=["lineage"])


@router.get("/getLineage", openapi_extra=answers("LineageMap", refuses="404"))
def read_map(
    caller: Asked,
    *,
    fqn: Annotated[str | None, Query(max_length=4000, description="FQN of the asset in the middle.")] = None,
    entity_type: Annotated[str | None, Query(alias="type", max_length=40, description="Type of the asset.")] = None,
    upstream_depth: Annotated[Depth, Query(alias="upstreamDepth")] = 3,
    downstream_depth: Annotated[Depth, Query(alias="downstreamDepth")] = 3,
) -> Response:
    """Return the lineage of the asset ``fqn`` of this ``type``: nodes by name, edges by ids."""
    if not fqn:
        raise InvalidInput("is missing: give the fully qualified name of an asset", field="fqn")
    row = kind_of_type(entity_type or "table")
    root, neighbours, sides = visible_graph(row, Key.by_name(fqn), caller, up=upstream_depth, down=downstream_depth)
    nodes = {node["id"]: node for node in (root, *neighbours)}
    depth = _depths(root["id"], sides)
    ways = caller.parts.graph.lineage.ways(sorted(nodes), caller.visibility.sees)
    nodes_by_fqn = {node["fullyQualifiedName"]: _node(node, depth.get(one), ways[one]) for one, node in nodes.items()}
    maps = {side: dict(_edge(edge, nodes) for edge in edges) for side, edges in sides.items()}
    return answer({"nodes": nodes_by_fqn, **maps})


def _depths(start: str, sides: dict[str, list[Document]]) -> dict[str, int]:
    """Return how many steps each node is from the asset, either way."""
    depths = {start: 0}
    for side, near_end, far_end in (
        ("upstreamEdges", "toEntity", "fromEntity"),
        ("downstreamEdges", "fromEntity", "toEntity"),
    ):
        near: dict[str, list[str]] = defaultdict(list)
        for edge in sides[side]:
            near[edge[near_end]].append(edge[far_end])
        level, steps, visited_ids = [start], 0, {start}
        while level:
            steps += 1
            level = [node_id for node in level for node_id in near[node] if node_id not in visited_ids]
            visited_ids.update(level)
            for node_id in level:
                depths[node_id] = min(steps, depths.get(node_id, steps))
    return depths


def _node(reference: Document, depth: int | None, ways: Sequence[int]) -> Document:
    counts = {"entityUpstreamCount": ways[0], "entityDownstreamCount": ways[1]}
    return {"entity": {**reference, "entityType": reference["type"]}, "paging": counts, "nodeDepth": depth or 0}


def _edge(edge: Document, nodes: dict[str, Document]) -> tuple[str, Document]:
    details = {_RENAMED.get(key, key): value for key, value in (edge.get("lineageDetails") or {}).items()}
    name = f"{edge['fromEntity']}--{edge['toEntity']}"
    ends = {end: _end(nodes[edge[end]]) for end in ("fromEntity", "toEntity")}
    attributes = {key: value for key, value in details.items() if key in _OF_AN_EDGE}
    return name, {**ends, **attributes, "docId": name, "docUniqueId": name}


def _end(reference: Document) -> Document:
    return {key: reference[key] for key in ("id", "fullyQualifiedName", "type")}
