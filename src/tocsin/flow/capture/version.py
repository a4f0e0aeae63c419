"""What version does a change lead to? +0.1, or +1.0 when it breaks those who consume the entity.

Breaking: a member dropped or retyped, or one of the type's ``breaking`` numbers made smaller.
Source: OpenMetadata's ``EntityUtil.nextVersion`` and ``nextMajorVersion``: 0.2 becomes 0.3 or 1.2.
"""

from __future__ import annotations

from decimal import Decimal

from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity_types import ENTITY_TYPES, EntityType

_MINOR = Decimal("0.1")
_MAJOR = Decimal("1.0")
_TYPE_KEYS = frozenset({"dataType", "arrayDataType"})


def next_version(current: Decimal, *, breaking: bool) -> Decimal:
    """Return the version after ``current``."""
    return current + (_MAJOR if breaking else _MINOR)


def is_breaking(entity_type: str, change: ChangeDescription) -> bool:
    """Say whether this change breaks those who consume the entity."""
    kind = ENTITY_TYPES[entity_type]
    if not kind.children or not kind.breaking:
        return False
    return any(_drops(kind, field.name) for field in change.fields_deleted) or any(
        _narrows(kind, field) for field in change.fields_updated
    )


def _drops(kind: EntityType, path: str) -> bool:
    place, last = _place(kind, path)
    return place and last in (kind.children, "children")


def _narrows(kind: EntityType, field: FieldChange) -> bool:
    place, last = _place(kind, field.name)
    if not place or last not in _TYPE_KEYS | set(kind.breaking):
        return False
    return last in _TYPE_KEYS or _is_less(field.new_value, field.old_value)


def _place(kind: EntityType, path: str) -> tuple[bool, str]:
    """Say whether ``path`` names a list of members or a field of one, and what its last name is.

    List names and members' names take turns (``columns.address.children.zip.dataType``), so both kinds of
    path have an odd number of names; an even number ends in a member's name.
    """
    names = fqn.split(path) if path.startswith(str(kind.children)) else []
    is_place = bool(names) and names[0] == kind.children and len(names) % 2 == 1
    return is_place, names[-1] if names else ""


def _is_less(new: object, old: object) -> bool:
    return isinstance(new, int | float) and isinstance(old, int | float) and new < old
