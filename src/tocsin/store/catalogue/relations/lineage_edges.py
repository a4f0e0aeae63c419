"""Lineage edges in the store, with details kept relative to their ends, so that a rename leaves them unchanged.

A column of an end is stored relative to its asset (``.email``), a pipeline by its id; both are completed on reading.
``flow/capture/ports.Transaction`` uses this for its edges. Next: ``store/catalogue/lineage/reach.py`` for reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, insert, select

from tocsin.model.entity import Document
from tocsin.model.lineage import Edge
from tocsin.model.stored import Stored
from tocsin.store.database import tables
from tocsin.store.database.documents import from_text, reference_of, to_text
from tocsin.store.database.keys import delete_by_key, rows_by_key
from tocsin.store.database.tables import lineage_carrier

_EDGE, _CARRIER = tables.lineage_edge.c, lineage_carrier.c
_FROM, _TO, _MOVER = (tables.entity.alias(name) for name in ("source", "product", "mover"))
_REFERENCE = ("id", "entity_type", "name", "fqn", "deleted")
_WIDTH = len(_REFERENCE)

EDGES = (
    select(*(end.c[key] for end in (_FROM, _TO, _MOVER) for key in _REFERENCE), _EDGE.details)
    .select_from(tables.lineage_edge)
    .join(_FROM, _FROM.c.id == _EDGE.from_id)
    .join(_TO, _TO.c.id == _EDGE.to_id)
    .outerjoin(lineage_carrier, and_(_CARRIER.from_id == _EDGE.from_id, _CARRIER.to_id == _EDGE.to_id))
    .outerjoin(_MOVER, _MOVER.c.id == _CARRIER.carrier_id)
    .order_by(_FROM.c.fqn, _TO.c.fqn, _EDGE.from_id, _EDGE.to_id)
)
"""Every edge, whole; narrow it with one of the conditions below."""

_MOVED = lineage_carrier.alias("moved")
_IS_MOVED = and_(_MOVED.c.from_id == _EDGE.from_id, _MOVED.c.to_id == _EDGE.to_id)
_MOVED_EDGES = EDGES.join(_MOVED, _IS_MOVED).add_columns(_MOVED.c.carrier_id)
"""Every edge whose data something moves, and the id of that; to be read by this id."""


def edge_of(row: Any) -> Edge:  # Any: a row of EDGES
    """Return the edge of a row of ``EDGES``."""
    from_, to = reference_of(*row[:_WIDTH]), reference_of(*row[_WIDTH : 2 * _WIDTH])
    mover = row[2 * _WIDTH : 3 * _WIDTH]
    details = from_text(row[3 * _WIDTH])
    details.pop("pipeline", None)
    if mover[0] is not None:
        details["pipeline"] = reference_of(*mover)
    return Edge(from_, to, _columns(details, _completer_of(from_), _completer_of(to)))


def joins(from_id: str, to_id: str) -> Any:  # Any: SQLAlchemy's condition
    """Return the condition that an edge is the one between these two."""
    return and_(_EDGE.from_id == from_id, _EDGE.to_id == to_id)


def leads_from(ids: Collection[str]) -> Any:  # Any: as above
    """Return the condition that an edge leads from one of these."""
    return _EDGE.from_id.in_(ids)


def find(connection: Connection, from_id: str, to_id: str) -> Edge | None:
    """Return the edge between two assets, held until the transaction ends; None if there is none."""
    query = EDGES.where(joins(from_id, to_id)).with_for_update(of=tables.lineage_edge)
    row = connection.execute(query).one_or_none()
    return None if row is None else edge_of(row)


def edges_touching(connection: Connection, entity_ids: Collection[str]) -> dict[str, list[Edge]]:
    """Return, for each of these assets, every edge that leads from or to it, or whose data it moves, by names."""
    touching: dict[str, dict[tuple[str, str], Edge]] = {one: {} for one in entity_ids}
    for column in (_EDGE.from_id, _EDGE.to_id):
        for edge in map(edge_of, rows_by_key(connection, EDGES, column, entity_ids)):
            place = str(edge.from_["id"]), str(edge.to["id"])
            for end in touching.keys() & set(place):
                touching[end][place] = edge
    for row in rows_by_key(connection, _MOVED_EDGES, _MOVED.c.carrier_id, entity_ids):
        edge = edge_of(row)
        touching[row.carrier_id][str(edge.from_["id"]), str(edge.to["id"])] = edge
    return {one: sorted(by_place.values(), key=_names_of) for one, by_place in touching.items()}


def _names_of(edge: Edge) -> tuple[str, str]:
    return str(edge.from_["fullyQualifiedName"]), str(edge.to["fullyQualifiedName"])


def read_by_others(connection: Connection, entity_ids: Collection[str]) -> set[str]:
    """Return the ids of those of these entities from which, or moved by which, data flows into what stays.

    What is deleted, or among these entities, does not stay.
    """
    going, read_ids = set(entity_ids), set[str]()
    for source, target in ((_EDGE.from_id, _EDGE.to_id), (_CARRIER.carrier_id, _CARRIER.to_id)):
        flows = select(source, target).join(_TO, _TO.c.id == target).where(~_TO.c.deleted)
        read_ids |= {one for one, reader in rows_by_key(connection, flows, source, going) if reader not in going}
    return read_ids


def read(connection: Connection, query: Select[Any]) -> list[Edge]:  # Any: SQLAlchemy's tuple of columns
    """Return the edges of a narrowed ``EDGES``."""
    return [edge_of(row) for row in connection.execute(query)]


def put(connection: Connection, from_: Stored, to: Stored, details: Document) -> bool:
    """Add an edge or replace its details; return whether it is new."""
    before = remove(connection, from_.id, to.id)
    pipeline = details.get("pipeline")
    stored_details = {key: value for key, value in details.items() if key != "pipeline"}
    row = {
        "from_id": from_.id,
        "to_id": to.id,
        "from_type": from_.entity_type,
        "to_type": to.entity_type,
        "details": to_text(_columns(stored_details, _shortener_of(from_.fqn), _shortener_of(to.fqn))),
        "since_offset": before["since_offset"] if before else 0,
    }
    connection.execute(insert(tables.lineage_edge), row)
    if pipeline:
        carrier = {"from_id": from_.id, "to_id": to.id, "carrier_id": pipeline["id"]}
        connection.execute(insert(lineage_carrier), carrier)
    return before is None


def remove(connection: Connection, from_id: str, to_id: str) -> dict[str, object] | None:
    """Remove an edge; return its ``other_type`` and ``since_offset``, None if there was none."""
    deletion = delete(tables.lineage_edge).where(joins(from_id, to_id)).returning(_EDGE.to_type, _EDGE.since_offset)
    row = connection.execute(deletion).first()
    carried = and_(_CARRIER.from_id == from_id, _CARRIER.to_id == to_id)
    connection.execute(delete(lineage_carrier).where(carried))
    return None if row is None else {"other_type": row.to_type, "since_offset": row.since_offset}


def erase(connection: Connection, entity_ids: Collection[str]) -> None:
    """Remove every row that names entities which are about to go."""
    for column in (_EDGE.from_id, _EDGE.to_id, _CARRIER.from_id, _CARRIER.to_id, _CARRIER.carrier_id):
        delete_by_key(connection, column, entity_ids)


def _columns(details: Document, of_from: Callable[[str], str], of_to: Callable[[str], str]) -> Document:
    """Return the details with every column's name put through the function of the end it belongs to."""
    if "columnsLineage" not in details:
        return details
    return details | {"columnsLineage": list(_converted_entries(details["columnsLineage"], of_from, of_to))}


def _converted_entries(
    entries: list[Document], of_from: Callable[[str], str], of_to: Callable[[str], str]
) -> Iterator[Document]:
    for entry in entries:
        converted = dict(entry)
        if "fromColumns" in entry:
            converted["fromColumns"] = [of_from(column) for column in entry["fromColumns"]]
        if "toColumn" in entry:
            converted["toColumn"] = of_to(entry["toColumn"])
        yield converted


def _shortener_of(fqn: str) -> Callable[[str], str]:
    return lambda column: column[len(fqn) :] if column.startswith(f"{fqn}.") else column


def _completer_of(end: Document) -> Callable[[str], str]:
    return lambda column: f"{end['fullyQualifiedName']}{column}" if column.startswith(".") else column
