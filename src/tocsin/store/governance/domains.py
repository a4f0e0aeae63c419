"""SQL condition for the entities of a domain, assigned or inherited, as list filter.

Next: ``store/entities/inheritance_filters.py``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exists, or_, select

from tocsin.store import tables
from tocsin.store.entities.inheritance_filters import DOMAINS, reached

_ENTITY = tables.entity.c
_Condition = Any  # Any: SQLAlchemy's condition
NONE = "null"
"""What is asked for instead of a domain to find what belongs to none."""


def belongs(entity_type: str, domain: str) -> _Condition:
    """Return the condition that an entity of this type belongs to a domain, by its id or FQN, or to none at all."""
    if domain == NONE:
        # PostgreSQL asks NOT IN of so many row by row.
        one = reached(entity_type, DOMAINS).subquery()
        return ~exists().where(one.c.id == _ENTITY.id)
    named = tables.entity.alias("domain")
    is_it = (named.c.entity_type == "domain") & or_(named.c.id == domain, named.c.fqn == domain)
    return _ENTITY.id.in_(reached(entity_type, DOMAINS, DOMAINS.target.in_(select(named.c.id).where(is_it))))
