"""What lies upstream and downstream of an asset? Breadth first, level by level, each asset once whatever cycles.

One query a level, so the cost follows the answer and not the catalogue. ``flow/capture/lineage.py`` writes edges.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Engine, func, select

from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Key
from tocsin.model.entity import Document
from tocsin.model.lineage import Edge
from tocsin.store.catalogue.entities import SqlCatalogue
from tocsin.store.engine import reading
from tocsin.store.lineage import edges
from tocsin.store.lots import in_lots
from tocsin.store.tables import lineage_edge


class Lineage:
    """Reads lineage."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def around(self, entity_type: str, key: Key, *, upstream_depth: int = 1, downstream_depth: int = 1) -> Document:
        """Return an asset's lineage as OpenMetadata's ``EntityLineage``, to these depths.

        Source: schemas/type/entityLineage.json: edges name their ends by id, ``nodes`` leaves out the asset.
        """
        entity = SqlCatalogue(self._engine).reference(entity_type, key)
        if entity is None:
            raise NotFound(f"{entity_type} {key} not found")
        with reading(self._engine) as connection:
            upstream = _reached(connection, entity["id"], upstream_depth, upstream=True)
            downstream = _reached(connection, entity["id"], downstream_depth, upstream=False)
        ends = {end["id"]: end for edge in (*upstream, *downstream) for end in (edge.from_, edge.to)}
        ends.pop(entity["id"], None)
        return {
            "entity": entity,
            "nodes": sorted(ends.values(), key=lambda end: str(end["fullyQualifiedName"])),
            "upstreamEdges": [edge.between_ids() for edge in upstream],
            "downstreamEdges": [edge.between_ids() for edge in downstream],
        }

    def ways(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return how many edges lead to each of these assets, and how many from it."""
        with reading(self._engine) as connection:
            leading = _counts(connection, lineage_edge.c.to_id, ids)
            leaving = _counts(connection, lineage_edge.c.from_id, ids)
        return {one: (leading.get(one, 0), leaving.get(one, 0)) for one in ids}

    def edge(self, from_id: str, to_id: str) -> Edge:
        """Return one edge; ``NotFound`` if there is none."""
        with reading(self._engine) as connection:
            found = edges.read(connection, edges.EDGES.where(edges.between(from_id, to_id)))
        if not found:
            raise NotFound(f"lineage edge from {from_id} to {to_id} not found")
        return found[0]


def _counts(connection: Connection, column: Column[str], ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in in_lots(ids):
        query = select(column, func.count()).where(column.in_(some)).group_by(column)
        found |= {one: int(number) for one, number in connection.execute(query)}
    return found


def _reached(connection: Connection, start: str, depth: int, *, upstream: bool) -> list[Edge]:
    """Return every edge on the ways of at most ``depth`` steps from ``start``, nearest first."""
    found: list[Edge] = []
    seen, level = {start}, {start}
    for _ in range(depth):
        near = edges_at(connection, sorted(level), upstream=upstream)
        found += near
        level = {(edge.from_ if upstream else edge.to)["id"] for edge in near} - seen
        if not level:
            break
        seen |= level
    return found


def edges_at(connection: Connection, ids: Sequence[str], *, upstream: bool) -> list[Edge]:
    """Return the edges that lead to these assets, or from them."""
    near = edges.reaching if upstream else edges.leaving
    return [edge for some in in_lots(ids) for edge in edges.read(connection, edges.EDGES.where(near(some)))]
