"""Version increment of a change: +0.1, or +1.0 if it breaks consumers of the entity.

The table of types (``breaking``) defines breaking changes: a list whose member is removed, gets another data type or a
smaller size; or a key whose value changes or is removed. Source: OpenMetadata's ``EntityUtil.nextVersion``
and ``nextMajorVersion`` (0.2 becomes 0.3 or 1.2) and its repositories' ``majorVersionChange``.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity_type import Path
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import MEMBER_LISTS

_MINOR = Decimal("0.1")
_MAJOR = Decimal("1.0")
_RETYPED = frozenset({"dataType", "arrayDataType"})
_NARROWED = frozenset({"dataLength", "precision", "scale"})


def next_version(current: Decimal, *, breaking: bool) -> Decimal:
    """Return the version after ``current``."""
    return current + (_MAJOR if breaking else _MINOR)


def is_breaking(entity_type: str, change: ChangeDescription) -> bool:
    """Return whether this change breaks those who consume the entity."""
    rules = _rules_of(entity_type)
    if not rules:
        return False
    deleted_paths = [tuple(fqn.split(field.name)) for field in change.fields_deleted]
    changed = [(tuple(fqn.split(field.name)), field) for field in change.fields_updated]
    return any(
        any(_drops(rule, path) for path in deleted_paths) or any(_changes(rule, path, field) for path, field in changed)
        for rule in rules
    )


@cache
def _rules_of(entity_type: str) -> tuple[Path, ...]:
    return tuple(tuple(path.split(".")) for path in ENTITY_TYPES[entity_type].breaking)


def _drops(rule: Path, path: Path) -> bool:
    """Return whether a removed field is the one that the rule names, contains it, or is a list of members below it.

    List names and members' names alternate (``columns.address.children.zip.dataType``), so a list and a field of a
    member are both at an even distance; an odd one ends in a member's name.
    """
    if rule[: len(path)] == path:
        return True
    return path[: len(rule)] == rule and (len(path) - len(rule)) % 2 == 0 and path[-1] == "children"


def _changes(rule: Path, path: Path, field: FieldChange) -> bool:
    if rule[-1] not in MEMBER_LISTS:
        return path[: len(rule)] == rule
    if path[: len(rule)] != rule or len(path) == len(rule) or (len(path) - len(rule)) % 2:
        return False
    return path[-1] in _RETYPED or (path[-1] in _NARROWED and _is_less(field.new_value, field.old_value))


def _is_less(new: object, old: object) -> bool:
    return isinstance(new, int | float) and isinstance(old, int | float) and new < old
