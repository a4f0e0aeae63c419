"""Resolution of tasks, which writes the agreed description or tags to the asset.

The asset changes as by any other write, with its own version and event. Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

import copy
from typing import Any

import orjson

from tocsin.catalogue.feed.field_updates import carry_out_update
from tocsin.errors import InvalidInput
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Stored
from tocsin.model.suggestion import labels_of, suggested_labels
from tocsin.model.thread import DESCRIPTION_TASKS, FACTS, TAG_TASKS, StoredThread

Value = Any  # Any: a description or a list of tag labels

_NESTED = {
    "messageSchema": ("messageSchema", "schemaFields"),
    "requestSchema": ("requestSchema", "schemaFields"),
    "responseSchema": ("responseSchema", "schemaFields"),
    "dataModel": ("dataModel", "columns"),
}
"""Paths to the members of a field that is no list itself; links name the field alone."""

_MEMBERS = {*_NESTED, "columns", "tasks", "fields", "mlFeatures"}
"""Fields whose members a link may lead to."""


def field_of(kind: str) -> str | None:
    """Return the key of the asset that a task of this type writes; None when it writes nothing."""
    if kind in DESCRIPTION_TASKS:
        return "description"
    return "tags" if kind in TAG_TASKS else None


def check_target(kind: str, asset: Stored, steps: tuple[str, ...]) -> None:
    """Refuse a task that could never be resolved: its link leads nowhere."""
    key = field_of(kind)
    if key is not None:
        _target(copy.deepcopy(asset.document), steps, key)


def check_member(asset: Stored, steps: tuple[str, ...]) -> None:
    """Refuse a link to a member, say a column, that the asset has not."""
    if len(steps) > 1 and (steps[0] in _MEMBERS):
        _member_of(asset.document, *steps[:2])


def target_of(asset: Stored, steps: tuple[str, ...], key: str) -> Document:
    """Return what of an asset a task is about: what holds ``key``. Raises ``InvalidInput``: the link leads nowhere."""
    return _target(asset.document, steps, key)


def text_of(value: Value) -> str:
    """Return a value of an asset as tasks spell it: a description, or tag labels as JSON."""
    if isinstance(value, list):
        return orjson.dumps(value).decode()
    return value or ""


def value_of(thread: StoredThread, asset: Stored, stated_value: str | None) -> str:
    """Return what a task writes when it is approved: what who approves it says, or what it suggests.

    Tags that a payload adds or removes are applied to those that the asset has now.

    Raises
    ------
    InvalidInput : there is neither
    """
    if stated_value is not None:
        return stated_value
    payload, suggestion = thread.document.get(FACTS, {}).get("payload") or {}, thread.task.get("suggestion")
    if suggestion is None:
        raise InvalidInput("is missing: the task suggests no value", field="newValue")
    if field_of(thread.task["type"]) == "tags" and payload:
        return text_of(tags_after(target_of(asset, thread.steps, "tags"), payload))
    return str(suggestion)


def tags_after(target: Document, payload: Document) -> list[Document]:
    """Return the tag labels of a part of an asset once what a payload adds and removes is added and removed."""
    if payload.get("suggestedValue") is not None:
        additions = suggested_labels(payload["suggestedValue"])
    else:
        additions = payload.get("tagsToAdd") or []
    removed_names = {one["tagFQN"] for one in payload.get("tagsToRemove") or ()}
    present_labels = [] if payload.get("operation") == "Replace" else target.get("tags") or []
    labels = {one["tagFQN"]: one for one in (*additions, *present_labels)}
    return [label for name, label in labels.items() if name not in removed_names]


def carry_out(record: Record, thread: StoredThread, asset: Stored, new_value: str) -> ChangeEvent | None:
    """Write what the task asked for; return the asset's own event, None when nothing changes."""
    key = field_of(thread.task["type"])
    if key is None:
        return carry_out_update(record, thread, asset)
    value: Value = new_value if key == "description" else labels_of(new_value)
    document = copy.deepcopy(asset.document)
    _target(document, thread.steps, key)[key] = value
    fields = patched_fields(ENTITY_TYPES[asset.entity_type], asset, document)
    return change(record, record.resolver(), asset, fields).event


def _target(document: Document, steps: tuple[str, ...], key: str) -> Document:
    """Return what holds ``key``: the document itself, or the member of it that the steps lead to."""
    if steps in ((), (key,)):
        return document
    if len(steps) not in (2, 3) or (len(steps) == 3 and steps[2] != key):
        raise InvalidInput(f"the task must be about …::{key}> or …::columns::name::{key}>", field="about")
    return _member_of(document, *steps[:2])


def _member_of(document: Document, field: str, name: str) -> Document:
    """Return the member of that name under a field."""
    members: object = document
    for inner in _NESTED.get(field, (field,)):
        members = members.get(inner) if isinstance(members, dict) else None
    member = _member(members, name)
    if member is None:
        raise InvalidInput(f"{field} has no member {name!r}", field="about")
    return member


def _member(members: object, path: str) -> Document | None:
    """Return the member of that name, or of that path through nested members."""
    member = _member_called(members, path)
    if member is not None:
        return member
    at: Document | None = None
    for name in _parts(path):
        at = _member_called(members, name)
        members = (at or {}).get("children")
    return at


def _member_called(members: object, name: str) -> Document | None:
    listed = members if isinstance(members, list) else []
    return next((one for one in listed if isinstance(one, dict) and one.get("name") == name), None)


def _parts(path: str) -> list[str]:
    try:
        return fqn.split(path)
    except InvalidInput:
        return []
