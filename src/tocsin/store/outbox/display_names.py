"""Display names of now, in what people read, of the people, teams and tests that events refer to, and of their authors.

Events hold names for commands only, and days may pass before a message. One statement reads the display names for a
whole claim, or a page of an inbox or a feed, and says which owners are deleted by now. Next:
``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection, select

from tocsin.delivery.dispatch import Dispatch
from tocsin.model.change import ChangeEvent, FieldChange
from tocsin.model.channels import WORDED
from tocsin.model.entity import Document
from tocsin.model.message import CarriedEvent
from tocsin.model.pointers import Json, is_reference, references_in
from tocsin.store.database.dialects import json_text
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity, person

_OWNERS, _DISPLAY_NAME = "owners", "displayName"
_NAMED_TYPES = frozenset({"user", "team", "testCase"})
_CHANGE_LISTS = ("fields_added", "fields_updated", "fields_deleted")


class _Naming(NamedTuple):
    """The display names of people, teams and tests by their ids, where there is one, and the ids of owners deleted."""

    names: Mapping[str, str]
    deleted_ids: AbstractSet[str]

    def event_of(self, event: ChangeEvent) -> ChangeEvent:
        """Return an event with these names; the very same where it refers to none of them."""
        changes = event.change_description
        update: dict[str, object] = {}
        owners = [self._owner(one) for one in _owners_of(event)]
        if author_name := self.names.get(event.user_id or ""):
            update["user_name"] = author_name
        if event.entity and owners != _owners_of(event):
            update["entity"] = event.entity | {_OWNERS: owners}
        if changes is not None:
            lists = {key: tuple(map(self._change, getattr(changes, key))) for key in _CHANGE_LISTS}
            if any(lists[key] != getattr(changes, key) for key in _CHANGE_LISTS):
                update["change_description"] = changes.model_copy(update=lists)
        return event.model_copy(update=update) if update else event

    def _owner(self, owner: Document) -> Document:
        reference: Document = self._value(owner)
        return reference | {"deleted": True} if owner["id"] in self.deleted_ids else reference

    def _change(self, change: FieldChange) -> FieldChange:
        if not any(one["id"] in self.names for one in _references(change)):
            return change
        return change.model_copy(
            update={"old_value": self._value(change.old_value), "new_value": self._value(change.new_value)}
        )

    def _value(self, value: Json) -> Json:
        """Return a JSON value with these names in its references."""
        match value:
            case dict():
                inner = {key: self._value(part) for key, part in value.items()}
                name = self.names.get(value["id"]) if is_reference(value) else None
                return inner | {_DISPLAY_NAME: name} if name else inner
            case list() | tuple():
                return [self._value(part) for part in value]
            case _:
                return value


def with_display_names(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return dispatches with the display names of people, teams and tests in the events of messages for people.

    Owners who are deleted, softly or for good, are marked. An event that several messages carry stays one object.
    """
    carried_events = {
        id(entry.carried): entry.carried
        for dispatch in dispatches
        if dispatch.message.channel in WORDED
        for entry in dispatch.entries
    }
    naming = _read_naming(connection, [carried.event for carried in carried_events.values()])
    named_events = {key: _carry(carried, naming) for key, carried in carried_events.items()}
    return [_with_events(one, named_events) if one.message.channel in WORDED else one for one in dispatches]


def display_names_of_actors(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """Return what people and bots of these names are called by now; of who has no other name, nothing."""
    query = select(person.c.name, person.c.display_name).where(person.c.display_name.is_not(None))
    return {row.name: row.display_name for row in rows_by_key(connection, query, person.c.name, names)}


def events_with_display_names(connection: Connection, events: Sequence[ChangeEvent]) -> list[ChangeEvent]:
    """Return events, in the same order, with the display names of the people, teams and tests that they refer to."""
    naming = _read_naming(connection, events)
    return [naming.event_of(event) for event in events]


def _read_naming(connection: Connection, events: Sequence[ChangeEvent]) -> _Naming:
    """Read what the people, teams and tests are called that these events refer to."""
    owner_ids = {owner["id"] for event in events for owner in _owners_of(event)}
    changed_ids = {one["id"] for event in events for change in _changes_of(event) for one in _references(change)}
    author_ids = {event.user_id for event in events if event.user_id}
    query = select(entity.c.id, entity.c.deleted, json_text(entity.c.document, _DISPLAY_NAME).label("display_name"))
    entity_rows = list(rows_by_key(connection, query, entity.c.id, owner_ids | changed_ids | author_ids))
    names = {row.id: row.display_name for row in entity_rows if row.display_name}
    return _Naming(names, owner_ids - {row.id for row in entity_rows if not row.deleted})


def _carry(carried: CarriedEvent, naming: _Naming) -> CarriedEvent:
    named_event = naming.event_of(carried.event)
    return carried if named_event is carried.event else CarriedEvent.of(named_event)


def _with_events(dispatch: Dispatch, events: Mapping[int, CarriedEvent]) -> Dispatch:
    if all(events[id(entry.carried)] is entry.carried for entry in dispatch.entries):
        return dispatch
    return replace(
        dispatch, entries=tuple(replace(entry, carried=events[id(entry.carried)]) for entry in dispatch.entries)
    )


def _owners_of(event: ChangeEvent) -> list[Document]:
    owners = (event.entity or {}).get(_OWNERS)
    if not isinstance(owners, list):
        return []
    return [one for one in owners if isinstance(one, dict) and isinstance(one.get("id"), str)]


def _changes_of(event: ChangeEvent) -> Iterator[FieldChange]:
    if (described := event.change_description) is not None:
        for key in _CHANGE_LISTS:
            yield from getattr(described, key)


def _references(change: FieldChange) -> Iterator[Document]:
    """Yield the references to people, teams and tests in the values of a change."""
    values = (change.old_value, change.new_value)
    return (one for value in values for one in references_in(value) if one["type"] in _NAMED_TYPES)
