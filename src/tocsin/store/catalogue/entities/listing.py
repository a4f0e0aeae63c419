"""Pages of one type's entities: filters, FQN order, and cursors that need no URL escaping.

A cursor is the FQN before or after it, so a page costs the same at any position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, func, select

from tocsin.access.nodes import Condition
from tocsin.errors import TooLarge
from tocsin.logic import ALWAYS
from tocsin.store.catalogue.access.visibility import visible_of
from tocsin.store.catalogue.entities.counts import Totals
from tocsin.store.catalogue.entities.filters import FilterQuestion, filters_of, has_tags
from tocsin.store.catalogue.entities.write import lies_under
from tocsin.store.catalogue.relations import projections
from tocsin.store.database import tables
from tocsin.store.database.cursors import DocumentPage, cursor_of, text_of
from tocsin.store.database.documents import from_text
from tocsin.store.database.page_bytes import bounded_list, cut_page

_ENTITY = tables.entity.c


@dataclass(frozen=True)
class Listing:
    """Filters and paging of a list; None is no filter.

    Attributes
    ----------
    include : whether live entities, soft-deleted ones or both are wanted
    under : FQN of an ancestor: a service, a database, a schema
    tags : FQNs of tags, any of which the entity or one of its members carries
    owner : id or name of a user or team that owns it
    name_prefix : prefix of its name
    filters : further parameters with their values, as ``store/catalogue/entities/filters.py`` defines them
    after, before : cursors of an earlier page
    limit : entities on a page; 0 for the count alone
    offset : entities to skip, for clients that count instead of returning a cursor
    has_cursors : whether the client continues with a cursor, so that a page may be shorter than ``limit``
    visible : which entities of the type the requester may see
    scopes : the same for every type that they do not see whole: filters find nothing by the name of what is hidden
    """

    include: Literal["non-deleted", "deleted", "all"] = "non-deleted"
    under: str | None = None
    tags: tuple[str, ...] = ()
    owner: str | None = None
    name_prefix: str | None = None
    filters: tuple[tuple[str, str], ...] = ()
    after: str | None = None
    before: str | None = None
    limit: int = 10
    offset: int = 0
    has_cursors: bool = True
    visible: Condition = ALWAYS
    scopes: tuple[tuple[str, Condition], ...] = ()


def page_of(
    connection: Connection, entity_type: str, listing: Listing, *, totals: Totals, most_bytes: int | None = None
) -> DocumentPage:
    """Return the page of entities of this type that ``listing`` asks for, shorter where it would be too large.

    Raises
    ------
    TooLarge : the page begins at an offset, so that a shorter one would be taken for whole
    """
    conditions = [
        *_conditions(entity_type, listing),
        visible_of(connection, entity_type, listing.visible),
    ]
    count_query = select(func.count()).select_from(tables.entity).where(*conditions)
    question = (entity_type, replace(listing, after=None, before=None, limit=0, offset=0))
    total = totals.of(question, lambda: int(connection.execute(count_query).scalar_one()))
    if listing.limit <= 0:
        return DocumentPage([], total)
    query = select(_ENTITY.fqn, _ENTITY.document).where(*conditions)
    if listing.before is not None:
        query = query.where(_ENTITY.fqn < text_of(listing.before, "before"))
    elif listing.after is not None:
        query = query.where(_ENTITY.fqn > text_of(listing.after))
    order = _ENTITY.fqn if listing.before is None else _ENTITY.fqn.desc()
    page_query = query.order_by(order).limit(listing.limit + 1).offset(listing.offset)
    page = bounded_list(connection, page_query, lambda row: row, most_bytes)
    if page.is_cut and not listing.has_cursors:
        raise TooLarge(f"this page would exceed {most_bytes} bytes; use a smaller limit")
    entities, has_next, has_previous = cut_page(page, listing.limit, after=listing.after, before=listing.before)
    documents = [from_text(row.document) for row in entities]
    projections.add_memberships(connection, entity_type, documents)
    return DocumentPage(
        documents,
        total,
        after=cursor_of(entities[-1].fqn) if has_next else None,
        before=cursor_of(entities[0].fqn) if has_previous else None,
    )


def _conditions(entity_type: str, listing: Listing) -> list[Any]:  # Any: SQLAlchemy's conditions
    conditions: list[Any] = [_ENTITY.entity_type == entity_type]
    if listing.include != "all":
        conditions.append(_ENTITY.deleted == (listing.include == "deleted"))
    if listing.under:
        conditions.append(lies_under(listing.under))
    if listing.name_prefix:
        conditions.append(_ENTITY.name.startswith(listing.name_prefix, autoescape=True))
    filters, parameters, scopes = filters_of(entity_type), dict(listing.filters), dict(listing.scopes)
    if listing.tags:
        conditions.append(has_tags(listing.tags, scopes))

    def question(value: str) -> FilterQuestion:
        return FilterQuestion(value, entity_type, parameters, scopes)

    if listing.owner:
        owners = question(listing.owner).ids_named("user", "team", by="name")
        conditions.append(
            _ENTITY.id.in_(select(tables.ownership.c.entity_id).where(tables.ownership.c.owner_id.in_(owners)))
        )
    return conditions + [filters[name](question(value)) for name, value in listing.filters if name in filters]
