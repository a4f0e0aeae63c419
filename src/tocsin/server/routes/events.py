"""Routes of the log of change events, read with filters or from an offset. Next: ``store/eventlog/log.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import Field
from pydantic.alias_generators import to_camel

from tocsin.access.resources import RESOURCES
from tocsin.clock import LATEST_MS
from tocsin.conditions.breaking import MAY_BREAK, reasons_of_event
from tocsin.conditions.changes import CATEGORIES
from tocsin.conditions.event_aliases import NAMES, NamedTypes, named_types_of
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import EVENT_FORMATS, as_default, as_tocsin, as_upstream
from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.eventlog.selection import EventSelection, types_from
from tocsin.model.change import FOR_ALERTS, ChangeEvent, EventType, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import hint, suggestion_for
from tocsin.model.stated_reason import LONGEST_REASON
from tocsin.model.thread import THREAD, THREAD_KEYS
from tocsin.server.access.events import shown_event, visible_parts
from tocsin.server.access.pages import visible_page
from tocsin.server.entities.event_csv import events_csv
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.rdf.answers import MOST_NODES, VARY, graph_answer, json_answer, next_page
from tocsin.server.rdf.events import event_node
from tocsin.server.rdf.formats import Format, accepted_format
from tocsin.server.rdf.nodes import Node
from tocsin.server.rdf.vocabulary import event_context
from tocsin.server.request import Asked, Caller, PathId, QueryParameters
from tocsin.store.database.page_bytes import BoundedList

_LINKED = frozenset(Format)
_EVERY = "*"
Kinds = dict[EventType, frozenset[str] | None]
EventFormat = Literal[
    "openmetadata", "default", "seed", "tocsin", "cloudEvents", "json", "csv", "jsonld", "turtle", "ntriples"
]
_FORMAT_HELP = (
    "Form of events in JSON, `csv`, or a format of linked data; by default `openmetadata`, or what `Accept` says."
)
_AskedFormat = Annotated[EventFormat | None, Query(alias="format", description=_FORMAT_HELP)]
_LONGEST_WORDS = 300
LOG_OFFSET = "X-Tocsin-Log-Offset"
"""The header of a list of events as linked data or CSV: the offset to read on from, which JSON has in ``paging``."""

UPSTREAM_FILTERS: dict[str, tuple[EventType, ...]] = {
    "entity_created": (EventType.ENTITY_CREATED,),
    "entity_updated": (EventType.ENTITY_UPDATED, EventType.ENTITY_FIELDS_CHANGED),
    "entity_restored": (EventType.ENTITY_RESTORED,),
    "entity_deleted": (EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED),
}
"""Upstream's filters and the event types each asks for; its value names the entity types, or ``*``."""


_ENTITY_TYPES = frozenset({*ENTITY_TYPES, *RESOURCES, THREAD})
"""What events are about, here or upstream: its clients ask for types that there are only there."""
_WHOLE = frozenset(
    {EventType.ENTITY_CREATED, EventType.ENTITY_RESTORED, EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED}
)
"""Event types about an entity as a whole."""
_ALIASES = {"owner": "owners", "domain": "domains"}
_FIELDS = frozenset(
    chain(*(row.keys | row.separate_keys for row in ENTITY_TYPES.values()), _ALIASES, *CATEGORIES.values(), THREAD_KEYS)
)
"""First part of every path that a change may name."""
_Csv = Annotated[str | None, Field(max_length=2000)]

router = DeclaredRoutes(prefix="/events", tags=["events"])


