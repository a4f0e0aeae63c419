"""Which rows may somebody see? A condition on documents (``access/logic.py``) as a condition of SQL.

What ``access/evaluate.py`` asks of one document, this asks of all at once, so that a filtered list keeps its pages
and totals. Next: ``store/catalogue/listing.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, false, func, literal, not_, or_, select, true
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB

from tocsin.access.logic import (
    And,
    Certified,
    Condition,
    Constant,
    HasDomain,
    InDomain,
    Not,
    Or,
    Owned,
    OwnedBy,
    OwnedWithin,
    Tagged,
    domains_asked,
)
from tocsin.store.catalogue.domains import few_in, lies_in
from tocsin.store.engine import is_sqlite as on_sqlite
from tocsin.store.tables import entity, entity_tag, membership, ownership

Sql = ColumnElement[bool]
Scopes = Mapping[str, Condition]
"""Per type, which of its entities somebody may see; a type that is not named is seen whole."""

Known = Mapping[Condition, Sequence[str]]
"""What lies in some domains, by what is asked of it: the ids of all, where they are few."""

_TABLE = entity.c
_NOTHING: Known = {}
_CERTIFICATION = ("certification", "tagLabel", "tagFQN")


def visible(condition: Condition, *, is_sqlite: bool, of: Any = _TABLE, known: Known = _NOTHING) -> Sql:  # Any: columns
    """Return "the condition holds for the row ``of`` the table ``entity``"; the type of the row is asked elsewhere.

    ``of`` is the table's columns, or those of an alias.
    """
    if known and condition in known:
        near: Sql = of.id.in_(known[condition])
        return near
    match condition:
        case Constant(holds=holds):
            return true() if holds else false()
        case Not(operand=operand):
            return not_(visible(operand, is_sqlite=is_sqlite, of=of, known=known))
        case And(operands=operands):
            return and_(*(visible(one, is_sqlite=is_sqlite, of=of, known=known) for one in operands))
        case Or(operands=operands):
            return or_(*(visible(one, is_sqlite=is_sqlite, of=of, known=known) for one in operands))
        case _:
            return _leaf(condition, of, is_sqlite)


def visible_of(connection: Connection, entity_type: str, condition: Condition) -> Sql:
    """Return the same for a list of entities of a type: what lies in a small domain is found from there."""
    found = ((asked, few_in(connection, entity_type, _ids(asked))) for asked in set(domains_asked(condition)))
    known: Known = {asked: ids for asked, ids in found if ids is not None}
    return visible(condition, is_sqlite=on_sqlite(connection), known=known)


def _ids(asked: InDomain | HasDomain) -> list[str] | None:
    return sorted(asked.domains) if isinstance(asked, InDomain) else None


def in_scopes(scopes: Scopes, *, is_sqlite: bool) -> Sql:
    """Return "whoever has these scopes may see it" for rows of the table ``entity``, whatever their types."""
    types: dict[Condition, list[str]] = defaultdict(list)
    for entity_type, scope in scopes.items():
        types[scope].append(entity_type)
    of_type = _TABLE.entity_type
    asked = (or_(of_type.not_in(names), visible(one, is_sqlite=is_sqlite)) for one, names in types.items())
    return and_(true(), *asked)


def _leaf(condition: Condition, of: Any, is_sqlite: bool) -> Sql:
    match condition:
        case Tagged(tag=tag):
            return exists().where(entity_tag.c.entity_id == of.id, entity_tag.c.tag_fqn == tag)
        case HasDomain():
            return lies_in(of, None, is_sqlite=is_sqlite)
        case InDomain(domains=domains):
            return lies_in(of, sorted(domains), is_sqlite=is_sqlite)
        case Certified(certifications=certifications):
            return func.coalesce(_certification(of, is_sqlite).in_(sorted(certifications)), false())
        case _:
            return _owned(condition, of)


def _owned(condition: Condition, of: Any) -> Sql:
    """Return a condition on owners; a user is their own owner."""
    is_user = of.entity_type == "user"
    match condition:
        case Owned():
            return or_(is_user, exists().where(ownership.c.entity_id == of.id))
        case OwnedBy(owners=owners):
            ids = sorted(owners)
            owned = exists().where(ownership.c.entity_id == of.id, ownership.c.owner_id.in_(ids))
            return or_(and_(is_user, of.id.in_(ids)), and_(not_(is_user), owned))
        case OwnedWithin(team_id=team_id, teams_only=teams_only):
            under = _under(team_id)
            owned = exists().where(ownership.c.entity_id == of.id, ownership.c.owner_id.in_(under))
            if teams_only:
                return exists().where(
                    ownership.c.entity_id == of.id, ownership.c.owner_type == "team", ownership.c.owner_id.in_(under)
                )
            return or_(and_(is_user, of.id.in_(under)), and_(not_(is_user), owned))
        case _:
            return false()  # a question that nobody answered holds for nothing


def _under(team_id: str) -> Any:  # Any: SQLAlchemy's select of one column
    """Return a query for the ids of a team and of all teams and people under it."""
    found = select(literal(team_id).label("id")).cte("under", recursive=True)
    below = select(membership.c.member_id).join(found, membership.c.team_id == found.c.id)
    return select(found.union(below).c.id)


def _certification(of: Any, is_sqlite: bool) -> Any:  # Any: SQLAlchemy's expression
    if is_sqlite:
        return func.json_extract(of.document, "$." + ".".join(_CERTIFICATION))
    return func.jsonb_extract_path_text(sql_cast(of.document, JSONB), *_CERTIFICATION)
