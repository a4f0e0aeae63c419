"""Changes of another system's event, applied to an entity as it is here.

A change whose old value is not what is here is a conflict, unless it has arrived already, or a person wrote what is
here: that stays, as it does when a bot puts an entity. Next: ``flow/capture/rebuild.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.capture.bot_puts import with_curated_paths
from tocsin.flow.capture.curation import changed_paths, values_of, with_kept_values
from tocsin.flow.capture.diff import is_empty
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.rebuild import apply_change
from tocsin.flow.capture.upsert import change as change_entity
from tocsin.flow.capture.write import Record
from tocsin.model import fqn as names
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import BOOKKEEPING, MEMBER_LISTS, REFERENCE_LISTS, REFERENCES, SERVER_KEPT, MemberList
from tocsin.model.member_fqn import WORKED_OUT
from tocsin.model.stored import Stored, Written

_PLACES = frozenset({"name", "deleted", "serviceType"})
"""Keys that say where an entity is; another name or parent is a new entity to who knows it by its FQN."""

_MISSING = object()

Value = Any  # Any: a JSON value of whatever field changes
Places = Iterator[tuple[str, FieldChange]]


def apply_changes(record: Record, old: Stored, description: ChangeDescription, place: str) -> Written:
    """Apply the changes of an event to an entity; ``place`` is where in the event they are.

    Raises
    ------
    Conflict : an old value is not what is here, or a member that changes is not here
    InvalidInput : a change names what only Tocsin writes, or what this type has not
    Forbidden : the actor may not make one of these changes
    """
    kind = ENTITY_TYPES[old.entity_type]
    _check_names(kind, description, place)
    description = _with_our_references(record, description, place)
    old = with_curated_paths(record, old)
    document = _document_after(old.document, _due_changes(old, description, place), place)
    fields = patched_fields(kind, old, document)
    before, after = (values_of(old.entity_type, state) for state in (old.document, fields))
    kept_paths = {
        path for path in changed_paths(before, after) & before.keys() if names.join(path) in (old.curated or ())
    }
    fields = with_kept_values(old.document, fields, kept_paths) if kept_paths else fields
    return change_entity(record, record.resolver(), old, fields)


def without_deleted(description: ChangeDescription | None) -> Callable[[Document, Document], Document] | None:
    """Return what takes out of a PUT's result what an event says was deleted, which a PUT alone never does."""
    if description is None or not description.fields_deleted:
        return None
    deletions = description.fields_deleted

    def revise(old: Document, fields: Document) -> Document:
        still_held = tuple(filter(partial(_is_due_deletion, old), deletions))
        try:
            return apply_change(fields, ChangeDescription(fields_deleted=still_held))
        except (ValueError, AttributeError, TypeError, KeyError):  # the member that lost something is gone itself
            return fields

    return revise


def _is_due_deletion(old: Document, change: FieldChange) -> bool:
    return _is_plain(change) and _state_of(old, change, change.old_value, None) == "due"


def _is_plain(change: FieldChange) -> bool:
    key = names.steps_of(change.name)[0]
    return key not in SERVER_KEPT and key not in _PLACES and key not in REFERENCE_LISTS and key not in REFERENCES


def _check_names(kind: EntityType, description: ChangeDescription, place: str) -> None:
    parents = {one.field for one in kind.places}
    for where, change in _with_places(description, place):
        steps = names.split(change.name)
        if steps[0] in SERVER_KEPT or steps[0] in BOOKKEEPING or steps[-1] in WORKED_OUT:
            raise InvalidInput(f"{change.name} is worked out by Tocsin", field=where)
        if steps[0] in _PLACES or steps[0] in parents or steps[0] in kind.ancestors or steps[0] in kind.fixed:
            raise InvalidInput(f"{change.name} says which entity it is, and is not changed by an event", field=where)
        if steps[0] not in kind.keys:
            raise InvalidInput(f"{kind.name} has no field {steps[0]}", field=where)


def _with_places(description: ChangeDescription, place: str) -> Places:
    lists = (
        ("fieldsAdded", description.fields_added),
        ("fieldsUpdated", description.fields_updated),
        ("fieldsDeleted", description.fields_deleted),
    )
    for key, changes in lists:
        for number, field_change in enumerate(changes):
            yield f"{place}.{key}[{number}].name", field_change


