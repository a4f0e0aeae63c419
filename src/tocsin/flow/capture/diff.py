"""Difference between two states of an entity, as field changes named by path.

An absent field, null, "", [] and {} are the same: no value. Lists are compared by identity, as
``model/list_identity.py`` says; members added to (or dropped from) one list make one field change that
holds them all. Source: seeds/002 "Change Comparison". Next: ``flow/capture/version.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson

from tocsin.flow.capture import nested_references
from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document, map_objects
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import (
    BOOKKEEPING,
    MEMBER_LISTS,
    REFERENCE_FIELDS,
    SERVER_KEPT,
    MemberList,
    tag_of,
    target_of,
)

Path = tuple[str, ...]
Value = Any  # Any: a JSON value of whatever field is compared


_DERIVED = "serviceType"
"""Key that everything under a service takes from it: it follows without a change of its own."""

ORDER = "memberOrder"
"""Key of an event's derived fields that holds the positions of new members."""

Order = dict[str, list[str]]
"""Path of a list -> what its members are called, in their order."""


@dataclass
class _Collector:
    added: list[FieldChange] = field(default_factory=list)
    updated: list[FieldChange] = field(default_factory=list)
    deleted: list[FieldChange] = field(default_factory=list)
    order: Order = field(default_factory=dict)
    is_stored: bool = False

    def add(self, path: Path, new: Value) -> None:
        self.added.append(FieldChange(name=fqn.join(path), new_value=new))

    def update(self, path: Path, old: Value, new: Value) -> None:
        self.updated.append(FieldChange(name=fqn.join(path), old_value=old, new_value=new))

    def delete(self, path: Path, old: Value) -> None:
        self.deleted.append(FieldChange(name=fqn.join(path), old_value=old))


@dataclass(frozen=True)
class StateDifference:
    """Difference between two states.

    ``order`` is the order of a list that differs from the old one with new members at its end: what the change itself
    does not have, and ``flow/capture/rebuild.py`` needs. ``is_stored``: the new state must be stored even if the change
    is empty, because of such an order or of bookkeeping.
    """

    change: ChangeDescription
    order: Order = field(default_factory=dict)
    is_stored: bool = False


def diff(entity_type: str, old: Document, new: Document) -> ChangeDescription:
    """Return how ``new`` differs from ``old``, server-kept keys aside; ``previous_version`` is left open."""
    return compare(entity_type, old, new).change


def compare(entity_type: str, old: Document, new: Document) -> StateDifference:
    """Return the difference between ``new`` and ``old``, as ``diff`` does, and what else has to be stored."""
    if not old:
        return StateDifference(ChangeDescription(fields_added=tuple(_all_added(entity_type, new))))
    collector = _Collector()
    server_keys, nesting_keys = _server_keys(entity_type), _nesting_keys(entity_type)
    for key in _keys(old, new):
        before, after = old.get(key), new.get(key)
        if before is after:
            continue
        if key in BOOKKEEPING or (key == _DERIVED and key in server_keys):
            collector.is_stored |= not _is_equal(before, after)
            continue
        if key in server_keys:
            continue
        if key == "extension":
            _fields(collector, (key,), before or {}, after or {})
        elif key in nesting_keys and isinstance(before, dict) and isinstance(after, dict) and before and after:
            _fields(collector, (key,), before, after)
        else:
            _field(collector, (key,), before, after)
    change = ChangeDescription(
        fields_added=tuple(collector.added),
        fields_updated=tuple(collector.updated),
        fields_deleted=tuple(collector.deleted),
    )
    return StateDifference(change, collector.order, collector.is_stored or bool(collector.order))


def _all_added(entity_type: str, new: Document) -> Iterator[FieldChange]:
    """Yield the additions of a document without a previous state."""
    server_keys = _server_keys(entity_type)
    for key, value in new.items():
        if key in server_keys or is_empty(value):
            continue
        if key == "extension" and isinstance(value, dict):
            inner = ((name, held) for name, held in value.items() if not is_empty(held))
            yield from (FieldChange(name=fqn.join((key, name)), new_value=held) for name, held in inner)
        elif key in MEMBER_LISTS and isinstance(value, list):
            yield FieldChange(name=fqn.quote(key), new_value=_by_identity(MEMBER_LISTS[key], value))
        else:
            yield FieldChange(name=fqn.quote(key), new_value=value)


def _by_identity(rule: MemberList, members: list[Document]) -> list[Document]:
    return list({rule.identity(member): member for member in members}.values())


@cache
def _server_keys(entity_type: str) -> frozenset[str]:
    """Return the keys that the server fills in by itself."""
    kind = ENTITY_TYPES[entity_type]
    return SERVER_KEPT.union(kind.ancestors, () if kind.is_service else (_DERIVED,))


