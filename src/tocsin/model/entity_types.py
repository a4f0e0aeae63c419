"""Table of entity types: one row per type, no code per type.

A row is an ``EntityType``; the rows of each family are in a file of ``model/types``. Next: ``model/change.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import EntityType
from tocsin.model.types import assets, databases, governance, people, services, watching

_FAMILIES = (services, databases, assets, governance, people, watching)

ENTITY_TYPES: dict[str, EntityType] = {
    row.name: row.with_change_requests() for family in _FAMILIES for row in family.ROWS
}
"""Every type by its name."""

BY_COLLECTION: dict[str, EntityType] = {row.collection: row for row in ENTITY_TYPES.values()}
"""Every type by its collection path."""


def types_below(entity_type: str) -> tuple[str, ...]:
    """Return every type that may be a descendant of this type."""
    types: dict[str, None] = {}
    open_types = [entity_type]
    while open_types:
        parent = open_types.pop()
        below = [row.name for row in ENTITY_TYPES.values() if any(parent in place.types for place in row.places)]
        open_types += [name for name in below if name not in types]
        types |= dict.fromkeys(below)
    return tuple(types)
