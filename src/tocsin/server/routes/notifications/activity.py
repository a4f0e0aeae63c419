"""Routes of activity feeds: recent events around a person, a team, an asset or a domain, newest first.

Next: ``store/eventlog/activity.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from fastapi import Query, Response
from pydantic import Field

from tocsin.clock import to_datetime
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import as_default, own_facts
from tocsin.delivery.wording.meanings import semantic_changes
from tocsin.errors import Forbidden
from tocsin.model.activity_feed import FeedScope
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stored import Key
from tocsin.server.access.events import visible_parts
from tocsin.server.access.pages import Read, visible_page
from tocsin.server.access.permissions import visible_document
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, Kind, PathId, QueryParameters, answer
from tocsin.server.routes.events import parse_event_types
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.eventlog.activity import FeedPage

router = DeclaredRoutes(tags=["inbox"])
of_entities = DeclaredRoutes(tags=["inbox"])
"""Included under every collection (``server/app.py``)."""

_LOOKED_AT_AT_ONCE, MOST_LOOKED_AT = 500, 2_000
"""Events that are read together for who may not see all of them, and those that a page looks at: to read some of a
service with 100,000 tables takes seconds, however few these are."""

Events = Callable[[FeedPage], BoundedList[LoggedEvent]]
"""A feed: its events, newest first, of a page."""


class FeedFilters(QueryParameters):
    """Which events of a feed to return."""

    since: str | None = Field(None, max_length=40, description="Start: `24h`, a date, or epoch milliseconds.")
    event_type: str | None = Field(None, max_length=1000, description="Types of events, with commas.")
    after: int | None = Field(None, ge=0, le=2**62, description="Cursor: `paging.after` of the previous page.")
    limit: int = Field(50, ge=1, le=1000)
    group_by: Literal["day"] | None = Field(None, description="`day`: by day in one's own zone, and by asset.")


@router.get("/users/{user_id}/activity", openapi_extra=answers("FeedEntryPage"))
def list_activity(
    user_id: PathId,
    caller: Asked,
    filters: Annotated[FeedFilters, Query()],
    *,
    scope: Annotated[
        FeedScope, Query(alias="of", description="`following`, `owned`, or both and what else they were told.")
    ] = FeedScope.ALL,
) -> Response:
    """Return what happened to what a person follows and owns, and what else they were told, as ``{event, title}``.

    For the person and administrators.
    """
    if caller.actor.id != str(user_id) and not caller.actor.is_admin:
        raise Forbidden("Only the person and administrators may see this activity.")
    return _feed_answer(feed_of_person(str(user_id), scope, caller), filters, caller, str(user_id))


@of_entities.get("/{entity_id}/activity", openapi_extra=answers("FeedEntryPage"))
def list_entity_activity(
    kind: Kind, entity_id: PathId, caller: Asked, filters: Annotated[FeedFilters, Query()]
) -> Response:
    """Return what happened to an entity and what lies below it; of a domain, what is in it; of a team, what it owns."""
    visible_document(kind, Key.by_id(str(entity_id)), caller, include="all")
    return _feed_answer(feed_of_entity(kind, str(entity_id), caller), filters, caller, caller.actor.id)


def feed_of_person(user_id: str, scope: FeedScope, caller: Caller) -> Events:
    """Return the feed of a person."""
    return lambda page: caller.parts.discussion.activity.of_person(user_id, page, scope)


def feed_of_entity(kind: EntityType, entity_id: str, caller: Caller) -> Events:
    """Return the feed of a team, an asset or a domain."""
    activity = caller.parts.discussion.activity
    read = activity.of_team if kind.name == "team" else activity.of_entity
    return lambda page: read(entity_id, page)


def _feed_answer(events: Events, filters: FeedFilters, caller: Caller, reader_id: str) -> Response:
    """Return a page of a feed, in the words for a reader."""
    page = page_of_feed(events, filters, caller)
    paging: Document = {"after": str(page.last.offset)} if page.last and page.has_more else {}
    zone = caller.parts.alert_stores.preferences.of(reader_id).timezone
    named_events = caller.parts.inbox.named_events([entry.event for entry in page.entries], caller.visibility.sees)
    data = [
        {
            "event": as_default(entry.event.as_wire()),
            "title": event_text(event, zone=zone, reader_id=reader_id).headline,
            "semanticChanges": semantic_changes(entry.event),
            **own_facts(entry.event),
        }
        for entry, event in zip(page.entries, named_events, strict=True)
    ]
    if filters.group_by is not None:
        data = _days_of(list(zip((entry.event for entry in page.entries), data, strict=True)), zone, caller)
    return answer({"data": data, "paging": paging})


def _days_of(entries: Sequence[tuple[ChangeEvent, Document]], zone: str, caller: Caller) -> list[Document]:
    """Return the entries of a page by day in a zone, and by the asset that they belong to, the newest first.

    A day that a page ends within goes on with the next page.
    """
    assets = caller.parts.inbox.subject_assets({event.entity_id for event, _ in entries})
    days: dict[str, dict[str, list[Document]]] = {}
    references: dict[str, Document] = {}
    for event, entry in entries:
        day = to_datetime(event.timestamp).astimezone(ZoneInfo(zone)).date().isoformat()
        asset_id = assets.get(event.entity_id, event.entity_id)
        days.setdefault(day, {}).setdefault(asset_id, []).append(entry)
        references.setdefault(asset_id, {"id": asset_id, "type": event.entity_type} if asset_id not in assets else {})
    present_references = caller.parts.catalogue.references(references)
    visible_ids = caller.visibility.sees(present_references.values())
    references |= {key: one for key, one in present_references.items() if key in visible_ids}
    return [
        {
            "day": day,
            "count": sum(len(many) for many in groups.values()),
            "groups": [
                {"entity": references[asset_id] or {"id": asset_id}, "count": len(many), "entries": many}
                for asset_id, many in groups.items()
            ],
        }
        for day, groups in days.items()
    ]


def page_of_feed(events: Events, filters: FeedFilters, caller: Caller) -> Read[LoggedEvent]:
    """Return the events of a page that the caller may see, without what they may not see of each."""
    since_ms = 0 if filters.since is None else moment(filters.since, "since", caller.parts.clock.now_ms())
    named_types = parse_event_types(filters.event_type or "")
    first = FeedPage(below=filters.after, since_ms=since_ms, event_types=named_types.types)

    def read(last: LoggedEvent | None, count: int) -> BoundedList[LoggedEvent]:
        return events(replace(first, limit=count, below=last.offset if last else first.below))

    def show(entries: Sequence[LoggedEvent]) -> list[LoggedEvent | None]:
        visible = visible_parts(caller.visibility, entries)
        return [one if one is not None and named_types.admit(one) else None for one in visible]

    is_all_shown = caller.visibility.is_whole and not named_types.types
    at_once = 0 if is_all_shown else _LOOKED_AT_AT_ONCE
    return visible_page(read, show, filters.limit, at_once=at_once, limit_read=MOST_LOOKED_AT)
