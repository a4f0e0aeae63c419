"""Visibility conditions (``access/nodes.py``) as SQL: the rows that a person may see.

``access/evaluate.py`` evaluates them for one document, this for all at once, so that filtered lists keep their pages
and totals. Next: ``store/catalogue/entities/listing.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, exists, false, func, literal, not_, or_, select, true

from tocsin.access.nodes import (
    About,
    Certified,
    Condition,
    HasDomain,
    InDomain,
    Inheritable,
    Leaf,
    Owned,
    OwnedBy,
    OwnedWithin,
    Tagged,
    inheritable,
)
from tocsin.access.visibility_parents import gone_kinds
from tocsin.logic import ALWAYS, fold
from tocsin.store.catalogue.relations.inheritance_filters import (
    DOMAINS,
    OWNERS,
    TESTS,
    Naming,
    ids_if_few,
    lies_in,
    names_no_table,
    tested_table,
)
from tocsin.store.database.dialects import json_text
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.logic import SQL
from tocsin.store.database.observation_tables import attachment
from tocsin.store.database.tables import entity, entity_tag, membership, ownership

Sql = ColumnElement[bool]
Scopes = Mapping[str, Condition]
"""Per type, which of its entities a person may see; a type that is not named is seen whole."""

Known = Mapping[Condition, Sequence[str]]
"""Entities with an owner or domain, by condition: the ids of all, where they are few."""

_TABLE = entity.c
_NOTHING: Known = {}
_CERTIFICATION = ("certification", "tagLabel", "tagFQN")


def visible(
    condition: Condition, *, row: Any = _TABLE, ids_by_leaf: Known = _NOTHING, with_tests: bool = True
) -> Sql:  # Any: columns
    """Return "the condition holds for ``row``" of the table ``entity``; the type of the row is checked elsewhere.

    ``row`` is the table's columns, or those of an alias; ``with_tests``: rows may be tests or suites, which belong to
    their tables by name only.
    """

    def leaf_sql(leaf: Leaf) -> Sql:
        if leaf in ids_by_leaf:
            near: Sql = row.id.in_(ids_by_leaf[leaf])
            return near
        return _leaf(leaf, row, with_tests=with_tests)

    return fold(condition, SQL, leaf_sql)


def visible_of(connection: Connection, entity_type: str, condition: Condition) -> Sql:
    """Return the same for a list of entities of a type: little that is owned, or in a domain, is found from there."""
    leaves = set(inheritable(condition))
    searches = ((leaf, ids_if_few(connection, entity_type, *_search_for(leaf))) for leaf in leaves)
    ids_by_leaf: Known = {leaf: ids for leaf, ids in searches if ids is not None}
    return visible(condition, ids_by_leaf=ids_by_leaf, with_tests=entity_type in TESTS)


def _search_for(question: Inheritable) -> tuple[Naming, Sql | None]:
    """Return the projection to search, and the values searched for."""
    match question:
        case InDomain(domains=domains):
            return DOMAINS, DOMAINS.target.in_(sorted(domains))
        case OwnedBy(owners=owners):
            return OWNERS, OWNERS.target.in_(sorted(owners))
        case OwnedWithin(team_id=team_id, teams_only=teams_only):
            within = OWNERS.target.in_(_members_under(team_id))
            return OWNERS, within & (ownership.c.owner_type == "team") if teams_only else within
        case _:
            return (OWNERS if isinstance(question, Owned) else DOMAINS), None


def in_scopes(scopes: Scopes) -> Sql:
    """Return "a person with these scopes may see it" for rows of the table ``entity``, whatever their types."""
    types: dict[Condition, list[str]] = defaultdict(list)
    for entity_type, scope in scopes.items():
        types[scope].append(entity_type)
    of_type = _TABLE.entity_type
    conditions = (
        or_(of_type.not_in(names), visible(condition, with_tests=not set(names).isdisjoint(TESTS)))
        for condition, names in types.items()
    )
    return and_(true(), *conditions)


def _leaf(condition: Leaf, row: Any, *, with_tests: bool) -> Sql:
    match condition:
        case Tagged(tag=tag, carriers=carriers):
            return exists().where(entity_tag.c.entity_id == row.id, entity_tag.c.tag_fqn.in_(sorted({tag, *carriers})))
        case HasDomain() | InDomain():
            return lies_in(row, *_search_for(condition), with_tests=with_tests)
        case Certified(certifications=certifications):
            return func.coalesce(json_text(row.document, *_CERTIFICATION).in_(sorted(certifications)), false())
        case Owned() | OwnedBy() | OwnedWithin():
            return _is_owned(condition, row, with_tests=with_tests)
        case About():
            return _about(condition, row)
        case _:
            return false()  # a question that nobody answered holds for nothing


def _about(question: About, row: Any) -> Sql:
    """Return "all that it is about may be seen": the table of a test or of its suite, what a query is used in.

    None of that is a test: the shorter form is used, for SQLite reads only so deep a statement.
    """
    scopes = dict(question.scopes)
    if question.resource == "query":
        return not_(_is_used_in_hidden(scopes, row))
    table = entity.alias("tested_table")
    is_visible = visible(scopes.get("table", ALWAYS), row=table.c, with_tests=False)
    on_table = exists().where(table.c.id == tested_table(row), is_visible)
    return on_table if question.resource == "testCase" else or_(names_no_table(row), on_table)


def _is_used_in_hidden(scopes: Scopes, row: Any) -> Sql:
    used, uses = entity.alias("used"), entity_reference.alias("uses")
    hidden = (
        and_(used.c.entity_type == entity_type, not_(visible(scope, row=used.c, with_tests=False)))
        for entity_type, scope in scopes.items()
    )
    of_query = and_(uses.c.entity_id == row.id, uses.c.field == "queryUsedIn")
    kinds = [kind for kind, entity_type in gone_kinds("query").items() if entity_type in scopes]
    is_used_in_deleted = exists().where(attachment.c.entity_id == row.id, attachment.c.kind.in_(kinds))
    return or_(exists().where(of_query, used.c.id == uses.c.target_id, or_(*hidden)), is_used_in_deleted)


def _is_owned(condition: Owned | OwnedBy | OwnedWithin, row: Any, *, with_tests: bool) -> Sql:
    """Return a condition on owners; a user is their own owner."""
    owned = lies_in(row, *_search_for(condition), with_tests=with_tests)
    is_user = row.entity_type == "user"
    match condition:
        case OwnedBy(owners=owners):
            return case((is_user, row.id.in_(sorted(owners))), else_=owned)
        case OwnedWithin(team_id=team_id, teams_only=teams_only):
            return case((is_user, false() if teams_only else row.id.in_(_members_under(team_id))), else_=owned)
        case _:
            return or_(is_user, owned)


def _members_under(team_id: str) -> Any:  # Any: SQLAlchemy's select of one column
    """Return a query for the ids of a team and of all teams and people under it."""
    members = select(literal(team_id).label("id")).cte(recursive=True)
    below = select(membership.c.member_id).join(members, membership.c.team_id == members.c.id)
    return select(members.union(below).c.id)
