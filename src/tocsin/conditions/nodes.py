"""Algebra of checked conditions, interpreted by both engines.

Every value is a bag of zero or more scalars (a missing field: none; a set: its members), and every leaf asks
whether *some* value in the bag passes; so a leaf is false of what is missing, and ``Not`` is plain negation.
Next: ``conditions/evaluate.py`` (Python), ``spark/conditions.py`` (Spark).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

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
    """What is asked of a text."""

    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    INCLUDES = "includes"
    MATCHES = "matches"


class Root(StrEnum):
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

    root: Root
    steps: tuple[str | int, ...]
    change: str | None = None


@dataclass(frozen=True, slots=True)
class Lowered:
    """The texts of a value, in lower case."""

    of: Value


@dataclass(frozen=True, slots=True)
class Size:
    """How many values there are, as a number."""

    of: Value


Value = Literals | FieldValue | PathValue | Lowered | Size


@dataclass(frozen=True, slots=True)
class Constant:
    """Always or never."""

    holds: bool


@dataclass(frozen=True, slots=True)
class Has:
    """A field equals, or as a set holds, one of ``values``: what an index can be built on.

    ``values`` are texts as ``fields.canonical`` writes them, sorted.
    """

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Some value on the left compares so with some value of the same kind on the right."""

    operator: Operator
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class TextTest:
    """Some text of ``value`` passes ``test`` with one of ``texts``."""

    test: Test
    value: Value
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contains:
    """JSON at a path contains one of ``members``: a list has it as a member, a text as a part."""

    value: Value
    members: Literals


@dataclass(frozen=True, slots=True)
class Present:
    """There is some value."""

    value: Value


@dataclass(frozen=True, slots=True)
class Filled:
    """There is some value other than the empty text."""

    value: Value


@dataclass(frozen=True, slots=True)
class Personal:
    """A condition on the recipient (``conditions/relations.py``), which the event alone does not decide."""

    question: str


Leaf = Has | Compare | TextTest | Contains | Present | Filled | Personal


@dataclass(frozen=True, slots=True)
class Not:
    """The operand does not hold."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """All operands hold."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some operand holds."""

    operands: tuple[Node, ...]


Node = Constant | Leaf | Not | And | Or


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield every leaf of ``node``, left to right."""
    match node:
        case Constant():
            return
        case Not(operand=operand):
            yield from leaves(operand)
        case And(operands=operands) | Or(operands=operands):
            for operand in operands:
                yield from leaves(operand)
        case _:
            yield node


def replaced(node: Node, by: Callable[[Leaf], Node]) -> Node:
    """Return ``node`` with every leaf replaced by what ``by`` makes of it; what has become trivial is gone."""
    match node:
        case Constant():
            return node
        case Not(operand=operand):
            return negated(replaced(operand, by))
        case And(operands=operands):
            return conjoined(*(replaced(operand, by) for operand in operands))
        case Or(operands=operands):
            return disjoined(*(replaced(operand, by) for operand in operands))
        case _:
            return by(node)


def conjoined(*operands: Node) -> Node:
    """Return the operands joined by "and", each once, without what is trivially true."""
    return joined(operands, And, neutral=Constant(True), decisive=Constant(False))


def disjoined(*operands: Node) -> Node:
    """Return the operands joined by "or", each once, without what is trivially false."""
    return joined(operands, Or, neutral=Constant(False), decisive=Constant(True))


T = TypeVar("T")


def joined(operands: Iterable[T], join: Callable[[tuple[T, ...]], T], *, neutral: T, decisive: T) -> T:
    """Return the operands as one: ``decisive`` if it is among them, without what is ``neutral`` and what repeats."""
    kept = tuple(dict.fromkeys(one for one in operands if one != neutral))
    if decisive in kept:
        return decisive
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return join(kept)


def negated(operand: Node) -> Node:
    """Return the negation of ``operand``."""
    match operand:
        case Constant(holds=holds):
            return Constant(not holds)
        case Not(operand=inner):
            return inner
        case _:
            return Not(operand)
