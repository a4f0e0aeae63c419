"""Leaves of checked conditions, which are formulas (``logic.py``) that both engines interpret.

Every value is a bag of zero or more scalars (a missing field: none; a set: its members), and every leaf asks
whether *some* value in the bag passes; so a leaf is false of what is missing, and ``Not`` is plain negation.
Next: ``conditions/evaluate.py`` (Python), ``spark/conditions.py`` (Spark).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from tocsin.logic import Formula

Scalar = str | float | bool


class Kind(StrEnum):
    """What a value holds: ``STATUS`` text compared without case, ``TEXTS`` a set of texts, ``ANY`` what JSON does."""

    TEXT = "text"
    STATUS = "status"
    TEXTS = "set of texts"
    NUMBER = "number"
    BOOLEAN = "true or false"
    ANY = "anything"


class Operator(StrEnum):
    """How two values are compared; ``!=`` is ``Not`` of ``==``."""

    EQ = "=="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class Test(StrEnum):
    """An operation on a text."""

    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    INCLUDES = "includes"
    MATCHES = "matches"


class PathRoot(StrEnum):
    """Where a path begins: the entity's document, or the old or new value of a changed field."""

    ENTITY = "entity"
    OLD = "oldValue"
    NEW = "newValue"


@dataclass(frozen=True, slots=True)
class Literals:
    """Values written in the condition, all of one kind (``TEXT``, ``NUMBER`` or ``BOOLEAN``)."""

    kind: Kind
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field of the event, by its name in ``conditions/fields.py``."""

    name: str


@dataclass(frozen=True, slots=True)
class PathValue:
    """The JSON values at ``steps`` from ``root``; a step by name goes into every member of a list.

    ``change`` is the changed field's path for the roots ``OLD`` and ``NEW``.
    """

    root: PathRoot
    steps: tuple[str | int, ...]
    change: str | None = None


@dataclass(frozen=True, slots=True)
class Lowered:
    """The texts of a value, in lower case."""

    value: Value


@dataclass(frozen=True, slots=True)
class Size:
    """How many values there are, as a number."""

    value: Value


Value = Literals | FieldValue | PathValue | Lowered | Size


@dataclass(frozen=True, slots=True)
class Has(Formula["Leaf"]):
    """A field equals, or as a set holds, one of ``values``: what an index can be built on.

    ``values`` are texts as ``fields.canonical`` writes them, sorted.
    """

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare(Formula["Leaf"]):
    """Some value on the left compares so with some value of the same kind on the right."""

    operator: Operator
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class TextTest(Formula["Leaf"]):
    """Some text of ``value`` passes ``test`` with one of ``texts``."""

    test: Test
    value: Value
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contains(Formula["Leaf"]):
    """JSON at a path contains one of ``members``: a list has it as a member, a text as a part."""

    value: Value
    members: Literals


@dataclass(frozen=True, slots=True)
class Present(Formula["Leaf"]):
    """There is some value."""

    value: Value


@dataclass(frozen=True, slots=True)
class Filled(Formula["Leaf"]):
    """There is some value other than the empty text."""

    value: Value


@dataclass(frozen=True, slots=True)
class Personal(Formula["Leaf"]):
    """A condition on the recipient (``conditions/relations.py``), which the event alone does not decide."""

    question: str


Leaf = Has | Compare | TextTest | Contains | Present | Filled | Personal
Node = Formula[Leaf]

_field_value = lru_cache(maxsize=1_024)(FieldValue)  # there are few, and to make one takes longer than to find it


def values_in(leaf: Leaf) -> tuple[Value, ...]:
    """Return the values that ``leaf`` reads, in its order: its field, paths, and the literals it compares them with."""
    match leaf:
        case Has(field=field):
            return (_field_value(field),)
        case Compare(left=left, right=right):
            return left, right
        case Personal():
            return ()
        case _:
            return (leaf.value,)


def plain_value(value: Value) -> Value:
    """Return ``value`` as in the event: letter case concerns the test, not the value."""
    return value.value if isinstance(value, Lowered) else value


def innermost(value: Value) -> Value:
    """Return what the size or the lower case is taken of."""
    while isinstance(value, Lowered | Size):
        value = value.value
    return value
