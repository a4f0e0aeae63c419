"""Names of people, teams and tests in events, replaced by their display names.

Who shows an event reads them: ``store/outbox/display_names.py`` for messages and inboxes, ``cli/display_names.py`` for
commands. Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple

from tocsin.model.change import ChangeEvent, FieldChange
from tocsin.model.entity import Document
from tocsin.model.pointers import Json, is_reference, references_in
from tocsin.model.thread import THREAD

Sees = Callable[[Iterable[Document]], AbstractSet[str]]
"""Returns the ids of those of some references whose entities a reader may see."""

_OWNERS, _DISPLAY_NAME = "owners", "displayName"
TASK = "task"
"""Key of what a thread asks, and of whom."""

_NAMED_TYPES = frozenset({"user", "team", "testCase"})
_CHANGE_LISTS = ("fields_added", "fields_updated", "fields_deleted")


class DisplayNaming(NamedTuple):
    """The display names of people, teams and tests by their ids, where there is one, and the ids of owners deleted.

    ``types`` are the entity types of what has a name.
    """

    names: Mapping[str, str]
    deleted_ids: AbstractSet[str]
    types: Mapping[str, str] = MappingProxyType({})

    def without_hidden(self, sees: Sees) -> DisplayNaming:
        """Return it without the names of what may not be seen: that keeps the name that the event has."""
        references = [{"type": entity_type, "id": identity} for identity, entity_type in self.types.items()]
        visible_ids = sees(references)
        names = {identity: name for identity, name in self.names.items() if identity in visible_ids}
        return self._replace(names=names)

    def event_of(self, event: ChangeEvent) -> ChangeEvent:
        """Return an event with these names; the very same where it refers to none of them."""
        changes = event.change_description
        update: dict[str, object] = {}
        owners = [self._owner(one) for one in owners_of(event)]
        if author_name := self.names.get(event.user_id or ""):
            update["user_name"] = author_name
        if event.entity and owners != owners_of(event):
            update["entity"] = event.entity | {_OWNERS: owners}
        if event.entity and event.entity_type == THREAD and TASK in event.entity:
            update["entity"] = event.entity | {TASK: self._value(event.entity[TASK])}
        if changes is not None:
            lists = {key: tuple(map(self._change, getattr(changes, key))) for key in _CHANGE_LISTS}
            if any(lists[key] != getattr(changes, key) for key in _CHANGE_LISTS):
                update["change_description"] = changes.model_copy(update=lists)
        return event.model_copy(update=update) if update else event

    def _owner(self, owner: Document) -> Document:
        reference: Document = self._value(owner)
        return reference | {"deleted": True} if owner["id"] in self.deleted_ids else reference

    def _change(self, change: FieldChange) -> FieldChange:
        if not any(one["id"] in self.names for one in references_of(change)):
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


def owners_of(event: ChangeEvent) -> list[Document]:
    """Return the references to the owners of the asset of an event."""
    owners = (event.entity or {}).get(_OWNERS)
    if not isinstance(owners, list):
        return []
    return [one for one in owners if isinstance(one, dict) and isinstance(one.get("id"), str)]


def changes_of(event: ChangeEvent) -> Iterator[FieldChange]:
    """Yield the changes that an event describes."""
    if (described := event.change_description) is not None:
        for key in _CHANGE_LISTS:
            yield from getattr(described, key)


def references_of(change: FieldChange) -> Iterator[Document]:
    """Yield the references to people, teams and tests in the values of a change."""
    values = (change.old_value, change.new_value)
    return (one for value in values for one in references_in(value) if one["type"] in _NAMED_TYPES)
