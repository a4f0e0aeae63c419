"""Ancestors of entities: from the FQN; for an entity without a parent, those of the entities it refers to.

Next: ``store/catalogue/relations/inheritance.py``, ``store/recipients/relations_over_time.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from tocsin.model.inheritance import BY_REFERENCE, Entry, ancestors, types_above
from tocsin.store.database.entity_names import PRESENT_OR_DELETED
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity


class Ancestor(NamedTuple):
    """An entity above another one; ``fqn`` is None for one that is gone and whose name nobody kept."""

    id: str
    entity_type: str
    fqn: str | None


def ancestry(connection: Connection, entries: Collection[Entry]) -> dict[Entry, list[str]]:
    """Return the FQNs of the ancestors of each of these entities, the nearest first."""
    lines = {entry: list(ancestors(entry)) for entry in entries}
    referring: dict[str, list[str]] = defaultdict(list)
    for entity_type, fqn in entries:
        if entity_type in BY_REFERENCE:
            referring[entity_type].append(fqn)
    for entity_type, fqns in referring.items():
        above, kind = entity.alias("above"), BY_REFERENCE[entity_type][1]
        query = select(entity.c.fqn, above.c.fqn).join(above, above.c.id == entity.c.parent_id)
        parents = rows_by_key(connection, query.where(entity.c.entity_type == entity_type), entity.c.fqn, fqns)
        lines |= {(entity_type, fqn): [parent, *ancestors((kind, parent))] for fqn, parent in parents}
    return lines


def ancestor_entities(connection: Connection, entries: Mapping[str, Entry]) -> dict[str, list[Ancestor]]:
    """Return the ancestors of each of these entities, given by id, the nearest first."""
    lines = ancestry(connection, entries.values())
    types = {one for entity_type, _ in entries.values() for one in types_above(entity_type)}
    entities_by_fqn: dict[str, list[Ancestor]] = defaultdict(list)
    query = select(entity.c.fqn, entity.c.id, entity.c.entity_type).where(
        entity.c.entity_type.in_(types), PRESENT_OR_DELETED
    )
    for row in rows_by_key(connection, query, entity.c.fqn, {above for line in lines.values() for above in line}):
        entities_by_fqn[row.fqn].append(Ancestor(row.id, row.entity_type, row.fqn))
    return {
        entity_id: [
            ancestor
            for fqn in lines[entry]
            for ancestor in entities_by_fqn[fqn]
            if ancestor.entity_type in types_above(entry[0])
        ]
        for entity_id, entry in entries.items()
    }
