"""SQL conditions for own or inherited owners and domains.

``reached`` walks down from the named entity, so its cost is that of the descendants, not of the catalogue; ``lies_in``
walks up from each row, for few rows. Next: ``model/inheritance.py``, which defines inheritance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, case, exists, func, select, true

from tocsin.store.database import tables
from tocsin.store.database.dialects import json_text, per_store
from tocsin.store.database.entity_tables import entity_reference

_IN_TEAMS = ("user", "team")
TESTS = ("testCase", "testSuite")
_LINK, _COLUMN = "<#E::table::", "::columns::"
_FEW = 1_000
_Condition = Any  # Any: SQLAlchemy's condition


@dataclass(frozen=True)
class Naming:
    """Projection of an inheritable key: a row of ``table`` for each named entity."""

    table: Table
    target: Any  # Any: SQLAlchemy's column
    field: str | None = None

    def rows(self, row: Any) -> _Condition:  # Any: columns
        """Return the condition that a row of the table, or of its alias, is about this key."""
        return row.field == self.field if self.field else true()


OWNERS = Naming(tables.ownership, tables.ownership.c.owner_id)
DOMAINS = Naming(entity_reference, entity_reference.c.target_id, "domains")


def ids_if_few(connection: Connection, entity_type: str, naming: Naming, which: _Condition = None) -> list[str] | None:
    """Return the ids of all that names one of these, or any, itself or by inheritance; None if they are many.

    None as well of people and teams, whose containers are not in the catalogue's projections.
    """
    if entity_type in _IN_TEAMS:
        return None
    query = ids_reached(entity_type, naming, which).limit(_FEW + 1)
    ids = list(connection.execute(query).scalars())
    return ids if len(ids) <= _FEW else None


def lies_in(
    row: Any,  # Any: columns
    naming: Naming,
    which: _Condition = None,
    *,
    with_tests: bool = True,
) -> ColumnElement[bool]:
    """Return the condition that ``row`` of the table ``entity`` has one of these owners or domains, or any.

    What names none has those of the nearest thing above it that does. ``which`` is a condition on the naming's table.
    ``with_tests``: the row may be a test or a suite.
    """
    parent = _parent_of(row) if with_tests else row.parent_id
    start = select(row.id.label("id"), parent.label("parent_id")).correlate(row.id.table)
    up = start.cte("up", recursive=True, nesting=True)
    above = tables.entity.alias("above")
    is_next = (above.c.id == up.c.parent_id) & ~_names_one(up.c.id, naming)
    up = up.union_all(select(above.c.id, above.c.parent_id).where(is_next))
    nearest = select(up.c.id).where(naming.table.c.entity_id == up.c.id, naming.rows(naming.table.c))
    return nearest.where(which).exists() if which is not None else nearest.exists()


def ids_reached(entity_type: str, naming: Naming, which: _Condition = None) -> Any:  # Any: SQLAlchemy's select
    """Return the query for the ids of what names one of these, or any, and of all below that names none itself."""
    starts = select(naming.table.c.entity_id.label("id")).where(naming.rows(naming.table.c))
    reached = (starts if which is None else starts.where(which)).cte("reached", recursive=True)
    if entity_type in _IN_TEAMS:
        member = tables.membership.c
        step = select(member.member_id).where(member.team_id == reached.c.id, ~_names_one(member.member_id, naming))
    else:
        step = _step(reached, naming)
    closure = reached.union(step)
    if entity_type not in TESTS:
        return select(closure.c.id)
    return select(closure.c.id).union_all(_tests_under((entity_type,), closure, naming))


def below(naming: Naming, starts: Any, *, with_tests: bool) -> Any:  # Any: SQLAlchemy's select of one column
    """Return the query for the ids that ``starts`` finds, and for those of all below them that names none itself."""
    reached = select(starts.subquery().c[0].label("id")).cte("below", recursive=True, nesting=True)
    closure = reached.union(_step(reached, naming))
    query = select(closure.c.id)
    return query.union_all(_tests_under(TESTS, closure, naming)) if with_tests else query


def _step(reached: Any, naming: Naming) -> Any:  # Any: SQLAlchemy's CTE, and its select
    """Return the query for the children of what was reached that name none themselves."""
    inside = tables.entity.alias("inside")
    return select(inside.c.id).where(inside.c.parent_id == reached.c.id, ~_names_one(inside.c.id, naming))


def tested_table(row: Any) -> Any:  # Any: SQLAlchemy's expression
    """Return the id of the table that a test, or a table's suite, is about: only their names say which."""
    table = tables.entity.alias("tested")
    suites = _suite_of(row)
    tests = case((row.entity_type == "testCase", _tested_fqn(row.document)), else_=suites)
    tested = select(table.c.id).where(table.c.entity_type == "table", table.c.fqn == tests).correlate(row.id.table)
    return tested.scalar_subquery()


def names_no_table(row: Any) -> _Condition:
    """Return the condition that a suite is not a table's own, but one that people put together."""
    return _suite_of(row).is_(None)


def _suite_of(row: Any) -> Any:  # Any: SQLAlchemy's expression
    """Return the FQN of the table whose own suite this is."""
    return json_text(row.document, "basicEntityReference", "fullyQualifiedName")


def _parent_of(row: Any) -> Any:  # Any: SQLAlchemy's expression
    """Return the id of a row's parent; that of tests and their suites is their table."""
    return case((row.entity_type.in_(TESTS), tested_table(row)), else_=row.parent_id)


def _tested_fqn(document: Any) -> Any:  # Any: as above
    """Return the FQN of the table in a test's ``entityLink``: ``<#E::table::FQN>``, or one of its columns."""
    link = json_text(document, "entityLink")
    target = func.substr(link, len(_LINK) + 1, func.length(link) - len(_LINK) - 1)
    column = per_store(sqlite=func.instr(target, _COLUMN), postgresql=func.strpos(target, _COLUMN))
    return case((column > 0, func.substr(target, 1, column - 1)), else_=target)


def _tests_under(entity_types: Sequence[str], closure: Any, naming: Naming) -> Any:  # Any: as above
    """Return the query for the tests, or suites, of the tables of ``closure`` that name none themselves.

    ``closure`` walks through parents, which tests have none of, so it holds none of these already.
    """
    table, test = tables.entity.alias("tested"), tables.entity.alias("test")
    under = (test.c.fqn > table.c.fqn + ".") & (test.c.fqn < table.c.fqn + "/")
    tests = select(test.c.id).where(table.c.id == closure.c.id, table.c.entity_type == "table")
    return tests.where(test.c.entity_type.in_(entity_types), under, ~_names_one(test.c.id, naming))


def _names_one(entity_id: Any, naming: Naming) -> _Condition:  # Any: SQLAlchemy's column
    names = naming.table.alias("names")
    return exists().where(names.c.entity_id == entity_id, naming.rows(names.c))
