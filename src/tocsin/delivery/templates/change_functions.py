"""Functions of notification templates about changes and assets: groups of changes, values, dates, links, mentions.

Source: the behaviour of OpenMetadata 1.13's helpers of the same names. Next: ``delivery/templates/render.py``.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from html import escape

import orjson

from tocsin.clock import to_datetime
from tocsin.delivery.templates.arguments import Arguments
from tocsin.delivery.templates.values import Markup, Value, escape_text, text_of
from tocsin.model.entity_types import ENTITY_TYPES

_CHARS_PER_STEP = 64
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LATEST_MS = 253_402_300_799_000
_ABOUT = re.compile(r"<#E::(.{1,4000})>", re.DOTALL)
_LINK_KEYS = ("entityType", "entityFQN", "field", "arrayField", "arrayValue")
_MENTION = re.compile(r"<#E(?:::|\.)[^|<>]{1,1000}\|\[@([^\]<>]{1,400})\]\(([^)\s<>]{1,2000})\)>")
_WEB = ("https://", "http://")


def group_changes(arguments: Arguments) -> Value:
    """Return ``updates``, ``adds`` and ``deletes``; what was deleted and added under one name is an update."""
    description = arguments.first if isinstance(arguments.first, dict) else {}
    updates, additions, deletions = (
        _changes(description, key) for key in ("fieldsUpdated", "fieldsAdded", "fieldsDeleted")
    )
    arguments.budget.step(len(updates) + len(additions) + len(deletions))
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for index, change in enumerate(additions):
        waiting[text_of(change.get("name"))].append(index)
    replacements: list[Value] = []
    removals: list[Value] = []
    used_places: set[int] = set()
    for change in deletions:
        same = waiting.get(text_of(change.get("name")))
        if not same:
            removals.append(_change(change, "oldValue", "newValue"))
            continue
        index = same.popleft()
        used_places.add(index)
        replacements.append({"name": change.get("name"), "oldValue": change.get("oldValue"), **_new(additions[index])})
    return {
        "updates": [*(_change(one, "oldValue", "newValue") for one in updates), *replacements],
        "adds": [_change(one, "newValue") for index, one in enumerate(additions) if index not in used_places],
        "deletes": removals,
    }


def has_field(arguments: Arguments) -> Value:
    """Return whether a group of changes names a field."""
    if not isinstance(arguments.first, dict) or arguments.second is None:
        return False
    lists = [arguments.first.get(key) for key in ("updates", "adds", "deletes")]
    changes = [one for many in lists if isinstance(many, list) for one in many if isinstance(one, dict)]
    arguments.budget.step(len(changes))
    return any(one.get("name") == text_of(arguments.second) for one in changes)


def pluck(arguments: Arguments) -> Value:
    """Return a property of an object, or of each object of a list; JSON text is read first."""
    value = _read(arguments)
    if arguments.second is None or value is None:
        return value
    name = text_of(arguments.second)
    if isinstance(value, list):
        values = [one.get(name) for one in value if isinstance(one, dict)]
        return [one for one in values if one is not None and one != ""]
    return value.get(name) if isinstance(value, dict) else None


def column_value(arguments: Arguments) -> Value:
    """Return a column as ``name (type, constraint)``; other values as text."""
    column = arguments.first
    if column is None:
        return Markup("<em>empty</em>")
    if not isinstance(column, dict):
        return text_of(column)
    name, about = text_of(column.get("name")), [column.get("dataType"), column.get("constraint")]
    if about[0] is None:
        return name
    return f"{name} ({', '.join(text_of(one) for one in about if one is not None)})"


def date(arguments: Arguments) -> Value:
    """Return epoch milliseconds as a date and time in UTC; other values as text."""
    value = arguments.first
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        value = int(value[:20])
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LATEST_MS:
        return arguments.text()
    return to_datetime(value).strftime("%Y-%m-%d %H:%M:%S")


def domain(arguments: Arguments) -> Value:
    """Return the name of a domain: of a reference, or of an id that the asset's domains have."""
    value = arguments.first
    if value is None:
        return "(no domain)"
    if isinstance(value, str):
        entity = arguments.root.get("entity")
        domains = entity.get("domains") if isinstance(entity, dict) else None
        matching = [one for one in domains or () if isinstance(one, dict) and one.get("id") == value]
        value = matching[0] if matching else value
    if not isinstance(value, dict):
        return text_of(value)
    names = (value.get(key) for key in ("displayName", "name", "fullyQualifiedName"))
    return next((text_of(name) for name in names if name), text_of(value))


def entity_url(arguments: Arguments) -> Value:
    """Return the address of an entity's page: by its type and the entity, or its full name.

    What is no entity of the event has no page that can be addressed by name; then it is the first page.
    """
    entity_type, entity = text_of(arguments.first).strip(), arguments.second
    if isinstance(arguments.first, dict):
        entity_type, entity = text_of(arguments.first.get("type")), arguments.first
    if not entity_type or not entity:
        return None
    address, event = text_of(arguments.root.get("baseUrl")), arguments.root.get("event")
    entity_id = entity.get("id") if isinstance(entity, dict) else None
    if isinstance(entity, str) and isinstance(event, dict) and entity == event.get("entityFullyQualifiedName"):
        entity_id = event.get("entityId")
    row = ENTITY_TYPES.get(entity_type)
    if row is None or not isinstance(entity_id, str) or not _ID.fullmatch(entity_id):
        return f"{address}/"
    return f"{address}/#/{row.collection}/{entity_id}"


def entity_link(arguments: Arguments) -> Value:
    """Return the parts of an entity link, by ``_LINK_KEYS``; None for a text that is none."""
    match = _ABOUT.fullmatch(arguments.text().strip())
    parts = [part.strip() for part in match[1].split("::")] if match else []
    if len(parts) < 2:
        return None
    return {key: part for key, part in zip(_LINK_KEYS, parts, strict=False) if part}


def mentions(arguments: Arguments) -> Value:
    """Return a message as markup, its mentions as links; all other text is escaped."""
    text, end, parts = arguments.text(), 0, list[str]()
    arguments.budget.step(len(text) // _CHARS_PER_STEP)
    for match in _MENTION.finditer(text):
        name, address = escape(f"@{match[1]}"), match[2]
        link = f'<a href="{escape(address, quote=True)}">{name}</a>' if address.startswith(_WEB) else name
        parts += [escape_text(text[end : match.start()]), link]
        end = match.end()
    return Markup("".join([*parts, escape_text(text[end:])]))


def _read(arguments: Arguments) -> Value:
    value = arguments.first
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    arguments.budget.step(len(value) // _CHARS_PER_STEP)
    arguments.budget.make(len(value))
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _changes(described: dict[str, Value], key: str) -> list[dict[str, Value]]:
    changes = described.get(key)
    return [one for one in changes if isinstance(one, dict)] if isinstance(changes, list) else []


def _change(change: dict[str, Value], *keys: str) -> dict[str, Value]:
    return {key: change.get(key) for key in ("name", *keys)}


def _new(change: dict[str, Value]) -> dict[str, Value]:
    return {"newValue": change.get("newValue")}
