"""Routes of activity as OpenMetadata 2 has it: an event for each changed field, read from the log, newest first.

A cursor is a place in the log, and one among the fields of its event. Next: ``model/activity_event.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, NamedTuple
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field

from tocsin.delivery.wording.changes import event_text
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.activity_event import (
    EVENT_TYPES,
    ActivityPart,
    ActivitySurroundings,
    activity_document,
    ids_around,
    parts_of_activity,
    steps_of_part,
    with_part_only,
)
from tocsin.model.activity_feed import FeedScope
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.events import visible_parts
from tocsin.server.access.pages import visible_page
from tocsin.server.access.permissions import visible_document
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, PathId, PathText, QueryParameters, answer
from tocsin.server.routes.notifications.activity import MOST_LOOKED_AT
from tocsin.store.database.cursors import not_a_cursor
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.eventlog.activity import FeedPage

MOST_COUNTED = 500
"""Activity events that are counted; more are said to be that many."""

_DAY_MS = 86_400_000
_LAST_PART = 999_999
_CURSOR = re.compile(r"([0-9]{1,18})_([0-9]{1,6})")
_LOOKED_AT_AT_ONCE = 200
Read = Callable[[FeedPage], BoundedList[LoggedEvent]]

router = DeclaredRoutes(prefix="/activity", tags=["inbox"])
EntityTypeName = Annotated[str, Path(max_length=40, description="table, dashboard, …")]


SINCE = Field(
    None, max_length=40, description="Start, instead of `days` and as far back: `24h`, a date, or epoch milliseconds."
)


class ActivityFilters(QueryParameters):
    """Which activity to return."""

    domain: str | None = Field(None, max_length=10_000, description="Full name of a domain of what changed.")
    most_days: ClassVar[int] = 30
    """So far back one may read; more would be the whole log, event by event."""
    days: int = Field(7, ge=1, le=30, description="How far back.")
    since: str | None = SINCE
    limit: int = Field(50, ge=1, le=200)
    after: str | None = Field(None, max_length=40, description="Cursor: `paging.after` of the previous page.")


class LongActivityFilters(ActivityFilters):
    """Which activity of one thing to return."""

    most_days: ClassVar[int] = 90
    days: int = Field(30, ge=1, le=90, description="How far back.")


class EntityActivityFilters(LongActivityFilters):
    """Which activity of an entity to return; with `limit=0` it is only counted."""

    limit: int = Field(50, ge=0, le=200, description="0: only `paging.total`.")


class AllActivityFilters(ActivityFilters):
    """Which activity of everything to return."""

    entity_type: str | None = Field(None, max_length=40, description="Only of entities of this type.")
    entity_id: UUID | None = Field(None, description="Only of this entity.")
    actor_id: UUID | None = Field(None, description="Only by this person or bot.")
    domains: str | None = Field(None, max_length=10_000, description="Ids of domains of what changed, with commas.")


class CountFilters(QueryParameters):
    """What to count."""

    most_days: ClassVar[int] = 30
    domain: str | None = Field(None, max_length=10_000, description="Full name of a domain of what changed.")
    days: int = Field(7, ge=1, le=30, description="How far back.")
    since: str | None = SINCE


class _ActivityPlace(NamedTuple):
    """A place in the log, and among the parts of the event there: those after ``part`` come next."""

    offset: int
    part: int = _LAST_PART

    def __str__(self) -> str:
        return f"{self.offset}_{self.part}"


class _Activity(NamedTuple):
    """An activity event: the event of the log, without what may not be seen of it, and the part that it is."""

    logged: LoggedEvent
    part: ActivityPart


class _ActivityPage(NamedTuple):
    activities: list[_Activity]
    after: _ActivityPlace | None


@dataclass(frozen=True)
class _Selection:
    """What is read since when, and which of it is shown."""

    read: Read
    since_ms: int
    domain_ids: frozenset[str] | None = None
    admits: Callable[[ChangeEvent, ActivityPart], bool] = lambda event, part: True

    def parts_of(self, event: ChangeEvent, whole_event: ChangeEvent) -> list[ActivityPart]:
        """Return the activity events that are wanted of what may be seen of a ``whole_event``."""
        if self.domain_ids is not None and not self.domain_ids.intersection(event.domains or ()):
            return []
        return [part for part in parts_of_activity(event, whole_event) if self.admits(event, part)]


@router.get("", openapi_extra=answers("ActivityEventPage"))
def list_all_activity(caller: Asked, filters: Annotated[AllActivityFilters, Query()]) -> Response:
    """Return what happened in the catalogue, a field each, newest first, as far as the caller may view it."""
    entity_type, entity_id, actor_id = filters.entity_type, _text(filters.entity_id), _text(filters.actor_id)
    selection = _selection(_read_of(entity_type, entity_id, actor_id, caller), filters, caller)
    domain_ids = selection.domain_ids
    if filters.domains is not None:
        named_ids = caller.visibility.sees({"type": "domain", "id": one} for one in filters.domains.split(","))
        domain_ids = frozenset(named_ids if domain_ids is None else named_ids & domain_ids)

    def admits(event: ChangeEvent, _part: ActivityPart) -> bool:
        is_of_entity = entity_id in (None, event.entity_id) and entity_type in (None, event.entity_type)
        return is_of_entity and actor_id in (None, event.user_id)

    return _page_answer(replace(selection, domain_ids=domain_ids, admits=admits), filters, caller)


@router.get("/my-feed", openapi_extra=answers("ActivityEventPage"))
def list_owned_activity(caller: Asked, filters: Annotated[ActivityFilters, Query()]) -> Response:
    """Return what happened to what the caller or their teams own."""
    return _of_person(FeedScope.OWNED, filters, caller)


@router.get("/following", openapi_extra=answers("ActivityEventPage"))
def list_followed_activity(caller: Asked, filters: Annotated[ActivityFilters, Query()]) -> Response:
    """Return what happened to what the caller follows."""
    return _of_person(FeedScope.FOLLOWING, filters, caller)


@router.get("/user/{user_id}", openapi_extra=answers("ActivityEventPage"))
def list_user_activity(user_id: PathId, caller: Asked, filters: Annotated[LongActivityFilters, Query()]) -> Response:
    """Return what a person or a bot did, under the name that they have."""
    user = visible_document(ENTITY_TYPES["user"], Key.by_id(str(user_id)), caller, include="all")
    activity, name = caller.parts.discussion.activity, str(user["name"])
    selection = _selection(lambda page: activity.of_actor(name, page), filters, caller)
    by_user = replace(selection, admits=lambda event, part: event.user_id == str(user_id))
    return _page_answer(by_user, filters, caller)


@router.get("/entity/{entity_type}/{entity_id}", openapi_extra=answers("ActivityEventPage"))
def list_activity_of_entity(
    entity_type: EntityTypeName, entity_id: PathId, caller: Asked, filters: Annotated[EntityActivityFilters, Query()]
) -> Response:
    """Return what happened to an entity itself; what lies below it has its own."""
    return _of_entity(_kind(entity_type), Key.by_id(str(entity_id)), filters, caller)


@router.get("/entity/{entity_type}/name/{fqn}", openapi_extra=answers("ActivityEventPage"))
def list_activity_of_named_entity(
    entity_type: EntityTypeName, fqn: PathText, caller: Asked, filters: Annotated[EntityActivityFilters, Query()]
) -> Response:
    """Return what happened to an entity itself, by its name."""
    return _of_entity(_kind(entity_type), Key.by_name(fqn), filters, caller)


@router.get("/about", openapi_extra=answers("ActivityEventPage"))
def list_activity_about(
    entity_link: Annotated[str, Query(alias="entityLink", max_length=4_000)],
    caller: Asked,
    filters: Annotated[LongActivityFilters, Query()],
) -> Response:
    """Return what happened to an entity, or to the field or column that a link leads to."""
    link = parse_link(entity_link, "entityLink")
    selection = _selection_of_entity(_kind(link.entity_type), Key.by_name(link.fqn), filters, caller)
    about_part = replace(selection, admits=lambda _, part: steps_of_part(part)[: len(link.steps)] == link.steps)
    return _page_answer(about_part, filters, caller)


@router.get("/count", openapi_extra=answers("ActivityCount"))
def count_activity(caller: Asked, filters: Annotated[CountFilters, Query()]) -> Response:
    """Return how many activity events the caller may view, as a bare number; at most 500 are counted."""
    return answer(_count(_selection(caller.parts.discussion.activity.of_all, filters, caller), caller))


def _of_person(scope: FeedScope, filters: ActivityFilters, caller: Caller) -> Response:
    def read(page: FeedPage) -> BoundedList[LoggedEvent]:
        return caller.parts.discussion.activity.of_person(caller.actor.id, page, scope)

    return _page_answer(_selection(read, filters, caller), filters, caller)


def _of_entity(kind: EntityType, key: Key, filters: ActivityFilters, caller: Caller) -> Response:
    selection = _selection_of_entity(kind, key, filters, caller)
    if not filters.limit:
        return answer({"data": [], "paging": {"total": _count(selection, caller)}})
    return _page_answer(selection, filters, caller)


def _kind(entity_type: str) -> EntityType:
    if entity_type not in ENTITY_TYPES:
        raise NotFound(f"there is no entity type {entity_type}")
    return ENTITY_TYPES[entity_type]


def _selection_of_entity(kind: EntityType, key: Key, filters: ActivityFilters, caller: Caller) -> _Selection:
    """Return the events of an entity. Raises ``Forbidden`` or ``NotFound`` as reading it does."""
    entity_id = str(visible_document(kind, key, caller, include="all")["id"])
    return _selection(lambda page: caller.parts.discussion.activity.of_itself(entity_id, page), filters, caller)


def _selection(read: Read, filters: ActivityFilters | CountFilters, caller: Caller) -> _Selection:
    """Return what is read; a domain that is unknown, or may not be seen, has no events."""
    since_ms = _since_ms(filters, caller.parts.clock.now_ms())
    if filters.domain is None:
        return _Selection(read, since_ms)
    domain = caller.parts.catalogue.reference("domain", Key.by_name(filters.domain))
    return _Selection(read, since_ms, frozenset(caller.visibility.sees([domain] if domain else [])))


def _since_ms(filters: ActivityFilters | CountFilters, now_ms: int) -> int:
    if filters.since is None:
        return max(0, now_ms - filters.days * _DAY_MS)
    if "days" in filters.model_fields_set:
        raise InvalidInput("give either since or days", field="since")
    since_ms = moment(filters.since, "since", now_ms)
    if since_ms < now_ms - (filters.most_days + 1) * _DAY_MS:  # a date is some hours earlier in the zone of a reader
        raise InvalidInput(f"must be at most {filters.most_days} days back", field="since")
    return since_ms


def _read_of(entity_type: str | None, entity_id: str | None, actor_id: str | None, caller: Caller) -> Read:
    """Return the narrowest reading of these events; of what a person did whose profile is hidden there is none."""
    activity = caller.parts.discussion.activity
    actor = caller.parts.catalogue.references([actor_id]).get(actor_id) if actor_id is not None else None
    is_actor_seen = actor is not None and actor["type"] == "user" and bool(caller.visibility.sees([actor]))
    if actor_id is not None and not is_actor_seen:
        return lambda page: BoundedList[LoggedEvent]()
    if entity_id is not None:
        return lambda page: activity.of_itself(entity_id, page)
    if actor is not None:
        return lambda page: activity.of_actor(str(actor["name"]), page)
    return lambda page: activity.of_all(page, entity_type)


def _count(selection: _Selection, caller: Caller) -> int:
    return len(_page_of(selection, None, MOST_COUNTED, caller).activities)


def _page_answer(selection: _Selection, filters: ActivityFilters, caller: Caller) -> Response:
    page = _page_of(selection, _place_of(filters.after), filters.limit, caller)
    documents = _documents(page.activities, caller)
    paging: Document = {"total": len(documents)} | ({"after": str(page.after)} if page.after else {})
    return answer({"data": documents, "paging": paging})


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _place_of(cursor: str | None) -> _ActivityPlace | None:
    if not cursor:
        return None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise not_a_cursor(cursor)
    return _ActivityPlace(int(match[1]), int(match[2]))


def _page_of(selection: _Selection, place: _ActivityPlace | None, limit: int, caller: Caller) -> _ActivityPage:
    """Return the next activity events from a place on, at most ``limit``, as far as the caller may view them."""
    first = FeedPage(below=place.offset + 1 if place else None, since_ms=selection.since_ms, event_types=EVENT_TYPES)
    parts_by_offset: dict[int, list[ActivityPart]] = {}

    def read(last: LoggedEvent | None, count: int) -> BoundedList[LoggedEvent]:
        return selection.read(replace(first, limit=count, below=last.offset if last else first.below))

    def show(entries: Sequence[LoggedEvent]) -> list[LoggedEvent | None]:
        shown_entries: list[LoggedEvent | None] = []
        for logged, visible_entry in zip(entries, visible_parts(caller.visibility, entries), strict=True):
            parts = [] if visible_entry is None else selection.parts_of(visible_entry.event, logged.event)
            shown_part = place.part if place is not None and logged.offset == place.offset else -1
            parts_by_offset[logged.offset] = [part for part in parts if part.place > shown_part]
            shown_entries.append(visible_entry if parts_by_offset[logged.offset] else None)
        return shown_entries

    at_once = 0 if caller.visibility.is_whole else _LOOKED_AT_AT_ONCE
    page = visible_page(read, show, limit, at_once=at_once, limit_read=MOST_LOOKED_AT)
    activities = [_Activity(entry, part) for entry in page.entries for part in parts_by_offset[entry.offset]]
    if len(activities) > limit or (len(activities) == limit and page.has_more):
        last = activities[limit - 1]
        return _ActivityPage(activities[:limit], _ActivityPlace(last.logged.offset, last.part.place))
    return _ActivityPage(activities, _ActivityPlace(page.last.offset) if page.has_more and page.last else None)


def _documents(activities: Sequence[_Activity], caller: Caller) -> list[Document]:
    """Return activity events as documents, without people and domains that may not be seen."""
    events = {one.logged.offset: one.logged.event for one in activities}
    named_events = caller.parts.inbox.named_events(list(events.values()), caller.visibility.sees)
    named_by_offset = dict(zip(events, named_events, strict=True))
    references = caller.parts.catalogue.references({one for event in events.values() for one in ids_around(event)})
    zone, documents = caller.zone, []
    for logged, part in activities:
        named_event = with_part_only(named_by_offset[logged.offset], logged.event, part)
        summary = event_text(named_event, zone=zone, reader_id=caller.actor.id).headline
        documents.append(activity_document(logged.event, part, ActivitySurroundings(references, summary)))
    return caller.visibility.visible_documents(documents)
