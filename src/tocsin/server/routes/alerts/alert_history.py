"""Route of an alert's history: its edits and what it matched, newest first.

Next: ``store/catalogue/alerts/history.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from tocsin.flow.eventlog.lake import Window
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.events import visible_parts
from tocsin.server.access.pages import visible_page
from tocsin.server.access.permissions import visible_document
from tocsin.server.alerts.event_shape import CHANGES, TITLE, Worded, event_shape, word_entry
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, NUMBER, TEXT, either, exact_object, nullable
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, PathId, QueryParameters, answer
from tocsin.store.catalogue.alerts.history import Counts, HistoryAsked, HistoryEntry, HistoryKind, HistoryPlace
from tocsin.store.database.cursors import not_a_cursor, place_of, place_text
from tocsin.store.database.page_bytes import BoundedList

ROW = ENTITY_TYPES["eventsubscription"]
_FIRING, _OTHER = "firing", "other"

router = DeclaredRoutes(prefix=f"/{ROW.collection}", tags=["subscriptions"])


class HistoryQuery(QueryParameters):
    """The filters of a history; times as in ``server/alerts/time_arguments.py``."""

    kind: HistoryKind | None = Field(default=None, description="Kind of the entries; default: all.")
    since: str | None = Field(default=None, max_length=40)
    until: str | None = Field(default=None, max_length=40, description="End: `1d`, a date, or epoch milliseconds.")
    limit: int = Field(default=50, ge=1, le=500)
    after: str | None = Field(default=None, max_length=100)

    def selection(self, subscription_id: str, now_ms: int) -> HistoryAsked:
        """Return what that is to the store.

        Raises
        ------
        InvalidInput : a limit of the window is no moment
        """
        kinds = tuple(HistoryKind) if self.kind is None else (self.kind,)
        since = None if self.since is None else moment(self.since, "since", now_ms)
        until = None if self.until is None else moment(self.until, "until", now_ms)
        return HistoryAsked(subscription_id, kinds, Window(since, until))


_ENTRY: Shape[Worded[HistoryEntry]] = {
    "kind": (either(*HistoryKind), lambda worded: worded.entry.kind.value),
    "offset": (COUNT, lambda worded: worded.entry.log_offset),
    **event_shape(
        "eventId", "eventType", "entityType", "entityId", "entityFullyQualifiedName", "userName", "timestamp"
    ),
    "version": (nullable(NUMBER), lambda worded: worded.event.to_wire().get("currentVersion")),
    **TITLE,
    **CHANGES,
    "reason?": (TEXT, lambda worded: worded.event.reason),
}
_COUNTS: Shape[Counts] = {
    "notified": (COUNT, lambda counts: counts.notified_count),
    "notifiedPeople": (COUNT, lambda counts: counts.person_count),
    "notifiedInApp": (COUNT, lambda counts: counts.app_count),
    "suppressed": (nullable(COUNT), lambda counts: counts.suppressed_count),
}
_SCHEMA = exact_object(schema_of(_ENTRY)["properties"], schema_of(_COUNTS)["properties"])


def _entry_json(entry: HistoryEntry, zone: str) -> Document:
    return json_of(_ENTRY, word_entry(entry, zone)) | ({} if entry.counts is None else json_of(_COUNTS, entry.counts))


@router.get("/{subscription_id}/history", openapi_extra=answers("AlertHistoryPage", _SCHEMA))
def read_history(subscription_id: PathId, caller: Asked, query: Annotated[HistoryQuery, Query()]) -> Response:
    """Return an alert's edits, and the events that it matched with their counts, newest first."""
    document = visible_document(ROW, Key.by_id(str(subscription_id)), caller)
    selection = query.selection(document["id"], caller.parts.clock.now_ms())
    start = _place(query.after) if query.after else None

    def read(last: HistoryEntry | None, count: int) -> BoundedList[HistoryEntry]:
        return caller.parts.alert_stores.history.page(selection, limit=count, before=last.place if last else start)

    page = visible_page(read, partial(visible_parts, caller.visibility), query.limit)
    paging = {"after": _cursor(page.last.place)} if page.last and page.has_more else {}
    return answer({"data": [_entry_json(one, caller.zone) for one in page.entries], "paging": paging})


def _cursor(place: HistoryPlace) -> str:
    return place_text(place.log_offset, _FIRING if place.is_firing else _OTHER)


def _place(cursor: str) -> HistoryPlace:
    offset, which = place_of(cursor)
    if which not in (_FIRING, _OTHER):
        raise not_a_cursor(cursor)
    return HistoryPlace(offset, which == _FIRING)
