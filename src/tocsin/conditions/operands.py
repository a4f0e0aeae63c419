"""Resolution of names, paths and literals to typed operands; unknown names are rejected with a suggestion.

Next: ``conditions/check.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tocsin.conditions.errors import refusal, unknown
from tocsin.conditions.examples import call_of
from tocsin.conditions.fields import FIELDS, NESTED_STATUSES, has
from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.nodes import FieldValue, Kind, Literals, Lowered, Node, PathRoot, PathValue, Scalar, Value
from tocsin.conditions.syntax import LiteralList, Name, PathStep, Position, Word
from tocsin.errors import InvalidCondition
from tocsin.logic import ALWAYS, conjunction_of
from tocsin.model.entity_type import CHANGE_REQUESTS
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import nearest, with_article
from tocsin.model.thread import THREAD_KEYS

PERSON = "user"
"""Name of the recipient. There is an entity type of that name too: ``user.name`` means that one."""

_UNWRITABLE = frozenset("'\"?")

ALIASES = {
    "id": "entityId",
    "fullyQualifiedName": "entityFullyQualifiedName",
    "tier": "tier",
    "tags": "tags",
    "owner": "owners",
    "owners": "owners",
    "domain": "domains",
    "domains": "domains",
    "service": "service",
}
"""Keys of the entity's document that, written alone, mean the field derived from them."""


_NAMES = tuple(sorted((*FIELDS, "entity", *ENTITY_TYPES)))
_CALLED_OTHERWISE = {
    **{key: field for key, field in ALIASES.items() if key not in FIELDS},
    "fqn": "entityFullyQualifiedName",
    **{key: f"entity.{key}" for key in ("name", "displayName", "description", "columns", "extension")},
}
"""Names by which fields are looked for, and what they are called."""

_OF_USERS = (
    "'user' is the recipient: use user.follows(entity), user.owns(entity) or user.isMemberOf('team');"
    " userName is who made the change, and user.name the name of a user that was changed"
)


@dataclass(frozen=True)
class Operand:
    """A value and what is known of it. ``guard`` is the entity type without which it is missing."""

    value: Value
    kind: Kind
    at: Position
    guard: str | None = None
    is_status: bool = False

    @property
    def is_literal(self) -> bool:
        """Return whether it is written in the condition itself."""
        return isinstance(self.value, Literals)

    def with_guard(self, leaf: Node) -> Node:
        """Return ``leaf``, false for entities of another type than the guard."""
        return conjunction_of(has("entityType", (self.guard,)) if self.guard else ALWAYS, leaf)


@dataclass(frozen=True)
class Nothing:
    """The literal ``null``."""

    at: Position


def literal(word: Word) -> Operand | Nothing:
    """Return the value of a literal."""
    if word.value is None:
        return Nothing(word.at)
    return Operand(Literals(_kind(word.value), (word.value,)), _kind(word.value), word.at)


def literal_list(written: LiteralList) -> Operand:
    """Return the values of a list of literals; all must be of one type.

    Raises
    ------
    InvalidCondition : the values are of several types, or one is null
    """
    values = tuple(word.value for word in written.words if word.value is not None)
    kinds = {_kind(value) for value in values} or {Kind.TEXT}
    if len(values) < len(written.words) or len(kinds) > 1:
        raise refusal("a list contains only texts, only numbers or only booleans, and no null", written.at)
    kind = kinds.pop()
    return Operand(Literals(kind, values), kind, written.at)


def operand_named(written: Name) -> Operand:
    """Return the operand of a bare name: a field, or the entity under one of its names.

    Raises
    ------
    InvalidCondition : there is no field of that name
    """
    name = written.name
    if name in FIELDS:
        kind = FIELDS[name].kind
        return Operand(FieldValue(name), kind, written.at, is_status=kind is Kind.STATUS)
    if name == "entity" or name in ENTITY_TYPES:
        guard = None if name == "entity" else name
        return Operand(PathValue(PathRoot.ENTITY, ()), Kind.ANY, written.at, guard)
    if name in FUNCTIONS:
        raise refusal(f"{name!r} is a function; write {call_of(name)}", written.at, expected=("(",))
    if name in _CALLED_OTHERWISE:
        raise refusal(f"unknown field {name!r}", written.at, expected=_NAMES, suggestion=_CALLED_OTHERWISE[name])
    raise unknown("field", name, written.at, _NAMES)


def step(operand: Operand, written: PathStep) -> Operand:
    """Return the operand of one step into ``operand``.

    Raises
    ------
    InvalidCondition : the operand has no parts, or the key is empty or unsafe
    """
    if not isinstance(operand.value, PathValue):
        raise refusal("only the entity and old and new values have parts", written.at)
    key = written.key
    if isinstance(key, str) and (not key or _UNWRITABLE & set(key)):
        raise refusal("a key in a path cannot be empty or contain quotes or a question mark", written.at)
    if operand.value.root is PathRoot.ENTITY and not operand.value.steps:
        _check_first_key(operand.guard, key, written.at)
    value = replace(operand.value, steps=(*operand.value.steps, key))
    return replace(operand, value=value, at=operand.at, is_status=key in NESTED_STATUSES)


def settle(operand: Operand) -> Operand:
    """Return ``operand`` with its path complete: an aliased key becomes its field, a status becomes lower case.

    A type by itself (``tag == 'x'``) is no value; only its keys are (``tag.name == 'x'``), or its presence.

    Raises
    ------
    InvalidCondition : the path ends where there is no value
    """
    value = operand.value
    if operand.guard and isinstance(value, PathValue) and not value.steps:
        raise _no_value(operand.guard, operand.at)
    if isinstance(value, PathValue) and value.root is PathRoot.ENTITY and len(value.steps) == 1:
        field = ALIASES.get(str(value.steps[0]))
        if field:
            return replace(operand, value=FieldValue(field), kind=FIELDS[field].kind)
    return operand


def _no_value(entity_type: str, at: Position) -> InvalidCondition:
    """Return the error for a type name where a value is needed."""
    if entity_type == PERSON:
        return refusal(_OF_USERS, at, expected=(".",))
    message = f"{entity_type!r} is an entity type, not a field; use its fields, such as {entity_type}.name"
    return refusal(message, at, expected=("a field", "."), suggestion=nearest(entity_type, FIELDS))


def fold_case(operand: Operand) -> Operand:
    """Return ``operand`` for a comparison without case."""
    value = operand.value
    if isinstance(value, Literals):
        lowered = tuple(v.lower() if isinstance(v, str) else v for v in value.values)
        return replace(operand, value=Literals(value.kind, lowered))
    return operand if isinstance(value, Lowered) else replace(operand, value=Lowered(value))


def _check_first_key(guard: str | None, key: str | int, at: Position) -> None:
    type_keys = ENTITY_TYPES[guard].keys if guard else THREAD_KEYS.union(*(row.keys for row in ENTITY_TYPES.values()))
    valid_keys = type_keys - {CHANGE_REQUESTS}  # in no document of an event: conditions ask for changeRequest
    if key not in valid_keys and key not in ALIASES:
        raise unknown(f"key of {with_article(guard or 'entity')}", str(key), at, valid_keys | set(ALIASES))


def _kind(value: Scalar) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOLEAN
    return Kind.TEXT if isinstance(value, str) else Kind.NUMBER
