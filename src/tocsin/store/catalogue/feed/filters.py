"""Filters of ``GET /feed`` as SQL conditions on indexed columns.

Source: upstream's ``FeedRepository.list`` and ``FeedFilter``. Next: ``store/catalogue/feed/threads.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select, true

from tocsin.model.entity_link import join_steps
from tocsin.model.thread import TaskStatus, ThreadPart, ThreadType
from tocsin.store.catalogue.access.visibility import Scopes, in_scopes
from tocsin.store.catalogue.feed.rows import SqlThreads
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.feed_tables import thread, thread_part
from tocsin.store.database.tables import entity, follow, ownership

_THREAD, _PART = thread.c, thread_part.c
Condition = ColumnElement[bool]


class FilterType(StrEnum):
    """Relation of a user to the requested threads."""

    OWNER = "OWNER"
    MENTIONS = "MENTIONS"
    FOLLOWS = "FOLLOWS"
    ASSIGNED_TO = "ASSIGNED_TO"
    ASSIGNED_BY = "ASSIGNED_BY"
    OWNER_OR_FOLLOWS = "OWNER_OR_FOLLOWS"


@dataclass(frozen=True)
class ThreadCursor:
    """A place in the order of threads: when it last changed, and its id."""

    updated_at_ms: int
    thread_id: str


@dataclass(frozen=True)
class FeedQuery:
    """Filters of threads; None is no filter.

    Attributes
    ----------
    about_id, steps : the asset they are about, and the part of it, those below included unless ``is_exact``
    user_id, filter_type : the user they concern, and how
    kind, task_status, resolved : their type and status
    active_at_ms : announcements that are active (or, with ``active`` false, inactive) at this time
    after, before : cursors to continue from
    scopes : which assets the requester may see
    """

    resolved: bool = False
    about_id: str | None = None
    steps: tuple[str, ...] = ()
    is_exact: bool = False
    user_id: str | None = None
    filter_type: FilterType | None = None
    kind: ThreadType | None = None
    task_status: TaskStatus | None = None
    active: bool | None = None
    active_at_ms: int = 0
    after: ThreadCursor | None = None
    before: ThreadCursor | None = None
    scopes: Scopes = field(default_factory=dict)


def conditions_of(connection: Connection, query: FeedQuery) -> list[Condition]:
    """Return the SQL conditions of ``query``, without its cursors."""
    conditions: list[Condition] = [_THREAD.resolved == query.resolved]
    if query.about_id is not None:
        at_place = _THREAD.steps == join_steps(query.steps) if query.is_exact else lies_at(query.steps)
        conditions += [_THREAD.about_id == query.about_id, at_place]
    if query.kind is not None:
        conditions.append(_THREAD.kind == query.kind.value)
    if query.kind is ThreadType.TASK and query.task_status is not None:
        conditions.append(_THREAD.task_status == query.task_status.value)
    if query.kind is ThreadType.ANNOUNCEMENT and query.active is not None:
        stands = and_(_THREAD.start_ms <= query.active_at_ms, _THREAD.end_ms >= query.active_at_ms)
        conditions.append(stands if query.active else ~stands)
    if query.user_id is not None:
        teams = SqlThreads(connection).teams_of(query.user_id)
        conditions.append(_concerns(query, query.user_id, [query.user_id, *sorted(teams)]))
    return conditions


def conditions_to_count(connection: Connection, query: FeedQuery) -> list[Condition]:
    """Return the conditions of the threads that ``query`` asks for, about assets that may be seen, to count them."""
    return conditions_of(connection, query) + lies_in_scopes(query.scopes)


def lies_at(steps: tuple[str, ...]) -> Condition:
    """Return the condition that a thread is about this part of its asset, or about something below it."""
    if not steps:
        return true()
    return or_(_THREAD.steps == join_steps(steps), _THREAD.steps.startswith(join_steps((*steps, "")), autoescape=True))


def lies_in_scopes(scopes: Scopes) -> list[Condition]:
    """Return the condition that a thread is about an asset that may be seen; none where every asset may."""
    return [_THREAD.about_id.in_(select(entity.c.id).where(in_scopes(scopes)))] if scopes else []


def lies_in_domain(domain_id: str) -> Condition:
    """Return the condition that a thread is about an asset in this domain."""
    refers = entity_reference.c
    return _THREAD.about_id.in_(
        select(refers.entity_id).where(refers.target_id == domain_id, refers.field == "domains")
    )


def lies_before(place: ThreadCursor | None, *, backwards: bool) -> list[Condition]:
    """Return the condition that a thread comes after a place, the latest first; ``backwards`` before it."""
    if place is None:
        return []
    moment, same = _THREAD.updated_at_ms, _THREAD.updated_at_ms == place.updated_at_ms
    if backwards:
        return [or_(moment > place.updated_at_ms, and_(same, _THREAD.id > place.thread_id))]
    return [or_(moment < place.updated_at_ms, and_(same, _THREAD.id < place.thread_id))]


def _concerns(query: FeedQuery, user_id: str, principals: Sequence[str]) -> Condition:
    """Return the condition that a thread concerns a user; ``principals`` are the user and their teams."""
    is_assignee, began = _has_part(ThreadPart.ASSIGNEE, principals), _THREAD.created_by_id == user_id
    is_owner = or_(
        _about(ownership.c.entity_id, ownership.c.owner_id, principals), _has_part(ThreadPart.AUTHOR, [user_id])
    )
    is_follower = _about(follow.c.entity_id, follow.c.user_id, [user_id])
    match query.filter_type:
        case FilterType.ASSIGNED_TO:
            return is_assignee
        case FilterType.ASSIGNED_BY:
            return and_(began, _THREAD.kind == ThreadType.TASK.value)
        case FilterType.MENTIONS:
            return _has_part(ThreadPart.MENTION, principals)
        case FilterType.FOLLOWS:
            return is_follower
        case FilterType.OWNER_OR_FOLLOWS:
            return or_(is_owner, is_follower)
        case _:
            return or_(is_assignee, began) if query.kind is ThreadType.TASK else is_owner


def _has_part(part: ThreadPart, principals: Sequence[str]) -> Condition:
    return _THREAD.id.in_(select(_PART.thread_id).where(_PART.principal_id.in_(principals), _PART.part == part.value))


def _about(entity_id: Any, principal: Any, principals: Sequence[str]) -> Condition:  # Any: SQLAlchemy's columns
    assets: Select[Any] = select(entity_id).where(principal.in_(principals))
    return _THREAD.about_id.in_(assets)
