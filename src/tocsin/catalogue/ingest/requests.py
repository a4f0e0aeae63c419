"""Change requests: what a CloudEvent, or a change event of another system, asks of the catalogue.

A CloudEvent carries a change event or an entity as its ``data``; a change event may also come bare. Type and FQN say
which entity it is about: ids and versions of another system mean nothing here and are not read.
Source: CloudEvents 1.0.2; seeds/002 "Change Event Schema". Next: ``catalogue/ingest/apply.py``.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime

import orjson

from tocsin.access.resources import ASSETS
from tocsin.catalogue.ingest.snapshots import as_change, as_document, request_of
from tocsin.clock import FUTURE_MS, LATEST_MS
from tocsin.errors import InvalidInput
from tocsin.flow.capture.write import LONGEST_FQN_BYTES
from tocsin.model.change import ChangeDescription, EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.ingested import event_key
from tocsin.model.list_identity import SERVER_KEPT
from tocsin.model.phrases import hint, with_article

LONGEST_ID = 500
LONGEST_AUTHOR = 256

EVENT_TYPES = (
    EventType.ENTITY_CREATED,
    EventType.ENTITY_UPDATED,
    EventType.ENTITY_SOFT_DELETED,
    EventType.ENTITY_DELETED,
    EventType.ENTITY_RESTORED,
)
"""What another system may report; all other types say what Tocsin itself has found."""

ENTITY_TYPES_TAKEN = frozenset(ASSETS) & ENTITY_TYPES.keys()
"""What another system may report about: assets; people, rights and alerts are set up here."""

_ALL_TYPES = frozenset(one.value for one in EventType)
_WRITING = (EventType.ENTITY_CREATED, EventType.ENTITY_UPDATED)
_SPEC_VERSION = "1.0"


class NotIngested(InvalidInput):
    """An event that is not taken from other systems."""

    code = "NOT_INGESTED"


@dataclass(frozen=True)
class EventArrival:
    """Where and when an event arrived, for what it does not say itself.

    Attributes
    ----------
    source : where it comes from, unless it says so itself
    id : its id, unless it has one; None for a digest of what it says
    """

    now_ms: int
    source: str
    id: str | None = None


@dataclass(frozen=True)
class EventOrigin:
    """Where an event comes from: its ``source``, its ``id`` there, and whether it is a CloudEvent."""

    source: str
    id: str


@dataclass(frozen=True)
class ChangeRequest:
    """What an event of another system asks for.

    Attributes
    ----------
    fqn : None where the entity says it by its name and parent
    entity : the entity as a request to create it has it; None where the event has none
    change : which fields have changed; None where the event does not say so
    at_ms : when it happened there; None if unknown
    author : who did it, as the other system says: a text, and nobody of ours
    place : what comes before the names of the event's fields in messages
    """

    origin: EventOrigin
    event_type: EventType
    entity_type: str
    fqn: str | None = None
    entity: Document | None = None
    change: ChangeDescription | None = None
    at_ms: int | None = None
    author: str | None = None
    place: str = ""


def has_attributes(headers: Container[str], prefix: str) -> bool:
    """Return whether headers hold the attributes of a CloudEvent in binary mode, each name after ``prefix``.

    Raises
    ------
    InvalidInput : they hold some, and not the one by which a CloudEvent is known
    """
    version = f"{prefix}specversion"
    if version not in headers and any(f"{prefix}{name}" in headers for name in ("id", "source", "type")):
        raise InvalidInput("is missing: a header of each CloudEvent in binary mode, 1.0", field=version)
    return version in headers


def origin_of(document: object, arrival: EventArrival) -> EventOrigin:
    """Return where an event comes from.

    Raises
    ------
    InvalidInput : it is no event, or its id or source is none
    """
    if not isinstance(document, dict):
        raise InvalidInput("an event must be a JSON object")
    if "specversion" in document:
        return EventOrigin(_checked_name(document, "source"), _checked_name(document, "id"))
    if "eventType" not in document:
        raise InvalidInput("this is neither a CloudEvent (with specversion) nor a change event (with eventType)")
    place: Document = {"source": arrival.source, "id": arrival.id}
    id_key = next((key for key in ("id", "idempotencyKey") if document.get(key) is not None), None)
    if id_key is not None:
        place["id"] = document[id_key]
    elif arrival.id is None:
        place["id"] = event_key(orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode())
    return EventOrigin(_checked_name(place, "source"), _checked_name(place, "id"))


def parse_request(document: Document, origin: EventOrigin, arrival: EventArrival) -> ChangeRequest:
    """Return what an event asks for.

    Raises
    ------
    InvalidInput : it is malformed, of a type that is not taken, or from the future; ``field`` says where
    """
    if "specversion" not in document:
        return _of_change_event(document, origin, arrival)
    if document["specversion"] != _SPEC_VERSION:
        raise InvalidInput(f"specversion must be {_SPEC_VERSION!r}", field="specversion")
    event_type = _last_part(_checked_name(document, "type"))
    at_ms = _time_of(document.get("time"), arrival)
    data = _content_of(document)
    if "eventType" in data:
        if event_type in _ALL_TYPES and event_type != data["eventType"]:
            raise InvalidInput(f"type says {event_type}, data.eventType something else", field="data.eventType")
        return _of_change_event(data, origin, arrival, "data.", at_ms)
    return _of_entity(document, data, origin, at_ms)


def _of_change_event(
    event: Document, origin: EventOrigin, arrival: EventArrival, place: str = "", at_ms: int | None = None
) -> ChangeRequest:
    event_type = _event_type(event.get("eventType"), f"{place}eventType")
    entity_type = _entity_type(event.get("entityType"), f"{place}entityType")
    timestamp = event.get("timestamp")
    if timestamp is not None:
        at_ms = _checked_time(timestamp, f"{place}timestamp", arrival)
    entity = as_document(event.get("entity"), f"{place}entity")
    fqn = _text_or_none(event, "entityFullyQualifiedName", place)
    if fqn is None and entity is not None:
        fqn = _text_or_none(entity, "fullyQualifiedName", f"{place}entity.")
    change = as_change(event.get("changeDescription"), f"{place}changeDescription")
    if event_type in _WRITING and entity is None and (change is None or event_type is EventType.ENTITY_CREATED):
        raise InvalidInput(f"{event_type} needs the entity", field=f"{place}entity")
    if fqn is None and (entity is None or event_type not in _WRITING):
        raise InvalidInput("it must say which entity it is about", field=f"{place}entityFullyQualifiedName")
    author = _text_or_none(event, "userName", place)
    return ChangeRequest(
        origin,
        event_type,
        entity_type,
        fqn,
        None if entity is None else request_of(ENTITY_TYPES[entity_type], entity),
        change if event_type is EventType.ENTITY_UPDATED else None,
        at_ms,
        None if author is None else _clean(author),
        place,
    )


def _of_entity(event: Document, entity: Document, origin: EventOrigin, at_ms: int | None) -> ChangeRequest:
    """Return what a CloudEvent asks for whose data is an entity, as a request to create it has it, or its FQN alone."""
    event_type = _event_type(_last_part(event["type"]), "type")
    entity_type = _entity_type(event.get("entitytype"), "entitytype")
    if event_type not in _WRITING:
        fqn = _text_or_none(entity, "fullyQualifiedName", "data.")
        if fqn is None or len(entity) > 1:
            raise InvalidInput(f"for {event_type}, data must be the fullyQualifiedName alone", field="data")
        return ChangeRequest(origin, event_type, entity_type, fqn, at_ms=at_ms, place="data.")
    if derived_keys := sorted(SERVER_KEPT & entity.keys()):
        raise InvalidInput(f"only Tocsin writes {derived_keys[0]}; leave it out", field=f"data.{derived_keys[0]}")
    return ChangeRequest(origin, event_type, entity_type, entity=entity, at_ms=at_ms, place="data.")


def _event_type(name: object, place: str) -> EventType:
    if name in EVENT_TYPES:
        return EventType(str(name))
    if isinstance(name, str) and name in _ALL_TYPES:
        raise NotIngested(
            f"events of type {name} are not taken from other systems; those of {', '.join(EVENT_TYPES)} are",
            field=place,
        )
    raise InvalidInput(f"must be one of {', '.join(EVENT_TYPES)}{hint(name, EVENT_TYPES)}", field=place)


def _entity_type(name: object, place: str) -> str:
    if isinstance(name, str) and name in ENTITY_TYPES_TAKEN:
        return name
    if isinstance(name, str) and name in ENTITY_TYPES:
        raise NotIngested(
            f"{with_article(name)} cannot be ingested: people, rights and alerts are set up here", field=place
        )
    raise InvalidInput(f"must be a type of asset, such as table{hint(name, ENTITY_TYPES_TAKEN)}", field=place)


def _content_of(event: Document) -> Document:
    if "data_base64" in event:
        raise InvalidInput("data must be JSON; data_base64 is not taken", field="data_base64")
    content_type = event.get("datacontenttype", "application/json")
    if not isinstance(content_type, str) or not _is_json(content_type):
        raise InvalidInput("must be application/json", field="datacontenttype")
    data = event.get("data")
    if not isinstance(data, dict):
        raise InvalidInput("must be a change event, or an entity with the attribute entitytype", field="data")
    return data


def _is_json(content_type: str) -> bool:
    media = content_type.partition(";")[0].strip().lower()
    return media == "application/json" or media.endswith("+json")


def _time_of(text: object, arrival: EventArrival) -> int | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text if isinstance(text, str) else "")
        at_ms = int(moment.timestamp() * 1000) if moment.tzinfo else None
    except (ValueError, OverflowError):
        at_ms = None
    if at_ms is None:
        raise InvalidInput("must have the form 2026-01-31T12:00:00Z", field="time")
    return _checked_time(at_ms, "time", arrival)


def _checked_time(at_ms: object, place: str, arrival: EventArrival) -> int:
    if not isinstance(at_ms, int) or isinstance(at_ms, bool) or not 0 <= at_ms <= LATEST_MS:
        raise InvalidInput("must be epoch milliseconds", field=place)
    if at_ms > arrival.now_ms + FUTURE_MS:
        raise InvalidInput("is more than 5 min in the future: check the clock of the source", field=place)
    return at_ms


def _checked_name(document: Document, key: str) -> str:
    name = document.get(key)
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_ID or not _is_storable(name):
        raise InvalidInput(f"must be a text of 1 to {LONGEST_ID} characters", field=key)
    return name


def _text_or_none(document: Document, key: str, place: str) -> str | None:
    text = document.get(key)
    if text is not None and (not isinstance(text, str) or not 0 < len(text) <= LONGEST_FQN_BYTES):
        raise InvalidInput(f"must be a text of 1 to {LONGEST_FQN_BYTES} characters", field=f"{place}{key}")
    return text


def _clean(author: str) -> str:
    return "".join(one if one.isprintable() else " " for one in author)[:LONGEST_AUTHOR]


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _is_storable(text: str) -> bool:
    """Return whether a text is one in UTF-8, without the character that PostgreSQL cannot hold."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
