"""SQL condition for the entities of a domain, assigned or inherited, as list filter.

Next: ``store/catalogue/relations/inheritance_filters.py``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exists

from tocsin.store.catalogue.relations.inheritance_filters import DOMAINS, ids_reached
from tocsin.store.database import tables

_ENTITY = tables.entity.c
_Condition = Any  # Any: SQLAlchemy's condition
NONE = "null"
"""What is asked for instead of a domain to find what belongs to none."""


def belongs(entity_type: str, domain_ids: Any) -> _Condition:  # Any: SQLAlchemy's select of one column
    """Return the condition that an entity of this type belongs to one of these domains."""
    return _ENTITY.id.in_(ids_reached(entity_type, DOMAINS, DOMAINS.target.in_(domain_ids)))


def belongs_to_none(entity_type: str) -> _Condition:
    """Return the condition that an entity of this type belongs to no domain."""
    # PostgreSQL asks NOT IN of so many row by row.
    members = ids_reached(entity_type, DOMAINS).subquery()
    return ~exists().where(members.c.id == _ENTITY.id)
