"""Readers of a message among those whom its event names: "you" for the owner, new owner or assignee who reads it.

Next: ``delivery/wording/incidents.py``.
"""

from __future__ import annotations

from tocsin.delivery.lines import YOU
from tocsin.delivery.wording.facts import Value
from tocsin.delivery.wording.incidents import ids_in_assignment, with_assignee
from tocsin.model.change import OF_CHANGE_REQUESTS, ChangeDescription, ChangeEvent, FieldChange
from tocsin.model.entity import Document

_PEOPLE = frozenset({"owners", "reviewers", "experts"})
"""Fields whose values are lists of people and teams."""


def ids_of_readers(event: ChangeEvent) -> frozenset[str]:
    """Return the ids of all whom a message about the event calls "you" if they read it."""
    described = event.change_description
    named_people = [*_objects_in((event.entity or {}).get("owners")), *_people_in(described)]
    author_ids = [event.user_id] if event.event_type in OF_CHANGE_REQUESTS else []
    named_ids = [*author_ids, *ids_in_assignment(described), *(one.get("id") for one in named_people)]
    return frozenset(one for one in named_ids if isinstance(one, str))


def _people_in(described: ChangeDescription | None) -> list[Document]:
    """Return the people and teams that changes of these say."""
    changes = [one for one in _all_changes(described) if one.name in _PEOPLE]
    return [one for change in changes for value in (change.old_value, change.new_value) for one in _objects_in(value)]


def with_reader(described: ChangeDescription | None, reader_id: str | None) -> ChangeDescription | None:
    """Return changes with the reader as "you": to whom an incident is assigned, or who is among the owners changed."""
    described = with_assignee(described, reader_id)
    if described is None or reader_id is None or not any(_names(one, reader_id) for one in _all_changes(described)):
        return described
    return described.model_copy(
        update={
            "fields_added": tuple(_to_reader(one, reader_id) for one in described.fields_added),
            "fields_updated": tuple(_to_reader(one, reader_id) for one in described.fields_updated),
            "fields_deleted": tuple(_to_reader(one, reader_id) for one in described.fields_deleted),
        }
    )


def _all_changes(described: ChangeDescription | None) -> tuple[FieldChange, ...]:
    """Return all changes."""
    return (*described.fields_added, *described.fields_updated, *described.fields_deleted) if described else ()


def _names(change: FieldChange, reader_id: str) -> bool:
    """Return whether a change of people names this one."""
    values = (change.old_value, change.new_value)
    return change.name in _PEOPLE and any(one.get("id") == reader_id for value in values for one in _objects_in(value))


def _to_reader(change: FieldChange, reader_id: str) -> FieldChange:
    if not _names(change, reader_id):
        return change
    old_value, new_value = (
        [_member_for(one, reader_id) for one in value] if isinstance(value, list | tuple) else value
        for value in (change.old_value, change.new_value)
    )
    return change.model_copy(update={"old_value": old_value, "new_value": new_value})


def _member_for(member: Value, reader_id: str) -> Value:
    """Return a member of a list, the reader as ``Jonas Lindqvist (you)``."""
    if not isinstance(member, dict) or member.get("id") != reader_id:
        return member
    return member | {"displayName": f"{member.get('displayName') or member.get('name')} ({YOU})"}


def _objects_in(value: Value) -> list[Document]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list | tuple) else []
