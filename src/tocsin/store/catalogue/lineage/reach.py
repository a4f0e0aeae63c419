"""Lineage graph around an asset: breadth-first, level by level, each asset once despite cycles.

One query per level, so the cost depends on the result and not on the catalogue. ``catalogue/lineage/edges.py`` writes
edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from sqlalchemy import Column, Connection, Engine, select

from tocsin.errors import NotFound
from tocsin.model.entity import Document
from tocsin.model.lineage import Edge
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.relations import lineage_edges as edges
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import lineage_edge

Sees = Callable[[Iterable[Document]], Collection[str]]
"""Says which of some references lead to what may be seen, by their ids."""


class Lineage:
    """Reads lineage."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def around(self, entity_type: str, key: Key, *, upstream_depth: int = 1, downstream_depth: int = 1) -> Document:
        """Return an asset's lineage as OpenMetadata's ``EntityLineage``, to these depths.

        Source: schemas/type/entityLineage.json: edges name their ends by id, ``nodes`` leaves out the asset.

        Raises
        ------
        NotFound : there is no such asset
        """
        entity = SqlCatalogue(self._engine).reference(entity_type, key)
        if entity is None:
            raise NotFound(f"{entity_type} {key} not found")
        with reading(self._engine) as connection:
            upstream = _edges_within_depth(connection, entity["id"], upstream_depth, upstream=True)
            downstream = _edges_within_depth(connection, entity["id"], downstream_depth, upstream=False)
        ends = {end["id"]: end for edge in (*upstream, *downstream) for end in (edge.from_, edge.to)}
        ends.pop(entity["id"], None)
        return {
            "entity": entity,
            "nodes": sorted(ends.values(), key=lambda end: str(end["fullyQualifiedName"])),
            "upstreamEdges": [edge.between_ids() for edge in upstream],
            "downstreamEdges": [edge.between_ids() for edge in downstream],
        }

    def ways(self, ids: Sequence[str], sees: Sees) -> dict[str, tuple[int, int]]:
        """Return how many edges lead to each of these assets, and how many from it; ``sees`` says from and to what."""
        edge = lineage_edge.c
        with reading(self._engine) as connection:
            leading = _ends(connection, (edge.to_id, edge.from_id, edge.from_type), ids)
            leaving = _ends(connection, (edge.from_id, edge.to_id, edge.to_type), ids)
        visible_ids = sees([end for _, end in (*leading, *leaving)])
        counts = [Counter(one for one, end in ways if end["id"] in visible_ids) for ways in (leading, leaving)]
        return {one: (counts[0][one], counts[1][one]) for one in ids}

    def edges_leading_to(self, ids: Sequence[str]) -> list[Edge]:
        """Return the edges that lead to these assets."""
        with reading(self._engine) as connection:
            return edges_at(connection, ids, upstream=True)

    def edge(self, from_id: str, to_id: str) -> Edge:
        """Return one edge.

        Raises
        ------
        NotFound : there is no such edge
        """
        with reading(self._engine) as connection:
            stored_edges = edges.read(connection, edges.EDGES.where(edges.joins(from_id, to_id)))
        if not stored_edges:
            raise NotFound(f"lineage edge from {from_id} to {to_id} not found")
        return stored_edges[0]


def _ends(
    connection: Connection, columns: tuple[Column[str], Column[str], Column[str]], ids: Sequence[str]
) -> list[tuple[str, Document]]:
    """Return, for each edge at these assets, the asset and a reference to the other end."""
    edge_rows = rows_by_key(connection, select(*columns), columns[0], ids)
    return [(at, {"id": end_id, "type": end_type}) for at, end_id, end_type in edge_rows]


def _edges_within_depth(connection: Connection, start: str, depth: int, *, upstream: bool) -> list[Edge]:
    """Return every edge on the ways of at most ``depth`` steps from ``start``, nearest first."""
    reached_edges: list[Edge] = []
    visited, level = {start}, {start}
    for _ in range(depth):
        near = edges_at(connection, sorted(level), upstream=upstream)
        reached_edges += near
        level = {(edge.from_ if upstream else edge.to)["id"] for edge in near} - visited
        if not level:
            break
        visited |= level
    return reached_edges


def edges_at(connection: Connection, ids: Sequence[str], *, upstream: bool) -> list[Edge]:
    """Return the edges that lead to these assets, or from them."""
    end = lineage_edge.c.to_id if upstream else lineage_edge.c.from_id
    return [edges.edge_of(row) for row in rows_by_key(connection, edges.EDGES, end, ids)]
