"""Judgement whether a change breaks who reads an asset, with reasons, from the change and the state it led to.

Nothing else is read, so that events and versions of earlier releases are judged when they are read. Only whether
something reads what is deleted is found out at the moment of the deletion (``flow/capture/removal.py``).
Next: ``flow/capture/version.py``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from tocsin.conditions import documents
from tocsin.model import fqn
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.compatibility.languages import incompatibility
from tocsin.model.entity import Document
from tocsin.model.entity_type import Path, value_at
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import MEMBER_LISTS
from tocsin.model.secret import MODEL_ADDRESS
from tocsin.model.type_changes import ColumnType, TypeChange, type_change

MOST_REASONS = 50
"""Reasons that are kept of one change; the change itself has them all."""

IS_BREAKING = "isBreaking"
"""The derived field of an event that says whether it breaks who reads its asset."""

DELETED_WHILE_READ = BreakingReason(kind=BreakingKind.DELETED_WHILE_READ)

MAJOR_DELETIONS = frozenset({"dashboard", "pipeline"})
"""Types whose deletion raises the version by 1.0 if something reads what is deleted; that of others by 0.1."""

_JUDGED = frozenset({EventType.ENTITY_UPDATED, EventType.ENTITY_FIELDS_CHANGED, EventType.ENTITY_RESTORED})
"""Types of events whose changes of the document are judged."""

_RULES_OF = {"JSON": "JSON Schema", "JSONSchema": "JSON Schema"}
_LONGEST_VALUE = 200
_ONE_VERSION = Decimal("1.0")
_NOT_NULL = "NOT_NULL"
_KEYS = frozenset({"PRIMARY_KEY", "UNIQUE"})
TYPE_KEYS = ("dataType", "dataLength", "precision", "scale", "arrayDataType")
"""Keys of a column that say its type."""

_CONSTRAINTS = "tableConstraints"
_CONTAINERS = {"messageSchema": False, "responseSchema": False, "requestSchema": True}
"""Keys that hold a schema as text: whether the asset's clients write what it describes, instead of reading it."""

