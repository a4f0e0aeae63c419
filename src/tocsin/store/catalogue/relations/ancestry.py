"""Ancestors of entities: from the FQN; for an entity without a parent, those of the entities it refers to.

Next: ``store/catalogue/relations/inheritance.py``, ``store/recipients/relations_over_time.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from sqlalchemy import Connection, select

from tocsin.model.inheritance import BY_REFERENCE, Entry, ancestors
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity


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