def _with_our_references(record: Record, description: ChangeDescription, place: str) -> ChangeDescription:
    """Return the changes with references to entities of ours; those that a change takes away may be gone."""
    lenient = record.resolver(strict=False)

    def ours(change: FieldChange) -> FieldChange:
        new, old = ({change.name: value} if value else {} for value in (change.new_value, change.old_value))
        if change.name in REFERENCE_LISTS:
            _check_list(change, place)
            new_references, old_references = record.resolver().lists(new, {}), lenient.lists(old, {})
        elif change.name in REFERENCES:
            new_references, old_references = record.resolver().singles(new, {}), lenient.singles(old, {})
        else:
            return change
        values = {"new_value": new_references.get(change.name), "old_value": old_references.get(change.name)}
        return change.model_copy(update=values)

    return _map_lists(description, lambda changes: tuple(map(ours, changes)))


def _check_list(change: FieldChange, place: str) -> None:
    for value in (change.old_value, change.new_value):
        if value is not None and not isinstance(value, list):
            raise InvalidInput(f"{change.name} must be a list of references", field=place)


def _due_changes(old: Stored, description: ChangeDescription, place: str) -> ChangeDescription:
    """Return the changes that have not arrived yet, without those of values that a person wrote.

    Raises
    ------
    Conflict : one does not fit what is here
    """
    due_places: list[str] = []
    for where, change in _with_places(description, place):
        state = _state_of(old.document, change, change.old_value, change.new_value)
        if state == "other" and not _is_persons(old, change):
            raise Conflict(f"{where}: {change.name} does not have the event's oldValue here")
        if state == "missing":
            raise Conflict(f"{where}: there is no {change.name} here")
        if state == "due":
            due_places.append(where)
    places = iter(_with_places(description, place))
    return _map_lists(description, lambda changes: tuple(one for one in changes if next(places)[0] in due_places))


def _map_lists(
    description: ChangeDescription, changed: Callable[[Sequence[FieldChange]], tuple[FieldChange, ...]]
) -> ChangeDescription:
    return ChangeDescription(
        fields_added=changed(description.fields_added),
        fields_updated=changed(description.fields_updated),
        fields_deleted=changed(description.fields_deleted),
    )


def _is_persons(old: Stored, change: FieldChange) -> bool:
    return any(one == change.name or one.startswith(f"{change.name}.") for one in old.curated or ())


def _state_of(document: Document, change: FieldChange, before: Value, after: Value) -> str:
    """Return whether a change is ``due``, ``done`` already, or finds an ``other`` value, or nothing to change."""
    steps = names.steps_of(change.name)
    current_value = _value_at(document, steps)
    if current_value is _MISSING:
        return "missing"
    rule = MEMBER_LISTS.get(steps[-1]) if steps[0] != "extension" else None
    if rule is not None and isinstance(current_value or [], list):
        return _state_of_members(current_value or [], rule, before, after)
    if _is_same(current_value, after):
        return "done"
    return "due" if _is_same(current_value, before) else "other"


def _state_of_members(current: list[Value], rule: MemberList, before: Value, after: Value) -> str:
    """Return the state of a change of a list: members added to it, taken from it, or replaced."""
    sides = [side if isinstance(side, list) else [] for side in (current, before, after)]
    if not all(isinstance(member, dict) for side in sides for member in side):
        return "done" if _is_same(current, after) else "due" if _is_same(current, before) else "other"
    present, old, new = ({rule.identity(member) for member in side} for side in sides)
    removed, added = old - new, new - old
    if not removed & present and added <= present:
        return "done"
    return "due" if removed <= present and not added & present else "other"


def _is_same(left: Value, right: Value) -> bool:
    return (is_empty(left) and is_empty(right)) or bool(left == right)


def _value_at(document: Document, steps: Sequence[str]) -> Value:
    """Return the value at a path, None for none; ``_MISSING`` where a member on the way is not there."""
    holder: Value = document
    at = 0
    while at < len(steps):
        key, at = steps[at], at + 1
        if not isinstance(holder, dict):
            return _MISSING
        value = holder.get(key)
        rule = MEMBER_LISTS.get(key) if steps[0] != "extension" else None
        if rule is None or at == len(steps) or not isinstance(value or [], list):
            holder = {} if value is None and at < len(steps) else value
            continue
        members = [one for one in value or () if isinstance(one, dict) and rule.label(one) == steps[at]]
        if not members:
            return _MISSING
        holder, at = members[0], at + 1
    return holder


def _document_after(document: Document, description: ChangeDescription, place: str) -> Document:
    try:
        return apply_change(document, description)
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise Conflict(f"{place}: the changes do not fit the entity as it is here") from error
