"""What belongs to a domain, by itself or by what it lies in? As a condition of SQL, that lists are narrowed by.

``belongs`` walks down from what names the domain, so it costs what lies in the domain, not what there is; ``lies_in``
walks up from each row, for conditions that are asked of few. Next: ``flow/capture/heritage.py``, which says whose
domains count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, cast, exists, func, or_, select
from sqlalchemy.dialects.postgresql import JSONB

from tocsin.store import tables
from tocsin.store.catalogue.reference_tables import entity_reference

_ENTITY = tables.entity.c
_NAMED = entity_reference.c
_IN_TEAMS = ("user", "team")
_UNDER_A_TABLE = ("testCase", "testSuite")
_LINK, _COLUMN = "<#E::table::", "::columns::"
_FEW = 1_000
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


def few_in(connection: Connection, entity_type: str, domains: Sequence[str] | None) -> list[str] | None:
    """Return the ids of all that lies in these domains (ids), or in any; None where that is much."""
    starts = select(_NAMED.entity_id.label("id")).where(_NAMED.field == "domains")
    if domains is not None:
        starts = starts.where(_NAMED.target_id.in_(domains))
    found = list(connection.execute(_reached(entity_type, starts).limit(_FEW + 1)).scalars())
    return found if len(found) <= _FEW else None


def lies_in(of: Any, domains: Sequence[str] | None, *, is_sqlite: bool) -> ColumnElement[bool]:  # Any: columns
    """Return the condition that the row ``of`` the table ``entity`` lies in one of these domains (ids), or in any.

    What names no domain lies in those of the nearest thing above it that does.
    """
    here = select(of.id.label("id"), _parent_of(of, is_sqlite=is_sqlite).label("parent_id")).correlate(of.id.table)
    up = here.cte("up", recursive=True, nesting=True)
    above = tables.entity.alias("above")
    up = up.union_all(select(above.c.id, above.c.parent_id).where(above.c.id == up.c.parent_id, ~_names_one(up.c.id)))
    found = select(up.c.id).where(_NAMED.entity_id == up.c.id, _NAMED.field == "domains")
    return found.where(_NAMED.target_id.in_(domains)).exists() if domains is not None else found.exists()


def _parent_of(of: Any, *, is_sqlite: bool) -> Any:  # Any: SQLAlchemy's expression
    """Return the id of what a row lies in; tests and their suites lie in their table, which only their names say."""
    table = tables.entity.alias("tested")
    named = _text(of.document, "basicEntityReference", "fullyQualifiedName", is_sqlite=is_sqlite)
    tests = case((of.entity_type == "testCase", _tested(of.document, is_sqlite=is_sqlite)), else_=named)
    tested = select(table.c.id).where(table.c.entity_type == "table", table.c.fqn == tests).correlate(of.id.table)
    return case((of.entity_type.in_(_UNDER_A_TABLE), tested.scalar_subquery()), else_=of.parent_id)


def _tested(document: Any, *, is_sqlite: bool) -> Any:  # Any: as above
    """Return the FQN of the table in a test's ``entityLink``: ``<#E::table::FQN>``, or one of its columns."""
    link = _text(document, "entityLink", is_sqlite=is_sqlite)
    whole = func.substr(link, len(_LINK) + 1, func.length(link) - len(_LINK) - 1)
    column = (func.instr if is_sqlite else func.strpos)(whole, _COLUMN)
    return case((column > 0, func.substr(whole, 1, column - 1)), else_=whole)


def _text(document: Any, *place: str, is_sqlite: bool) -> Any:  # Any: as above
    if is_sqlite:
        return func.json_extract(document, "$." + ".".join(place))
    return func.jsonb_extract_path_text(cast(document, JSONB), *place)


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
