"""Version increment of a change: +0.1, or +1.0 if it is a major one.

Major is every change that breaks who reads the entity (``conditions/breaking.py``), and what OpenMetadata counts as
such: the table of types (``breaking``) names lists of which a member is removed, gets another data type or a smaller
size, and keys whose value changes or is removed. So a wider type raises a version by 1.0 and breaks nobody. The soft
deletion of an asset that something reads is major, too, where ``MAJOR_DELETIONS`` names its type. Source:
OpenMetadata's ``EntityUtil.nextVersion`` and ``nextMajorVersion`` (0.2 becomes 0.3 or 1.2) and its repositories'
``majorVersionChange``.
"""

from __future__ import annotations

from decimal import Decimal

from tocsin.conditions.breaking import is_dropped_by, is_of_member, rules_of
from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity_type import Path
from tocsin.model.list_identity import MEMBER_LISTS

_MINOR = Decimal("0.1")
_MAJOR = Decimal("1.0")
_RETYPED = frozenset({"dataType", "arrayDataType"})
_NARROWED = frozenset({"dataLength", "precision", "scale"})


def next_version(current: Decimal, *, is_major: bool) -> Decimal:
    """Return the version after ``current``."""
    return current + (_MAJOR if is_major else _MINOR)


def is_major_upstream(entity_type: str, change: ChangeDescription) -> bool:
    """Return whether OpenMetadata raises the version by 1.0 for this change."""
    rules = rules_of(entity_type)
    if not rules:
        return False
    deleted_paths = [tuple(fqn.split(field.name)) for field in change.fields_deleted]
    changed = [(tuple(fqn.split(field.name)), field) for field in change.fields_updated]
    return any(
        any(is_dropped_by(rule, path) for path in deleted_paths)
        or any(_changes(rule, path, field) for path, field in changed)
        for rule in rules
    )


def _changes(rule: Path, path: Path, field: FieldChange) -> bool:
    if rule[-1] not in MEMBER_LISTS:
        return path[: len(rule)] == rule
    if not is_of_member(rule, path):
        return False
    return path[-1] in _RETYPED or (path[-1] in _NARROWED and _is_less(field.new_value, field.old_value))


def _is_less(new: object, old: object) -> bool:
    return isinstance(new, int | float) and isinstance(old, int | float) and new < old
