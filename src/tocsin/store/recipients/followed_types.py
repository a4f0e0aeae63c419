"""Types of what people follow, or mute around assets: what assets belong to is looked up only for such a thing.

Next: ``store/recipients/belonging.py``.
"""

from __future__ import annotations

from sqlalchemy import CTE, Connection, ScalarSelect, Table, case, func, or_, select, union

from tocsin.model.entity_type import OWNING
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.labels import SOURCES
from tocsin.model.notification import ReasonKind
from tocsin.store.database.alert_tables import mute
from tocsin.store.database.follow_tables import team_follow
from tocsin.store.database.tables import entity, follow, past_relation

AROUND = ("domain", "dataProduct")
"""Types of what assets name and are in, with all above it."""

TOLD_AS_ITSELF = "table"
"""The ancestor whose followers are told of what it contains, its tests, as of itself (``subject_assets.py``)."""

_PARENTS = {parent for row in ENTITY_TYPES.values() for place in row.places for parent in place.types}

CONTAINING = frozenset({*_PARENTS, *AROUND} - {TOLD_AS_ITSELF})
"""Types of what assets are below or in."""

GATHERING = frozenset({*CONTAINING, *OWNING, *SOURCES} - {TOLD_AS_ITSELF})
"""Types of what assets belong to."""

SHOWING = "dashboard"
"""The type of what covers what its page shows and uses (``dashboard_parts.py``)."""

_MUTED_AROUND = (
    select(entity.c.entity_type)
    .where(entity.c.entity_type.in_(AROUND), entity.c.id.in_(select(mute.c.about_id)))
    .distinct()
)
"""Types of domains and data products that people mute, which covers what is in them (``mutes.py``)."""

_MOST_ENDED = 1_000
"""Ended relations that are looked at: beyond, a follow is taken to be among them."""


def find_followed_types(connection: Connection, from_offset: int) -> frozenset[str]:
    """Return the types of what people follow, or mute: all types if a follow may have ended at this offset or later.

    It is one statement that takes a look-up per type, however many follows there are; a row has no type. What members
    of teams once followed by default counts as well.
    """
    followed = (select(_types_in(follow).c.entity_type), select(_types_in(team_follow).c.entity_type))
    types = union(*followed, _MUTED_AROUND).subquery()
    type_rows = connection.execute(select(types.c.entity_type, _may_have_ended(from_offset))).all()
    has_ended = any(may_have_ended for _, may_have_ended in type_rows)
    return frozenset(ENTITY_TYPES) if has_ended else frozenset({row.entity_type for row in type_rows} - {None})


def _types_in(table: Table) -> CTE:
    """Return the types in a table of follows, and a row without one at the end."""
    entity_type = table.c.entity_type
    first = select(func.min(entity_type).label("entity_type")).cte(f"types_in_{table.name}", recursive=True)
    following = select(func.min(entity_type)).where(entity_type > first.c.entity_type)
    return first.union_all(select(following.scalar_subquery()).where(first.c.entity_type.is_not(None)))


def _may_have_ended(from_offset: int) -> ScalarSelect[bool]:
    past_relations = select(past_relation.c.relation).where(past_relation.c.until_offset >= from_offset)
    first_ended = past_relations.order_by(past_relation.c.until_offset).limit(_MOST_ENDED).subquery()
    follow_count = func.count(case((first_ended.c.relation == ReasonKind.FOLLOWER.value, 1)))
    return select(or_(follow_count > 0, func.count() == _MOST_ENDED)).select_from(first_ended).scalar_subquery()
