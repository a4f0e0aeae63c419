"""Reconstruction of an entity's document from its change events alone.

The inverse of ``flow/capture/diff.py``: applying a difference to the old state gives the new one. Next:
``store/upkeep/fsck/rebuilding.py``.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from tocsin.flow.capture.diff import ORDER, Order
from tocsin.model import fqn
from tocsin.model.change import (
    CHANGED_SECRETS,
    RENAMED,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
    LoggedEvent,
)
from tocsin.model.entity import Document, version_to_wire
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.labels import LabelNames, rename_labels
from tocsin.model.list_identity import MEMBER_LISTS, MemberList

_STAMPED = ("version", "updatedAt", "updatedBy", "changeDescription")

Value = Any  # Any: a JSON value of whatever field is rebuilt

_NO_FIELDS = (RENAMED, CHANGED_SECRETS)
"""Changes that are none of the document: why the others are there, and what it does not show."""


def apply_change(document: Document, change: ChangeDescription, order: Order | None = None) -> Document:
    """Return the document after a change; the one given is left as it is.

    Raises
    ------
    ValueError : the change is none of this document: it names a member that is not there.
    """
    result = copy.deepcopy(document)
    for field_change in change.fields_deleted:
        _delete(result, field_change)
    for field_change in change.fields_added:
        _add(result, field_change)
    for field_change in change.fields_updated:
        if field_change.name not in _NO_FIELDS:
            _update(result, field_change)
    for path, names in (order or {}).items():
        holder, key, _ = _place(result, path)
        holder[key] = _in_order(holder[key], MEMBER_LISTS[key], names)
    return result


def versions(events: Iterable[LoggedEvent], relabellings: Iterable[tuple[int, LabelNames]] = ()) -> list[Document]:
    """Return every version of one entity, rebuilt from its events in log order, oldest first.

    ``relabellings`` are the new names of its labels, each with the offset of the event that gave them, oldest first.

    Events without a version (a follower, a test result, a run, an edge) and the hard delete
    are skipped. An event with the same versions as another extends that version; one that leads back removes the
    version before it. Raises as ``apply_change``.
    """
    documents_by_version: dict[Decimal, Document] = {}
    document: Document = {}
    waiting = deque(relabellings)
    for logged_event in events:
        event = logged_event.event
        change, before, after = event.change_description, event.previous_version, event.current_version
        if change is None or after is None or before == after:
            continue
        if before is None:
            document = {"deleted": False} if "deleted" in ENTITY_TYPES[event.entity_type].keys else {}
        while waiting and waiting[0][0] <= logged_event.offset:
            document = rename_labels(document, waiting.popleft()[1])
        document = apply_change(document, change, logged_event.derived.get(ORDER))
        if before is not None and before > after:
            documents_by_version.pop(before, None)
            document |= {
                key: documents_by_version[after][key] for key in _STAMPED if key in documents_by_version.get(after, {})
            }
        else:
            document |= _server_written_values(event)
        documents_by_version[after] = document
    return list(documents_by_version.values())


def _server_written_values(event: ChangeEvent) -> Document:
    """Return the keys that the server writes into every version, as the event has them."""
    stamps: Document = {
        "id": event.entity_id,
        "fullyQualifiedName": event.entity_fully_qualified_name,
        "updatedAt": event.timestamp,
        "updatedBy": event.user_name,
    }
    if event.current_version is not None:
        stamps["version"] = version_to_wire(event.current_version)
    if event.event_type is not EventType.ENTITY_CREATED and event.change_description is not None:
        stamps["changeDescription"] = event.change_description.to_wire()
    return stamps


def _delete(document: Document, change: FieldChange) -> None:
    holder, key, rule = _place(document, change.name)
    if rule is None or not _is_members(holder.get(key), change.old_value):
        holder.pop(key, None)
        return
    deleted_identities = {rule.identity(member) for member in change.old_value}
    holder[key] = [member for member in holder[key] if rule.identity(member) not in deleted_identities]


def _add(document: Document, change: FieldChange) -> None:
    holder, key, rule = _place(document, change.name)
    value = copy.deepcopy(change.new_value)
    current = holder.get(key)
    is_list = rule is not None and _is_members(current or [], value)
    holder[key] = [*(current or ()), *value] if is_list else value


def _update(document: Document, change: FieldChange) -> None:
    holder, key, rule = _place(document, change.name)
    value = copy.deepcopy(change.new_value)
    if isinstance(holder, list):
        holder[key] = value
    elif rule is not None and rule.ordered and _is_members(holder.get(key), change.old_value, member_type=str):
        holder[key] = _with_new_order(holder[key], rule, value)
    else:
        holder[key] = value


def _place(document: Document, path: str) -> tuple[Any, Any, MemberList | None]:  # Any: an object and a key, or a list
    """Return what holds the value at ``path``, under which key, and the rule of its members, if it is a list of them.

    For a whole member, the holder is the list, and its number in it the key.
    """
    names = fqn.split(path)
    rules = {} if names[0] == "extension" else MEMBER_LISTS
    holder: Any = document
    at = 0
    while at < len(names) - 1:
        key, at = names[at], at + 1
        rule = rules.get(key)
        if rule is None or not isinstance(holder.get(key, []), list):
            holder = holder.setdefault(key, {})
            continue
        number = _number_of(holder.get(key) or [], rule, names[at], path)
        if at == len(names) - 1:
            return holder[key], number, None
        holder, at = holder[key][number], at + 1
    return holder, names[-1], rules.get(names[-1])


def _number_of(members: list[Document], rule: MemberList, label: str, path: str) -> int:
    for number, member in enumerate(members):
        if rule.label(member) == label:
            return number
    raise ValueError(f"no label {label} for {path}")


def _is_members(current: Value, stated: Value, *, member_type: type = dict) -> bool:
    return (
        isinstance(current, list) and isinstance(stated, list) and all(isinstance(one, member_type) for one in stated)
    )


def _with_new_order(members: list[Document], rule: MemberList, names: list[str]) -> list[Document]:
    """Return the members with those that are named in that order, in the places that they hold together."""
    members_by_label = {rule.label(member): member for member in members}
    reordered = iter([members_by_label[name] for name in names if name in members_by_label])
    moved = set(names)
    return [next(reordered) if rule.label(member) in moved else member for member in members]


def _in_order(members: list[Document], rule: MemberList, names: list[str]) -> list[Document]:
    places = {name: place for place, name in enumerate(names)}
    return sorted(members, key=lambda member: places.get(rule.label(member), len(places)))
