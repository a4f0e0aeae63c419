"""What belongs to a domain, by itself or by what it lies in? As a condition of SQL, that lists are narrowed by.

It walks down from what names the domain, so it costs what lies in the domain, not what there is. Next:
``flow/capture/heritage.py``, which says whose domains count.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exists, or_, select

from tocsin.store import tables
from tocsin.store.catalogue.reference_tables import entity_reference

_ENTITY = tables.entity.c
_NAMED = entity_reference.c
_IN_TEAMS = ("user", "team")
_UNDER_A_TABLE = ("testCase", "testSuite")
_Condition = Any  # Any: SQLAlchemy's condition
NONE = "null"
"""What is asked for instead of a domain to find what belongs to none."""


def belongs(entity_type: str, domain: str) -> _Condition:
    """Return the condition that an entity of this type belongs to a domain, by its id or FQN, or to none at all."""
    starts = select(_NAMED.entity_id.label("id")).where(_NAMED.field == "domains")
    if domain == NONE:
        return _ENTITY.id.not_in(_reached(entity_type, starts))
    named = tables.entity.alias("domain")
    is_it = (named.c.entity_type == "domain") & or_(named.c.id == domain, named.c.fqn == domain)
    return _ENTITY.id.in_(_reached(entity_type, starts.where(_NAMED.target_id.in_(select(named.c.id).where(is_it)))))


def _reached(entity_type: str, starts: Any) -> Any:  # Any: SQLAlchemy's select of one column
    """Return the query for what these lead to: all below them that names no domain itself."""
    reached = starts.cte("in_domain", recursive=True)
    below = tables.entity.alias("below")
    member = tables.membership.c
    if entity_type in _IN_TEAMS:
        step = select(member.member_id).where(member.team_id == reached.c.id, ~_names_one(member.member_id))
    else:
        step = select(below.c.id).where(below.c.parent_id == reached.c.id, ~_names_one(below.c.id))
    whole = reached.union(step)
    if entity_type not in _UNDER_A_TABLE:
        return select(whole.c.id)
    table, test = tables.entity.alias("tested"), tables.entity.alias("test")
    under = (test.c.fqn > table.c.fqn + ".") & (test.c.fqn < table.c.fqn + "/")
    tests = select(test.c.id).where(table.c.id == whole.c.id, table.c.entity_type == "table")
    tests = tests.where(test.c.entity_type == entity_type, under, ~_names_one(test.c.id))
    return select(whole.c.id).union(tests)


def _names_one(entity_id: Any) -> _Condition:  # Any: SQLAlchemy's column
    names = entity_reference.alias("names")
    return exists().where(names.c.entity_id == entity_id, names.c.field == "domains")