_SIGNATURE = re.compile(r"\b(?:PROCEDURE|PROC|FUNCTION)\s+(?:IF\s+NOT\s+EXISTS\s+)?[\w.\"`\[\]$]+\s*\(", re.IGNORECASE)
_RETURNED = re.compile(r"\s*RETURNS?\s+(?P<type>[\w.]+(?:\s*\([^()]*\))?)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


class _Move(NamedTuple):
    """A changed value."""

    before: Any  # Any: a JSON value of whatever field changed
    after: Any  # Any: as above


_Changes = Mapping[str, _Move]
"""Changed attributes of one member, by their names."""


def reasons_of_event(event: ChangeEvent) -> tuple[BreakingReason, ...]:
    """Return why an event breaks who reads its asset: as it was recorded, else by its change."""
    if event.breaking_reasons is not None or event.announcements is not None:
        return event.breaking_reasons or ()
    if event.event_type not in _JUDGED or event.change_description is None:
        return ()
    return breaking_reasons(event.entity_type, event.change_description, event.entity or {})


def is_text_breaking(event: str) -> bool:
    """Return whether an event, as JSON, breaks who reads its asset."""
    return bool(reasons_of_event(ChangeEvent.model_validate_json(event)))


def reasons_of_version(entity_type: str, document: Document) -> tuple[BreakingReason, ...]:
    """Return why a version breaks who relied on the one before it.

    A deletion alone raises a version by 1.0 only if something read what was deleted.
    """
    if not document.get("changeDescription"):
        return ()
    change = ChangeDescription.model_validate(document["changeDescription"])
    reasons = breaking_reasons(entity_type, change, document)
    return (DELETED_WHILE_READ,) if not reasons and _is_deletion_of_source(change, document) else reasons


def _is_deletion_of_source(change: ChangeDescription, document: Document) -> bool:
    if change.paths() != ("deleted",) or document.get("deleted") is not True or change.previous_version is None:
        return False
    return Decimal(str(document["version"])) - change.previous_version >= _ONE_VERSION


def breaking_reasons(entity_type: str, change: ChangeDescription, after: Document) -> tuple[BreakingReason, ...]:
    """Return why a change, which led to the document ``after``, breaks who reads the entity: at most 50 reasons."""
    heads = _heads(entity_type)
    if not heads or heads.isdisjoint(path.partition(".")[0] for path in change.paths()):
        return ()
    return tuple(islice(dict.fromkeys(_reasons(entity_type, change, after)), MOST_REASONS))


def _reasons(entity_type: str, change: ChangeDescription, after: Document) -> Iterator[BreakingReason]:
    rules = rules_of(entity_type)
    for field in change.fields_deleted:
        path = tuple(fqn.steps_of(field.name))
        if any(is_dropped_by(rule, path) for rule in rules):
            yield from _removals(field, path)
    moves = _moves_of(change)
    for rule in rules:
        if rule[-1] in MEMBER_LISTS:
            yield from _member_reasons(rule, moves, after)
        else:
            yield from _changed_value(rule, change)
    further = _FURTHER.get(entity_type)
    if further is not None:
        yield from further.reasons(moves, after)


@cache
def _heads(entity_type: str) -> frozenset[str]:
    """Return the keys of a document of this type whose changes may break its readers."""
    kind = ENTITY_TYPES.get(entity_type)
    if kind is None:
        return frozenset()
    further = _FURTHER.get(entity_type)
    return frozenset(rule[0] for rule in rules_of(entity_type)).union(() if further is None else further.heads)


@cache
def rules_of(entity_type: str) -> tuple[Path, ...]:
    """Return the paths of what consumers of a type rely on."""
    return tuple(tuple(path.split(".")) for path in ENTITY_TYPES[entity_type].breaking)


def is_dropped_by(rule: Path, path: Path) -> bool:
    """Return whether a removed field is the one that the rule names, contains it, or is a list of members below it.

    List names and members' names alternate (``columns.address.children.zip.dataType``), so a list and a field of a
    member are both at an even distance; an odd one ends in a member's name.
    """
    if rule[: len(path)] == path:
        return True
    return path[: len(rule)] == rule and (len(path) - len(rule)) % 2 == 0 and path[-1] == "children"


def is_of_member(rule: Path, path: Path) -> bool:
    """Return whether a path is an attribute of a member of the list that the rule names."""
    return path[: len(rule)] == rule and len(path) > len(rule) and (len(path) - len(rule)) % 2 == 0


def _moves_of(change: ChangeDescription) -> dict[Path, _Move]:
    fields = (*change.fields_added, *change.fields_updated, *change.fields_deleted)
    moves: dict[Path, _Move] = {}
    for field in fields:
        path = tuple(fqn.steps_of(field.name))
        move = moves.get(path, _Move(None, None))  # members that joined and left a list are two changes of it
        moves[path] = _Move(
            move.before if field.old_value is None else field.old_value,
            move.after if field.new_value is None else field.new_value,
        )
    return moves


def _removals(field: FieldChange, path: Path) -> Iterator[BreakingReason]:
    """Yield the members that left a list; or the whole that is gone."""
    value = documents.decode(field.old_value)
    if path[-1] not in MEMBER_LISTS:
        values = {} if isinstance(value, dict | list) else {"before": _short(path, value)}
        yield BreakingReason(kind=BreakingKind.FIELD_REMOVED, field=field.name, **values)
        return
    for member in documents.members(value):
        name, data_type = str(member.get("name")), type_of_column(member)
        before = None if data_type.name is None else str(data_type)
        yield BreakingReason(kind=BreakingKind.FIELD_REMOVED, field=fqn.child(field.name, name), before=before)


def _member_reasons(rule: Path, moves: Mapping[Path, _Move], after: Document) -> Iterator[BreakingReason]:
    by_member: dict[Path, dict[str, _Move]] = defaultdict(dict)
    for path, move in moves.items():
        if is_of_member(rule, path) and (path[-1] in TYPE_KEYS or path[-1] == "constraint"):
            by_member[path[:-1]][path[-1]] = move
    for path, changes in by_member.items():
        yield from _judge_member(fqn.join(path), changes, _member_at(after, path, len(rule)))
    for member in documents.members(documents.decode(moves.get(rule, _Move(None, None)).after)):
        if member.get("constraint") == "PRIMARY_KEY":
            field = fqn.join((*rule, str(member.get("name"))))
            yield BreakingReason(kind=BreakingKind.KEY_CHANGED, field=field, after="PRIMARY_KEY")


def _member_at(document: Document, path: Path, list_steps: int) -> Document:
    """Return the member at a path, of which ``list_steps`` lead to the outermost list; empty if there is none."""
    holder: Document = document
    steps = (path[:list_steps], *((step,) for step in path[list_steps + 1 :: 2]))
    for list_path, name in zip(steps, path[list_steps::2], strict=True):
        members = documents.members(value_at(holder, list_path))
        holder = next((one for one in members if one.get("name") == name), {})
    return holder


def _judge_member(field: str, changes: _Changes, member: Document) -> Iterator[BreakingReason]:
    constraint = changes.get("constraint")
    if constraint is not None:
        yield from _constraint_reasons(field, constraint)
    if changes.keys() == {"constraint"}:
        return
    now = {key: member.get(key) for key in TYPE_KEYS}
    old = now | {key: move.before for key, move in changes.items()}
    new = now | {key: move.after for key, move in changes.items()}
    before, after = type_of_column(old), type_of_column(new)
    verdict = type_change(before, after)
    if verdict is not TypeChange.SAFE:
        kind = BreakingKind.TYPE_NARROWED if verdict is TypeChange.NARROWED else BreakingKind.SIZE_CUT
        yield BreakingReason(kind=kind, field=field, before=str(before), after=str(after))


def _constraint_reasons(field: str, constraint: _Move) -> Iterator[BreakingReason]:
    before, after = map(_text, constraint)
    if not _KEYS.isdisjoint({before, after}):
        yield BreakingReason(kind=BreakingKind.KEY_CHANGED, field=field, before=before, after=after)
    elif after == _NOT_NULL:
        yield BreakingReason(kind=BreakingKind.NOT_NULL_ADDED, field=field)


def type_of_column(member: Document) -> ColumnType:
    """Return the type that a column, as a document, has."""
    length, precision, scale = (_size(member.get(key)) for key in ("dataLength", "precision", "scale"))
    name, element = (_text(member.get(key)) for key in ("dataType", "arrayDataType"))
    return ColumnType(name, length, precision, scale, element)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _changed_value(rule: Path, change: ChangeDescription) -> Iterator[BreakingReason]:
    for field in change.fields_updated:
        path = tuple(fqn.steps_of(field.name))
        if path[: len(rule)] == rule:
            before, after = (_short(path, value) for value in (field.old_value, field.new_value))
            yield BreakingReason(kind=BreakingKind.VALUE_CHANGED, field=field.name, before=before, after=after)


def _short(path: Path, value: object) -> str | None:
    """Return a value as reasons name it; None for one that they do not repeat."""
    if path[0] == MODEL_ADDRESS or value is None or isinstance(value, dict | list):
        return None
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _changed_keys(moves: Mapping[Path, _Move], _after: Document) -> Iterator[BreakingReason]:
    move = moves.get((_CONSTRAINTS,))
    if move is not None:
        before, after = _keys_in(move.before), _keys_in(move.after)
        if before != after:
            removed_keys, added_keys = (", ".join(sorted(keys)) or None for keys in (before - after, after - before))
            yield BreakingReason(
                kind=BreakingKind.KEY_CHANGED, field=_CONSTRAINTS, before=removed_keys, after=added_keys
            )


def _keys_in(constraints: object) -> frozenset[str]:
    """Return the primary and unique keys in a table's constraints, their columns in one order."""
    keys = (one for one in documents.members(documents.decode(constraints)) if one.get("constraintType") in _KEYS)
    columns_by_key = ((one["constraintType"], sorted(map(str, one.get("columns") or ()))) for one in keys)
    return frozenset(f"{kind} ({', '.join(columns)})" for kind, columns in columns_by_key)


def _incompatible_schemas(moves: Mapping[Path, _Move], after: Document) -> Iterator[BreakingReason]:
    for container, is_written in _CONTAINERS.items():
        text = moves.get((container, "schemaText"))
        language = value_at(after, (container, "schemaType"))
        move = moves.get((container, "schemaType"), _Move(language, language))
        if text is None or not (isinstance(text.before, str) and isinstance(text.after, str)):
            continue
        if move.before != move.after and move.before and move.after:
            before, now = str(move.before), str(move.after)
            yield BreakingReason(kind=BreakingKind.SCHEMA_INCOMPATIBLE, field=container, before=before, after=now)
            continue
        reader, writer = (text.after, text.before) if is_written else (text.before, text.after)
        problem = incompatibility(str(language), reader=reader, writer=writer, tells_writer=is_written)
        if problem is not None:
            words = f"by the rules of {_RULES_OF.get(str(language), language)}, {problem}"[:_LONGEST_VALUE]
            yield BreakingReason(kind=BreakingKind.SCHEMA_INCOMPATIBLE, field=container, after=words)


def _changed_signature(moves: Mapping[Path, _Move], _after: Document) -> Iterator[BreakingReason]:
    move = moves.get(("storedProcedureCode",))
    if move is None:
        return
    before, after = map(_signature_in, (move.before, move.after))
    if before is not None and after is not None and before.casefold() != after.casefold():
        values = {"before": before[:_LONGEST_VALUE], "after": after[:_LONGEST_VALUE]}
        yield BreakingReason(kind=BreakingKind.SIGNATURE_CHANGED, field="storedProcedureCode", **values)


def _signature_in(code: object) -> str | None:
    """Return the parameters, and the type returned, that a procedure's code declares; None if it declares none."""
    code = documents.decode(code)
    text = code.get("code") if isinstance(code, dict) else code
    begin = _SIGNATURE.search(text) if isinstance(text, str) else None
    if begin is None or not isinstance(text, str):
        return None
    end = _closing_parenthesis(text, begin.end())
    if end is None:
        return None
    parameters = _SPACES.sub(" ", text[begin.end() : end]).strip().replace(" ,", ",")
    returned = _RETURNED.match(text, end + 1)
    return f"({parameters})" + ("" if returned is None else f" returns {returned['type']}")


def _closing_parenthesis(text: str, begin: int) -> int | None:
    depth = 1
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return at
    return None


class _Judge(NamedTuple):
    """What breaks consumers beside lists of members and values: the keys it reads, and how it judges their changes."""

    heads: tuple[str, ...]
    reasons: Callable[[Mapping[Path, _Move], Document], Iterable[BreakingReason]]


_OF_SCHEMAS = _Judge(tuple(_CONTAINERS), _incompatible_schemas)
_FURTHER: dict[str, _Judge] = {
    "table": _Judge((_CONSTRAINTS,), _changed_keys),
    "topic": _OF_SCHEMAS,
    "apiEndpoint": _OF_SCHEMAS,
    "storedProcedure": _Judge(("storedProcedureCode",), _changed_signature),
}

MAY_BREAK: dict[EventType, frozenset[str] | None] = {
    **dict.fromkeys(_JUDGED, frozenset(name for name in ENTITY_TYPES if _heads(name))),
    EventType.ENTITY_SOFT_DELETED: None,
    EventType.ENTITY_DELETED: None,
}
"""Types of events that may break who reads an asset, with the types of their entities; None for all."""
