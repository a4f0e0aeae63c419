"""Activity events of OpenMetadata 2: one for each field that a change event changed, or one for what became of a whole.

They are views of the log: nothing of them is stored, and their ids follow from the event's and the place of the field
in it. *Source:* OpenMetadata 2.0, ``entity/activity/activityEvent.json``. Next:
``server/routes/notifications/activity_events.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import uuid5

import orjson

from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink
from tocsin.model.notification import NAMESPACE


class ActivityType(StrEnum):
    """What an activity event says has happened."""

    CREATED = "EntityCreated"
    UPDATED = "EntityUpdated"
    DELETED = "EntityDeleted"
    SOFT_DELETED = "EntitySoftDeleted"
    RESTORED = "EntityRestored"
    DESCRIPTION = "DescriptionUpdated"
    TAGS = "TagsUpdated"
    OWNER = "OwnerUpdated"
    DOMAIN = "DomainUpdated"
    TIER = "TierUpdated"
    CUSTOM_PROPERTY = "CustomPropertyUpdated"
    COLUMN_DESCRIPTION = "ColumnDescriptionUpdated"
    COLUMN_TAGS = "ColumnTagsUpdated"
    TEST_STATUS = "TestCaseStatusChanged"
    PIPELINE_STATUS = "PipelineStatusChanged"


_OF_WHOLES: Mapping[EventType, ActivityType] = MappingProxyType(
    {
        EventType.ENTITY_CREATED: ActivityType.CREATED,
        EventType.ENTITY_SOFT_DELETED: ActivityType.SOFT_DELETED,
        EventType.ENTITY_DELETED: ActivityType.DELETED,
        EventType.ENTITY_RESTORED: ActivityType.RESTORED,
    }
)
_OF_CHANGES = (EventType.ENTITY_UPDATED, EventType.ENTITY_FIELDS_CHANGED, EventType.TEST_CASE_FAILURE)
EVENT_TYPES = tuple(sorted(one.value for one in (*_OF_WHOLES, *_OF_CHANGES)))
"""Types of the change events that activity events are views of; OpenMetadata has no word for the others."""

NO_ENTITIES = frozenset({"thread", "bot", "ingestionPipeline", "eventsubscription"})
"""Types of entity without activity events, as in OpenMetadata."""

_BY_FIELD: Mapping[str, ActivityType] = MappingProxyType(
    {
        "description": ActivityType.DESCRIPTION,
        "tags": ActivityType.TAGS,
        "owners": ActivityType.OWNER,
        "owner": ActivityType.OWNER,
        "domains": ActivityType.DOMAIN,
        "domain": ActivityType.DOMAIN,
        "tier": ActivityType.TIER,
        "extension": ActivityType.CUSTOM_PROPERTY,
        "testCaseResult": ActivityType.TEST_STATUS,
        "pipelineStatus": ActivityType.PIPELINE_STATUS,
    }
)
_OF_COLUMNS = {"description": ActivityType.COLUMN_DESCRIPTION, "tags": ActivityType.COLUMN_TAGS}
_UNTOLD = frozenset({"followers", "votes", "version"})
_LONGEST_LINK, _LONGEST_SUMMARY, _LONGEST_FIELD, _LONGEST_VALUE = 2_048, 500, 256, 1_000
_TIER = "Tier."
_ADDED, _DELETED = "added", "deleted"
Value = Any  # Any: a JSON value of whatever field changed


class ActivityPart(NamedTuple):
    """What an activity event is a view of: one change of an event, at a place in it, or the event as a whole.

    ``addition`` is to a list from which ``change`` removes, where a column is renamed: they are told as one.
    """

    kind: ActivityType
    place: int = 0
    change: FieldChange | None = None
    addition: FieldChange | None = None

    @property
    def new_value(self) -> Value:
        """Return what is there after the change; None where nothing is."""
        change = self.addition or self.change
        return change.new_value if change else None


class ActivitySurroundings(NamedTuple):
    """What an activity event is shown with: whom ids refer to, and the words for it."""

    references: Mapping[str, Document]
    summary: str


def parts_of_activity(event: ChangeEvent, whole_event: ChangeEvent) -> list[ActivityPart]:
    """Return the activity events that a change event is, as far as ``event`` shows it; of some events there are none.

    Their places are those of the changes in the ``whole_event``, so that they stay when rights change.
    """
    if event.entity_type in NO_ENTITIES:
        return []
    activity_type = _OF_WHOLES.get(event.event_type)
    if activity_type is not None:
        return [ActivityPart(activity_type)]
    if event.event_type not in _OF_CHANGES:
        return []
    places = {key: place for place, key in enumerate(_changes_of(whole_event))}
    changes = _changes_of(event)
    additions = {name: changes[_ADDED, name] for name in _lists_with_renames(event) if (_ADDED, name) in changes}
    told_names = {name for name in additions if (_DELETED, name) in changes}
    return [
        ActivityPart(_type_of(change), places[key], change, additions.get(key[1]) if key[0] == _DELETED else None)
        for key, change in changes.items()
        if change.name.partition(".")[0] not in _UNTOLD and not (key[0] == _ADDED and key[1] in told_names)
    ]


def steps_of_part(part: ActivityPart) -> tuple[str, ...]:
    """Return the steps of a link to what an activity event is about; none for the whole entity."""
    return _steps_to(part.change.name) if part.change else ()


def with_part_only(named_event: ChangeEvent, event: ChangeEvent, part: ActivityPart) -> ChangeEvent:
    """Return an event in which people have their display names with no other change than that of a part."""
    if part.change is None:
        return named_event
    shown_changes = [one for one in (part.change, part.addition) if one is not None]
    keys = [key for key, change in _changes_of(event).items() if any(change is one for one in shown_changes)]
    named_changes = [_changes_of(named_event)[key] for key in keys]
    return named_event.model_copy(update={"change_description": ChangeDescription().with_changes(*named_changes)})


def activity_document(event: ChangeEvent, part: ActivityPart, around: ActivitySurroundings) -> Document:
    """Return an activity event; what is not known, or does not fit in, is left out."""
    name = part.change.name if part.change else None
    old, new = (_text(part.change.old_value), _text(part.new_value)) if part.change else (None, None)
    link = str(EntityLink(event.entity_type, event.entity_fully_qualified_name or "", _steps_to(name)))
    document = {
        "id": str(uuid5(NAMESPACE, f"activity|{event.id}|{part.place}")),
        "eventType": part.kind.value,
        "entity": _entity_of(event),
        "about": link if event.entity_fully_qualified_name and len(link) <= _LONGEST_LINK else None,
        "domains": [around.references[one] for one in event.domains or () if one in around.references] or None,
        "actor": around.references.get(event.user_id or ""),
        "timestamp": event.timestamp,
        "summary": around.summary[:_LONGEST_SUMMARY] or None,
        "fieldName": name if name and len(name) <= _LONGEST_FIELD else None,
        "oldValue": old,
        "newValue": new,
    }
    return {key: value for key, value in document.items() if value is not None}


def ids_around(event: ChangeEvent) -> set[str]:
    """Return the ids of what activity events of a change event refer to, besides its entity."""
    return {*(event.domains or ()), *((event.user_id,) if event.user_id else ())}


def _changes_of(event: ChangeEvent) -> dict[tuple[str, str], FieldChange]:
    """Return the changes of an event by whether they add, update or delete, and the path of the field."""
    changes = event.change_description or ChangeDescription()
    lists = {_ADDED: changes.fields_added, "updated": changes.fields_updated, _DELETED: changes.fields_deleted}
    return {(how, change.name): change for how, many in lists.items() for change in many}


def _lists_with_renames(event: ChangeEvent) -> set[str]:
    """Return the paths of the lists in which columns are renamed as requests announced."""
    renamed_fields = [one.field for one in event.announcements or () if one.field and one.renamed_to]
    return {fqn.join(fqn.steps_of(field)[:-1]) for field in renamed_fields}


def _type_of(change: FieldChange) -> ActivityType:
    field, *steps = change.name.split(".")
    if steps and field in ("columns", "dataModel"):
        return _OF_COLUMNS.get(steps[-1], ActivityType.UPDATED)
    if field == "tags" and not steps and _are_tiers(change):
        return ActivityType.TIER
    return _BY_FIELD.get(field, ActivityType.UPDATED) if not steps or field == "extension" else ActivityType.UPDATED


def _are_tiers(change: FieldChange) -> bool:
    labels = [one for value in (change.old_value, change.new_value) if isinstance(value, list) for one in value]
    return bool(labels) and all(str(one.get("tagFQN")).startswith(_TIER) for one in labels if isinstance(one, dict))


def _steps_to(name: str | None) -> tuple[str, ...]:
    """Return the steps of a link to a field: of ``columns.address.children.street.tags`` the column's path, the field.

    A path that links have no form for leads to its first step.
    """
    if name is None:
        return ()
    try:
        field, *steps = fqn.split(name)
    except InvalidInput:
        return (name.partition(".")[0],)
    if field != "columns" or len(steps) < 2:
        return (field,) if not steps or field == "columns" else (field, ".".join(steps))
    *path, last = steps
    members = [path[0], *(path[at + 1] for at in range(1, len(path) - 1, 2) if path[at] == "children")]
    return (field, fqn.join(members) if len(members) > 1 else members[0], last)


def _entity_of(event: ChangeEvent) -> Document:
    entity = event.entity or {}
    reference = {
        "id": event.entity_id,
        "type": event.entity_type,
        "name": entity.get("name"),
        "fullyQualifiedName": event.entity_fully_qualified_name,
        "displayName": entity.get("displayName"),
        "deleted": entity.get("deleted"),
    }
    return {key: value for key, value in reference.items() if value is not None}


def _text(value: Value) -> str | None:
    """Return a value as text, cut where it is too long to be shown; None for none."""
    if value is None:
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
