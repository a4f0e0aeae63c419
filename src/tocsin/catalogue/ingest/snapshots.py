"""Entities and changes as another system's events have them, brought to what our write path takes.

Ids of another system are left out, so that references are found by their names; so is what only a server writes.
Next: ``catalogue/ingest/requests.py``.
"""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import ValidationError

from tocsin.errors import InvalidInput
from tocsin.flow.capture.bounds import check_depth
from tocsin.model import fqn as names
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document, map_objects
from tocsin.model.entity_type import EntityType
from tocsin.model.list_identity import MEMBER_LISTS, REFERENCES, SERVER_KEPT
from tocsin.model.validation_errors import message_of, place_of

MOST_CHANGES = 1_000
"""Field changes of one event."""

_NOT_ASKED_FOR = frozenset({"deleted", "changeSummary"})
"""Further keys of an entity that no request to create it has."""

_NUL = "\\u0000"
"""How JSON spells the one character that PostgreSQL cannot hold."""

Value = Any  # Any: a JSON value


def as_document(entity: object, place: str) -> Document | None:
    """Return an entity of an event, which upstream's events have as JSON text.

    Raises
    ------
    InvalidInput : it is no JSON object
    """
    if isinstance(entity, str):
        entity = _json_in(entity) or entity
    if entity is not None and not isinstance(entity, dict):
        raise InvalidInput("must be a JSON object", field=place)
    return entity


def as_change(description: object, place: str) -> ChangeDescription | None:
    """Return the change description of an event; None if it describes no change.

    Raises
    ------
    InvalidInput : it is none; ``field`` says where
    """
    if description is None:
        return None
    if not isinstance(description, dict):
        raise InvalidInput("must be a JSON object", field=place)
    lists = {key: description.get(key) or [] for key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")}
    try:
        change = ChangeDescription.model_validate(lists)
    except ValidationError as refused:
        first = refused.errors(include_url=False)[0]
        raise InvalidInput(message_of(first), field=f"{place}.{place_of(first['loc'])}") from refused
    fields = (*change.fields_added, *change.fields_updated, *change.fields_deleted)
    if len(fields) > MOST_CHANGES:
        raise InvalidInput(f"has more than {MOST_CHANGES} changes", field=place)
    return (
        None
        if not fields
        else ChangeDescription(
            fields_added=tuple(map(_with_lists, change.fields_added)),
            fields_updated=tuple(map(_with_lists, change.fields_updated)),
            fields_deleted=tuple(map(_with_lists, change.fields_deleted)),
        )
    )


def request_of(kind: EntityType, entity: Document) -> Document:
    """Return an entity of another system as a request to create it."""
    taken_over = () if kind.is_service else ("serviceType",)
    left_out = SERVER_KEPT.union(kind.ancestors, kind.separate_keys, taken_over, _NOT_ASKED_FOR)
    fields = {key: by_name(value) for key, value in entity.items() if key not in left_out and value is not None}
    return {key: value for key, value in fields.items() if value or not entity[key]}


def by_name(value: Value) -> Value:
    """Return a value with the references in it by name, without those that are inherited there."""
    return map_objects(_without_inherited(value), _reference_by_name)


def _without_inherited(value: Value) -> Value:
    if not isinstance(value, list):
        return value
    return [one for one in value if not (isinstance(one, dict) and one.get("inherited") is True)]


def _reference_by_name(value: Document) -> Document:
    name = next((key for key in ("fullyQualifiedName", "name") if isinstance(value.get(key), str)), None)
    if name is None or not isinstance(value.get("type"), str) or not isinstance(value.get("id"), str):
        return value
    return {"type": value["type"], name: value[name]}


def _with_lists(change: FieldChange) -> FieldChange:
    """Return a change whose lists are lists: upstream's events have them as JSON texts."""
    key = names.steps_of(change.name)[-1]
    if key not in MEMBER_LISTS and key not in REFERENCES:
        return change
    values = {"old_value": _structure(change.old_value), "new_value": _structure(change.new_value)}
    return change.model_copy(update={key: by_name(value) for key, value in values.items()})


def _structure(value: Value) -> Value:
    parsed = _json_in(value) if isinstance(value, str) and value[:1] in ("[", "{") else value
    return value if parsed is None else parsed


def _json_in(text: str) -> Value:
    """Return the JSON value that a text is; None if it is none that a request may hold."""
    if _NUL in text:
        return None
    try:
        value = orjson.loads(text)
        check_depth({"": value})
    except (orjson.JSONDecodeError, UnicodeEncodeError, InvalidInput):
        return None
    return value
