"""What lies upstream and downstream of an asset? Breadth first, level by level, each asset once whatever cycles.

One query a level, so the cost follows the answer and not the catalogue. ``flow/capture/lineage.py`` writes edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, Engine, select

from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Key
from tocsin.model.entity import Document
from tocsin.store import tables
from tocsin.store.catalogue import REFERENCE
from tocsin.store.documents import from_text, reference_of
from tocsin.store.engine import reading
from tocsin.store.entities import SqlCatalogue

_EDGE = tables.lineage_edge.c
_MOST_IDS = 1000


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
            raise NotFound(f"{entity_type} instance for {key} not found")
        with reading(self._engine) as connection:
            upstream = _reached(connection, entity["id"], upstream_depth, towards="from_id")
            downstream = _reached(connection, entity["id"], downstream_depth, towards="to_id")
            ends = {edge[side] for edge in (*upstream, *downstream) for side in ("fromEntity", "toEntity")}
            nodes = _references(connection, sorted(ends - {entity["id"]}))
        return {"entity": entity, "nodes": nodes, "upstreamEdges": upstream, "downstreamEdges": downstream}

    def edge(self, from_id: str, to_id: str) -> Document:
        """Return the details of one edge; ``NotFound`` if there is none."""
        query = select(_EDGE.details).where(_EDGE.from_id == from_id, _EDGE.to_id == to_id)
        with reading(self._engine) as connection:
            details = connection.execute(query).scalar_one_or_none()
        if details is None:
            raise NotFound(f"no lineage edge from {from_id} to {to_id}")
        return from_text(details)


def _reached(connection: Connection, start: str, depth: int, *, towards: str) -> list[Document]:
    """Return every edge on the ways of at most ``depth`` steps from ``start``, nearest first."""
    found: list[Document] = []
    seen, level = {start}, {start}
    for _ in range(depth):
        edges = _edges(connection, sorted(level), towards)
        found += edges
        end = "fromEntity" if towards == "from_id" else "toEntity"
        level = {edge[end] for edge in edges} - seen
        if not level:
            break
        seen |= level
    return found


def _edges(connection: Connection, ids: Sequence[str], towards: str) -> list[Document]:
    here = _EDGE.to_id if towards == "from_id" else _EDGE.from_id
    query = select(_EDGE.from_id, _EDGE.to_id, _EDGE.details).order_by(_EDGE.from_id, _EDGE.to_id)
    rows = [row for some in _some(ids) for row in connection.execute(query.where(here.in_(some)))]
    return [_edge(*row) for row in rows]


def _edge(from_id: str, to_id: str, details: str) -> Document:
    edge: Document = {"fromEntity": from_id, "toEntity": to_id}
    lineage_details = from_text(details)
    return edge | ({"lineageDetails": lineage_details} if lineage_details else {})


def _references(connection: Connection, ids: Sequence[str]) -> list[Document]:
    entity = tables.entity.c
    query = select(*REFERENCE).order_by(entity.fqn)
    rows = [row for some in _some(ids) for row in connection.execute(query.where(entity.id.in_(some)))]
    return [reference_of(*row) for row in rows]


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the ids in lots a statement can take."""
    return (ids[at : at + _MOST_IDS] for at in range(0, len(ids), _MOST_IDS))
