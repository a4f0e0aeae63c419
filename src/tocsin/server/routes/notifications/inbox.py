"""Routes of a person's inbox: pages of its tabs, and a live stream (server-sent events).

Only the person or an administrator has access. Next: ``server/routes/notifications/inbox_marks.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple
from uuid import UUID

import orjson
from fastapi import Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from tocsin.access.decide import Permissions
from tocsin.access.person_visibility import Visibility
from tocsin.delivery.lines import UTC
from tocsin.errors import Forbidden, NotFound
from tocsin.flow.eventlog.position import LogPosition
from tocsin.model.causes import MOST_TOKEN
from tocsin.model.entity import Document
from tocsin.model.inbox import Tab, TabCounts
from tocsin.model.inbox_filter import MOST_WORDS, NO_FILTER, EntryFilter
from tocsin.model.people import Actor
from tocsin.server.access.inbox import InboxView
from tocsin.server.alerts.event_shape import counts_json, entry_json
from tocsin.server.alerts.inbox_details import DETAILS, NO_DETAILS, DetailReader, answerable_of, parse_details
from tocsin.server.build import Parts
from tocsin.server.http.errors import parse_as
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.inbox.entry_filters import check_filter
from tocsin.server.inbox.streams import StatesChanged, ending_with_the_store
from tocsin.server.inbox.together import results_apart
from tocsin.server.login.tokens import StreamSession
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, PartsHere, PathId, RequestActor, Timestamp, answer
from tocsin.store.database.cursors import cursor_of, not_a_cursor, text_of
from tocsin.store.outbox.inbox import InboxCursor, InboxEntry, PageOf

_RECONNECT_AFTER_MS = 2000


def own_inbox(user_id: PathId, sender: RequestActor, parts: PartsHere) -> str:
    """Return the owner of the requested inbox, if the sender may read it."""
    owner = str(user_id)
    if sender.id != owner and not sender.is_admin:
        raise Forbidden("Only the owner of the inbox and administrators may see it.")
    if sender.id != owner and parts.people.by_id(owner) is None:
        raise NotFound(f"user {owner} not found")
    return owner


def asked_details(
    fields: Annotated[str | None, Query(max_length=100, description=f"Comma list of {', '.join(DETAILS)}.")] = None,
) -> frozenset[str]:
    """Return which details of entries a request asks for."""
    return parse_details(fields)


def asked_tab(
    tab: Annotated[Tab, Query(description="`all` is what is neither done nor snoozed.")] = Tab.ALL,
    *,
    unread: Annotated[bool, Query(description="The same as `tab=unread`.")] = False,
) -> Tab:
    """Return which tab a request asks for."""
    return Tab.UNREAD if unread else tab


def asked_times(
    start_ts: Annotated[Timestamp | None, Query(alias="startTs", description="Not before, epoch ms.")] = None,
    end_ts: Annotated[Timestamp | None, Query(alias="endTs", description="Not after, epoch ms.")] = None,
) -> Document:
    """Return the filter by times of a request."""
    return {"startTs": start_ts, "endTs": end_ts}


def asked_band(
    cause: Annotated[str | None, Query(max_length=MOST_TOKEN, description="Only what this cause had.")] = None,
    *,
    needs_me: Annotated[
        bool | None, Query(alias="needsMe", description="Only what still needs its person, or what is for information.")
    ] = None,
) -> Document:
    """Return the filter by cause and need of a request."""
    return {"cause": cause, "needsMe": needs_me}


def asked_filter(
    kind: Annotated[str | None, Query(max_length=1_000, description="Comma list of kinds of change.")] = None,
    reason: Annotated[str | None, Query(max_length=200, description="Comma list of kinds of reasons.")] = None,
    *,
    asset: Annotated[UUID | None, Query(description="Only of this asset, its tests and conversations.")] = None,
    alert: Annotated[UUID | None, Query(description="Only what this alert told of.")] = None,
    actor: Annotated[str | None, Query(max_length=256, description="Only what this person or bot did.")] = None,
    times: Annotated[Document, Depends(asked_times)],
    band: Annotated[Document, Depends(asked_band)],
    words: Annotated[
        str | None, Query(alias="q", max_length=MOST_WORDS, description="Words that all stand in the entry.")
    ] = None,
) -> EntryFilter:
    """Return the filter of a request; none of it is a pattern."""
    names = {"kind": kind, "reason": reason, "asset": asset, "alert": alert, "actor": actor, "q": words}
    values = {**names, **times, **band}
    return parse_filter({name: value for name, value in values.items() if value is not None})


def parse_filter(values: Document) -> EntryFilter:
    """Return the filter that these values are; ``InvalidInput`` for values that are none."""
    entry_filter = parse_as(EntryFilter, values)
    check_filter(entry_filter)
    return entry_filter


Owner = Annotated[str, Depends(own_inbox)]
AskedTab = Annotated[Tab, Depends(asked_tab)]
AskedFilter = Annotated[EntryFilter, Depends(asked_filter)]


def asked_kind(tab: AskedTab, entry_filter: AskedFilter) -> PageOf:
    """Return of what a request asks for a page."""
    return PageOf(tab, entry_filter=entry_filter)


AskedKind = Annotated[PageOf, Depends(asked_kind)]
AskedDetails = Annotated[frozenset[str], Depends(asked_details)]
router = DeclaredRoutes(prefix="/users/{user_id}/notifications", tags=["inbox"])


@router.get("", openapi_extra=answers("NotificationPage"))
def list_notifications(
    owner: Owner,
    sender: RequestActor,
    parts: PartsHere,
    detail_names: AskedDetails,
    page_of: AskedKind,
    *,
    limit: Annotated[int, Query(ge=0, le=1000)] = 20,
    after: Annotated[str | None, Query(max_length=100)] = None,
    entry: Annotated[UUID | None, Query(description="Only the notifications that this entry stands for.")] = None,
) -> Response:
    """Return a page of a tab of the inbox, unread first, then newest; ``streamFrom`` continues in the live stream.

    The notifications of a deletion, restore, rename or import, and of what lay below it, are one entry. ``fields`` asks
    for what mails say of failures beside that: how bad they are, since when and how often in a row, their incident,
    what is to be done, and rows that failed a test. Filters are combined: then ``paging.total`` counts what matches,
    and a page may be short although there is one after it.
    """
    now_ms, newest = parts.clock.now_ms(), parts.inbox.reach().newest
    parts.inbox.wake(now_ms, [owner])
    place, view = parse_cursor(after) if after else None, view_of(owner, sender, parts)
    page_kind = replace(page_of, group=parts.inbox.group_of(owner, str(entry), now_ms) if entry else None)
    page = view.page(page_kind, place, limit)
    counts = view.counts()
    paging: Document = {"total": _total(view, page_kind, counts)}
    if page.last and page.has_more:
        paging["after"] = inbox_cursor(page_kind.place_of(page.last))
    entries = shown_entries(page.entries, view, sender, parts, detail_names=detail_names)
    stream_from = _event_id(newest)
    return answer({"data": entries, "paging": paging, "counts": counts_json(counts), "streamFrom": stream_from})


def shown_entries(
    entries: Sequence[InboxEntry],
    view: InboxView,
    sender: Actor,
    parts: Parts,
    *,
    detail_names: frozenset[str] = frozenset(),
) -> list[Document]:
    """Return entries, of which everything may be shown, as lists show them."""
    zone = _zone_of(view.owner, parts) if entries else UTC
    permissions = parts.access.permission_cache.current_policies().of(sender.id)
    return _entries_json(entries, _detail_reader(view, permissions, parts), detail_names, zone)


def _total(view: InboxView, kind: PageOf, counts: TabCounts) -> int:
    if kind.group is None:
        return counts.of(kind.tab) if kind.entry_filter == NO_FILTER else view.matching_count(kind)
    unread_count, all_count = view.counts_of(kind.group)
    return unread_count if kind.tab is Tab.UNREAD else all_count


async def session_of(request: Request, caller: Asked) -> StreamSession:
    """Return the token that a stream is opened with; refuses one stream too many. Streams are counted by themselves."""
    caller.parts.traffic.streams.check_room(caller.actor)
    caller.place.give_back()
    return caller.parts.login.tokens.session(request.state.authorization, caller.actor)


@router.get("/stream", response_class=EventSourceResponse, openapi_extra=answers("Stream", media="text/event-stream"))
async def stream(
    owner: Owner,
    session: Annotated[StreamSession, Depends(session_of)],
    parts: PartsHere,
    detail_names: AskedDetails,
    last_event_id: Annotated[str | None, Header(max_length=80)] = None,
) -> AsyncIterable[ServerSentEvent]:
    """Stream entries as their notifications arrive; ``Last-Event-ID`` resumes after a disconnect.

    Notifications of a deletion, restore, rename or import that arrive together are one event, with the entry as the
    inbox has it then. If more arrive, it comes again: of the same ``group``. ``fields`` as for a page. The event
    ``states`` has the counts after entries were marked or came back, wherever that was done.

    The stream ends with the token that it was opened with. The event ``reset`` says that the store is not the one that
    was seen, but a backup of it, say: the inbox is to be read again.
    """
    yield ServerSentEvent(comment="open", retry=_RECONNECT_AFTER_MS)
    with ending_with_the_store():
        last_seen = _parse_position(last_event_id)
        if last_seen is not None and not await run_in_threadpool(parts.log.holds, last_seen):
            last_seen = (await run_in_threadpool(parts.inbox.reach)).newest
            yield ServerSentEvent(data={"streamFrom": _event_id(last_seen)}, event="reset", id=_event_id(last_seen))
        zone = await run_in_threadpool(_zone_of, owner, parts)
        async for entry in parts.traffic.streams.listen(owner, last_seen.offset if last_seen else None, session):
            if isinstance(entry, StatesChanged):
                counts = await run_in_threadpool(_counts_now, owner, session.actor, parts)
                yield ServerSentEvent(data={"counts": counts}, event="states")
                continue
            sight = _Sight(entry, session.actor, parts, detail_names, zone)
            text = await parts.traffic.together.run(_entries_in_sight, sight)
            if text is not None:
                position = LogPosition(entry.log_offset, entry.event.id)
                yield ServerSentEvent(raw_data=text, event="notification", id=_event_id(position))


def _counts_now(owner: str, sender: Actor, parts: Parts) -> Document:
    return counts_json(view_of(owner, sender, parts).counts())


def _zone_of(owner: str, parts: Parts) -> str:
    return parts.alert_stores.preferences.of(owner).timezone


class _Sight(NamedTuple):
    """An entry that is to be shown on a stream, to whom, and how."""

    entry: InboxEntry
    sender: Actor
    parts: Parts
    detail_names: frozenset[str]
    zone: str


def _entries_in_sight(sights: Sequence[_Sight]) -> list[str | Exception | None]:
    """Return the visible part of each entry as JSON text: permissions may have changed since the notification.

    Those of all readers are looked up together. What cannot be shown ends its own stream only.
    """
    policies = sights[0].parts.access.permission_cache.current_policies()
    permissions_by_reader = policies.of_many({one.sender.id for one in sights})
    return results_apart(lambda sight: _entry_in_sight(sight, permissions_by_reader[sight.sender.id]), sights)


def _entry_in_sight(sight: _Sight, permissions: Permissions) -> str | None:
    entry, parts, detail_names = sight.entry, sight.parts, sight.detail_names
    visibility = Visibility(permissions, parts.access.standing)
    view = InboxView(parts.inbox, entry.recipient_id, parts.clock.now_ms(), visibility)
    visible = view.present_entry_of(entry)
    if visible is None:
        return None
    document = _entries_json([visible], _detail_reader(view, permissions, parts), detail_names, sight.zone)[0]
    return orjson.dumps(document).decode()


def _entries_json(
    entries: Sequence[InboxEntry], reader: DetailReader, detail_names: frozenset[str], zone: str
) -> list[Document]:
    details = reader.of(entries, detail_names) if detail_names else {}
    answerable = answerable_of(entries, reader.visibility, reader.stores.asked_consumers)
    sees = reader.visibility.sees
    if all(entry.naming is not None for entry in entries):
        named_events = [
            entry.naming.without_hidden(sees).event_of(entry.event) for entry in entries if entry.naming is not None
        ]
    else:
        named_events = reader.inbox.named_events([entry.event for entry in entries], sees)
    return [
        entry_json(entry, event, zone=zone, details=details.get(entry.id, NO_DETAILS), answerable=answerable[entry.id])
        for entry, event in zip(entries, named_events, strict=True)
    ]


def _detail_reader(view: InboxView, permissions: Permissions, parts: Parts) -> DetailReader:
    samples, standing = parts.reports.failed_rows, parts.access.standing
    return DetailReader(parts.inbox, parts.alert_stores, samples, standing, permissions, view.visibility)


def view_of(owner: str, sender: Actor, parts: Parts) -> InboxView:
    """Return the inbox of a person as it is visible to a reader now."""
    policies = parts.access.permission_cache.current_policies()
    visibility = Visibility(policies.of(sender.id), parts.access.standing)
    return InboxView(parts.inbox, owner, parts.clock.now_ms(), visibility)


def inbox_cursor(place: InboxCursor) -> str:
    """Return the text of a place in an inbox."""
    return cursor_of(f"{'r' if place.read else 'u'}{place.log_offset}")


def parse_cursor(cursor: str) -> InboxCursor:
    """Return the place that a text names; ``InvalidInput`` if it names none."""
    text = text_of(cursor)
    offset = _parse_offset(text[1:])
    if text[:1] not in ("r", "u") or offset is None:
        raise not_a_cursor(cursor)
    return InboxCursor(read=text[0] == "r", log_offset=offset)


def _parse_offset(text: str) -> int | None:
    """Return a log offset, or None for what is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _event_id(position: LogPosition) -> str:
    return f"{position.offset}:{position.event_id}" if position.event_id else str(position.offset)


def _parse_position(text: str | None) -> LogPosition | None:
    """Return the position that an id of the stream names, or None: a broken ``Last-Event-ID`` starts afresh."""
    before, _, event_id = (text or "").partition(":")
    offset = _parse_offset(before)
    return None if offset is None else LogPosition(offset, event_id or None)