class EventQuery(QueryParameters):
    """What may be asked of the log. ``timestamp`` is the first moment, ``endTs`` the last, epoch milliseconds."""

    entity_created: _Csv = Field(default=None, description="Comma list of types; of these, what was created.")
    entity_updated: _Csv = Field(default=None, description="Comma list of types; of these, what was updated.")
    entity_restored: _Csv = Field(default=None, description="Comma list of types; of these, what was restored.")
    entity_deleted: _Csv = Field(default=None, description="Comma list of types; of these, what was deleted.")
    timestamp: int | None = Field(default=None, ge=0, le=LATEST_MS, description="A time, epoch milliseconds.")
    end_ts: int | None = Field(default=None, ge=0, le=LATEST_MS, description="The last time, epoch milliseconds.")
    event_type: _Csv = None
    event_types: _Csv = Field(
        default=None,
        description="Comma list of types of events; `*`: all, with `scheduledCheck` and `incidentReminder`.",
    )
    entity_type: _Csv = Field(default=None, description="Comma list of types of entities.")
    entity_types: _Csv = Field(default=None, description="Comma list of types of entities.")
    include_fields: _Csv = Field(default=None, description="Comma list of fields: only events that change one of them.")
    entity_id: UUID | None = Field(default=None, description="Id of an entity.")
    breaking: bool | None = Field(default=None, description="Only events that break who reads the asset; or no such.")
    reason: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_REASON,
        description="A part of why the change was made, as its author says; case does not count.",
    )
    user_name: str | None = Field(default=None, max_length=300, description="Name of the person who made the changes.")
    user_names: _Csv = Field(default=None, description="Comma list of names of people, any of whom made the changes.")
    words: str | None = Field(
        default=None,
        max_length=_LONGEST_WORDS,
        description="Words that all stand in an event's title, full name, author or reason; case does not count.",
    )
    after: int | None = Field(default=None, ge=0, le=2**62)
    offset: Annotated[int, Field(ge=0, le=2**62)] | Literal["latest"] | None = Field(
        default=None, description="The offset to read on from, or `latest`."
    )
    limit: int = Field(default=1000, ge=0, le=10_000)
    format: EventFormat | None = Field(default=None, description=_FORMAT_HELP)

    def selection(self) -> EventSelection:
        """Return the selection for the store."""
        return EventSelection(
            kinds=self._kinds(),
            leaves_out=() if self._texts_of("event_type") else FOR_ALERTS,
            since_ms=self.timestamp,
            until_ms=self.end_ts,
            entity_id=None if self.entity_id is None else str(self.entity_id),
            user_name=self.user_name,
            user_names=None if self.user_names is None else frozenset(_names(self.user_names)),
            reason=self.reason,
        )

    def start(self) -> int:
        """Return the log offset to read on from."""
        return self.after if self.after is not None else self.offset if isinstance(self.offset, int) else 0

    def fields(self) -> frozenset[str] | None:
        """Return the fields of which a change must name one; None: any.

        Raises
        ------
        InvalidInput : no entity type has one of them
        """
        if self.include_fields is None:
            return None
        paths = _names(self.include_fields)
        for path in paths:
            if (first := path.partition(".")[0]) not in _FIELDS:
                raise InvalidInput(f"unknown field {first!r}{hint(first, sorted(_FIELDS))}", field="includeFields")
        return frozenset(_ALIASES.get(path, path) for path in paths)

    def named_types(self) -> list[NamedTypes]:
        """Return the types of events that each parameter names.

        Raises
        ------
        InvalidInput : there is no such type
        """
        return [parse_event_types(text, name) for name, text in self._texts_of("event_type").items()]

    def _kinds(self) -> Kinds | None:
        kinds = self._upstream_kinds()
        events, entities = self._texts_of("event_type"), self._texts_of("entity_type")
        if kinds is None and not events and not entities and not self.breaking:
            return None
        kinds = dict.fromkeys(EventType) if kinds is None else kinds
        for name, text in events.items():
            named_kinds = parse_event_types(text, name).types
            kinds = {kind: types for kind, types in kinds.items() if kind in named_kinds}
        for name, text in entities.items():
            also = _types(text, name)
            kinds = {kind: _types_in_both(types, also) for kind, types in kinds.items()}
        if self.breaking:
            kinds = {kind: _types_in_both(types, MAY_BREAK[kind]) for kind, types in kinds.items() if kind in MAY_BREAK}
        return kinds

    def _texts_of(self, name: str) -> dict[str, str]:
        """Return the values given to a parameter and to its plural, by their names on the wire."""
        values = {to_camel(one): getattr(self, one) for one in (name, f"{name}s")}
        return {one: text for one, text in values.items() if text is not None}

    def _upstream_kinds(self) -> Kinds | None:
        texts = {name: text for name in UPSTREAM_FILTERS if (text := getattr(self, name)) is not None}
        if not texts:
            return None
        types_by_name = {name: _types(text, to_camel(name)) for name, text in texts.items()}
        return {kind: types for name, types in types_by_name.items() for kind in UPSTREAM_FILTERS[name]}


@router.get("", openapi_extra=answers("EventPage", is_linked=True, or_csv=True, refuses="409", never="403"))
def list_events(caller: Asked, query: Annotated[EventQuery, Query()], request: Request) -> Response:
    """Return change events, oldest first; continue from ``paging.offset``; 409 beyond the end of the log."""
    end = caller.parts.log.readable_end()
    if query.offset == "latest" and query.after is None:
        return _page_answer([], {"offset": end}, caller, query, request)
    start = query.start()
    if start > end and start > caller.parts.log.highest_offset():  # it would be silent until the log is as long again
        raise Conflict(
            f"The log ends at offset {end}, before {start}: the store was restored or replaced. Continue from"
            " there (offset=latest), or from the beginning."
        )
    if query.limit == 0:
        return _page_answer([], {"offset": start}, caller, query, request)
    selection, fields, named_types = query.selection(), query.fields(), query.named_types()
    words = (query.words or "").casefold().split()

    def read(last: LoggedEvent | None, count: int) -> BoundedList[LoggedEvent]:
        return caller.parts.log.list_events(selection, limit=count, after=last.offset if last else start, through=end)

    def is_asked(entry: LoggedEvent) -> bool:
        is_like_it = query.breaking is None or bool(reasons_of_event(entry.event)) == query.breaking
        is_like_it = is_like_it and selection.gives_reason(entry.event) and _has_words(entry.event, words)
        return is_like_it and _changes(entry.event, fields) and all(types.admit(entry) for types in named_types)

    def show(entries: Sequence[LoggedEvent]) -> list[LoggedEvent | None]:
        visible = visible_parts(caller.visibility, entries)
        return [one if one is not None and is_asked(one) else None for one in visible]

    limit = query.limit if _linked_format(query.format, request) is None else min(query.limit, MOST_NODES)
    page = visible_page(read, show, limit)
    last_offset = page.last.offset if page.last else start
    paging: Document = {"offset": last_offset if page.has_more else max(end, last_offset)}
    if page.has_more:
        paging["after"] = str(paging["offset"])
    return _page_answer(page.entries, paging, caller, query, request)


