"""Display names of now, in what people read, of the people, teams and tests that events refer to, and of their authors.

Events hold names for commands only, and days may pass before a message. One statement reads the display names for a
whole claim, or a page of an inbox or a feed, and says which owners are deleted by now. Next:
``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection, select

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.naming import TASK, DisplayNaming, changes_of, owners_of, references_of
from tocsin.model.change import ChangeEvent
from tocsin.model.channels import WORDED
from tocsin.model.message import CarriedEvent
from tocsin.model.pointers import references_in
from tocsin.model.thread import THREAD
from tocsin.store.database.dialects import json_text
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity, person


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
    naming = _read_naming(connection, [carried.remember(_people_in) for carried in carried_events.values()])
    named_events = {key: _carry(carried, naming) for key, carried in carried_events.items()}
    return [_with_events(one, named_events) if one.message.channel in WORDED else one for one in dispatches]


class DisplayedActor(NamedTuple):
    """What a person or bot is called by now, and their id."""

    user_id: str
    display_name: str


def display_names_of_actors(connection: Connection, names: Collection[str]) -> dict[str, DisplayedActor]:
    """Return what people and bots of these names are called by now; of who has no other name, nothing."""
    columns = (person.c.name, person.c.user_id, person.c.display_name)
    query = select(*columns).where(person.c.display_name.is_not(None))
    named_rows = rows_by_key(connection, query, person.c.name, names)
    return {row.name: DisplayedActor(row.user_id, row.display_name) for row in named_rows}


def read_naming(connection: Connection, events: Sequence[ChangeEvent]) -> DisplayNaming:
    """Read what the people, teams and tests are called that these events refer to."""
    return _read_naming(connection, list(map(_people_in, events)))


class _NamedInEvent(NamedTuple):
    """The ids of the owners whom an event names, and of them and all others."""

    owner_ids: frozenset[str]
    ids: frozenset[str]


def _people_in(event: ChangeEvent) -> _NamedInEvent:
    """Return the people, teams and tests that an event refers to."""
    owner_ids = frozenset(owner["id"] for owner in owners_of(event))
    changed_ids = {one["id"] for change in changes_of(event) for one in references_of(change)}
    task = (event.entity or {}).get(TASK) if event.entity_type == THREAD else None
    asked_ids = {one["id"] for one in references_in(task)}
    return _NamedInEvent(owner_ids, owner_ids | changed_ids | asked_ids | ({event.user_id} if event.user_id else set()))


def _read_naming(connection: Connection, people: Sequence[_NamedInEvent]) -> DisplayNaming:
    """Read what the people, teams and tests are called that some events refer to."""
    owner_ids = frozenset[str]().union(*(one.owner_ids for one in people))
    columns = (entity.c.id, entity.c.entity_type, entity.c.deleted)
    query = select(*columns, json_text(entity.c.document, "displayName").label("display_name"))
    entity_rows = list(
        rows_by_key(connection, query, entity.c.id, frozenset[str]().union(*(one.ids for one in people)))
    )
    names = {row.id: row.display_name for row in entity_rows if row.display_name}
    deleted_ids = owner_ids - {row.id for row in entity_rows if not row.deleted}
    return DisplayNaming(names, deleted_ids, {row.id: row.entity_type for row in entity_rows if row.id in names})


def _carry(carried: CarriedEvent, naming: DisplayNaming) -> CarriedEvent:
    people = carried.remember(_people_in)
    names = {one: naming.names[one] for one in people.ids & naming.names.keys()}
    deleted_ids = people.owner_ids & naming.deleted_ids
    if not (names or deleted_ids):
        return carried
    key = (DisplayNaming, *sorted(names.items()), *sorted(deleted_ids))
    if key not in carried.texts:
        named_event = naming.event_of(carried.event)
        carried.texts[key] = carried if named_event is carried.event else CarriedEvent.of(named_event)
    named_carried: CarriedEvent = carried.texts[key]
    return named_carried


def _with_events(dispatch: Dispatch, events: Mapping[int, CarriedEvent]) -> Dispatch:
    if all(events[id(entry.carried)] is entry.carried for entry in dispatch.entries):
        return dispatch
    return replace(
        dispatch, entries=tuple(replace(entry, carried=events[id(entry.carried)]) for entry in dispatch.entries)
    )