@cache
def _nesting_keys(entity_type: str) -> frozenset[str]:
    """Return the keys that contain nested lists of members."""
    return frozenset(path[0] for path in ENTITY_TYPES[entity_type].member_paths if len(path) > 1)


def with_place(change: ChangeDescription, old: Document, new: Document) -> ChangeDescription:
    """Return the change with what ``diff`` leaves out because it follows from elsewhere: the full name, ancestors."""
    described = set(change.paths())
    updates = [
        FieldChange(name=key, old_value=old.get(key), new_value=new.get(key))
        for key in ("fullyQualifiedName", *sorted(REFERENCE_FIELDS & old.keys() & new.keys() - described))
        if not (is_same(old.get(key), new.get(key)) or _points_to_same(old.get(key), new.get(key)))
    ]
    return change.model_copy(update={"fields_updated": (*change.fields_updated, *updates)})


_NESTING = (dict, list)


def is_empty(value: Value) -> bool:
    """Return whether this is no value: null, "", [] or {}."""
    return not value and (value is None or value == "" or value == [] or value == {})


def _is_equal(old: Value, new: Value) -> bool:
    return is_same(old, new) or (is_empty(old) and is_empty(new))


def is_same(old: Value, new: Value) -> bool:
    """Return whether two JSON values are equal: numbers as numbers (775 is 775.0), but true is not 1."""
    if old is new:
        return True
    if old != new:
        return False
    if type(old) is type(new) and type(old) not in _NESTING:
        return True
    # Python holds True == 1; equal texts settle it at once, and only a spelling difference needs the walk.
    return orjson.dumps(old) == orjson.dumps(new) or _is_strictly_same(old, new)


def _is_strictly_same(old: Value, new: Value) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_strictly_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_is_strictly_same, old, new))
    return bool(isinstance(old, bool) == isinstance(new, bool) and old == new)


def _keys(old: Document, new: Document) -> list[str]:
    return list(new) if old.keys() <= new.keys() else [*new, *[key for key in old if key not in new]]


def _fields(collector: _Collector, path: Path, old: Document, new: Document) -> None:
    for key in _keys(old, new):
        _field(collector, (*path, key), old.get(key), new.get(key))


def _field(collector: _Collector, path: Path, old: Value, new: Value) -> None:
    if _is_equal(old, new):
        return
    was_empty, now_empty = is_empty(old), is_empty(new)
    in_extension = path[0] == "extension"
    members = None if in_extension else MEMBER_LISTS.get(path[-1])
    if members and isinstance(old or [], list) and isinstance(new or [], list):
        _members(collector, path, members, (old or [], new or []))
    elif was_empty:
        collector.add(path, new)
    elif now_empty:
        collector.delete(path, old)
    elif path[-1] in REFERENCE_FIELDS and len(path) == 1 and _points_to_same(old, new):
        return
    elif path[0] in nested_references.KEYS and is_same(*map(nested_references.without_names, (old, new))):
        return  # what is referred to was renamed
    elif in_extension or not _is_reordered(old, new):
        collector.update(path, old, new)


def _points_to_same(old: Value, new: Value) -> bool:
    return isinstance(old, dict) and isinstance(new, dict) and target_of(old) == target_of(new)


def _members(collector: _Collector, path: Path, rule: MemberList, lists: tuple[list[Document], list[Document]]) -> None:
    old, new = ({rule.identity(member): member for member in members} for members in lists)
    dropped = [member for key, member in old.items() if key not in new]
    joined = [member for key, member in new.items() if key not in old]
    if dropped:
        collector.delete(path, dropped)
    if joined:
        collector.add(path, joined)
    for key, member in new.items():
        if key in old and not rule.reference and not is_same(old[key], member):
            _member(collector, (*path, rule.label(member)), rule, (old[key], member))
    if rule.ordered:
        _order(collector, path, rule, (old, new))


def _member(collector: _Collector, path: Path, rule: MemberList, pair: tuple[Document, Document]) -> None:
    if rule.deep:
        _fields(collector, path, *pair)
    elif not _is_reordered(*pair):
        collector.update(path, *pair)


def _is_reordered(old: Value, new: Value) -> bool:
    """Return whether two values that are compared as a whole differ only in the order of tags inside them."""
    return is_same(*(map_objects(value, _with_sorted_tags) for value in (old, new)))


def _with_sorted_tags(holder: Document) -> Document:
    tags = holder.get("tags")
    if isinstance(tags, list) and all(isinstance(one, dict) for one in tags):
        return holder | {"tags": sorted(tags, key=tag_of)}
    return holder


def _order(collector: _Collector, path: Path, rule: MemberList, members: tuple[dict[str, Document], ...]) -> None:
    old, new = members
    if [*(key for key in old if key in new), *(key for key in new if key not in old)] != list(new):
        collector.order[fqn.join(path)] = [rule.label(member) for member in new.values()]