@router.get("/{event_id}", openapi_extra=answers("Event", is_linked=True, or_csv=True))
def read_event(event_id: PathId, caller: Asked, request: Request, *, asked_format: _AskedFormat = None) -> Response:
    """Return one change event."""
    logged = shown_event(str(event_id), caller)
    linked_format = _linked_format(asked_format, request)
    if linked_format is not None:
        return graph_answer(event_context(), [_event_node(logged)], linked_format)
    if asked_format == "csv":
        return _csv_answer([logged], caller.zone)
    return json_answer(_renderer_of(asked_format, caller)(logged.event.as_wire(), caller.root))


def parse_event_types(text: str, parameter: str = "eventType") -> NamedTypes:
    """Return the event types that the comma list in ``parameter`` names; ``*`` names all.

    Raises
    ------
    InvalidInput : one of them is none
    """
    names = _names(text)
    if _EVERY in names:
        return NamedTypes(frozenset(EventType))
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise InvalidInput(f"unknown event type {unknown[0]!r}; {suggestion_for(unknown[0], NAMES)}", field=parameter)
    return named_types_of(names)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _has_words(event: ChangeEvent, words: Sequence[str]) -> bool:
    """Return whether each word, in casefold, stands in what a list of events shows of an event."""
    if not words:
        return True
    parts = (event_text(event).headline, event.entity_fully_qualified_name, event.user_name, event.reason)
    text = " ".join(part or "" for part in parts).casefold()
    return all(word in text for word in words)


def _changes(event: ChangeEvent, fields: frozenset[str] | None) -> bool:
    """Return whether an update changed one of these fields, or a part of one; events about a whole entity pass."""
    if fields is None or event.event_type in _WHOLE:
        return True
    changed = event.change_description.paths() if event.change_description else ()
    return any(path == field or path.startswith(f"{field}.") for path in changed for field in fields)


def _types(text: str, parameter: str) -> frozenset[str] | None:
    types = types_from(text)
    for unknown in sorted((types or frozenset()) - _ENTITY_TYPES):
        raise InvalidInput(
            f"unknown type {unknown!r}; {suggestion_for(unknown, sorted(_ENTITY_TYPES))}", field=parameter
        )
    return types


def _types_in_both(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    """Return the entity types in both sets, where None means all."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _page_answer(
    entries: Sequence[LoggedEvent], paging: Document, caller: Caller, query: EventQuery, request: Request
) -> Response:
    linked_format = _linked_format(query.format, request)
    if linked_format is None and query.format != "csv":
        render = _renderer_of(query.format, caller)
        return json_answer({"data": [render(one.event.as_wire(), caller.root) for one in entries], "paging": paging})
    headers = {LOG_OFFSET: str(paging["offset"])}
    if "after" in paging:
        headers |= next_page(request, after=paging["after"])
    if linked_format is None:
        return _csv_answer(entries, caller.zone, headers)
    return graph_answer(event_context(), [_event_node(one) for one in entries], linked_format, headers)


def _csv_answer(entries: Sequence[LoggedEvent], zone: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(events_csv(entries, zone), media_type="text/csv", headers={**VARY, **(headers or {})})


def _linked_format(name: EventFormat | None, request: Request) -> Format | None:
    """Return the format of linked data that a request asks for; None: it asks for JSON."""
    accepted = accepted_format(request)
    asked_format = accepted if name is None else Format(name) if name in _LINKED else Format.JSON
    return None if asked_format is Format.JSON else asked_format


def _event_node(logged: LoggedEvent) -> Node:
    event = logged.event
    return event_node(as_default(event.as_wire()), by_bot=logged.derived.get("isBot") is True, reason=event.reason)


def _renderer_of(shape: EventFormat | None, caller: Caller) -> Callable[[Document, str], Document]:
    """Return what makes an event's JSON in a format; what messages say of it has times in the caller's zone."""
    render = EVENT_FORMATS.get(shape or "", as_upstream)
    return partial(as_tocsin, zone=caller.zone) if render is as_tocsin else render
