"""How is a change said in a few words? Event to headline and lines, for everything that people read.

Field names are paths (``columns.email.description``); whoever is told wants "description of column email
changed". Nothing here knows a channel. Next: ``flow/send/letter.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.change import ChangeEvent, EventType, FieldChange

SHOWN_LIMIT = 500
"""Most characters of an old or new value that are shown."""

_HEADLINE_LIMIT = 120
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_MEMBERS = {
    "columns": "column",
    "children": "column",
    "tasks": "task",
    "tags": "tag",
    "owners": "owner",
    "domains": "domain",
    "followers": "follower",
    "members": "member",
    "charts": "chart",
    "parameterValues": "parameter",
    "tableConstraints": "constraint",
}
_IDENTITIES = ("name", "tagFQN", "fullyQualifiedName", "displayName", "id")
_NAMED_BY_STATUS = {"testCaseResult": ("test", "testCaseStatus"), "pipelineStatus": ("run", "executionStatus")}
_WHOLE = {
    EventType.ENTITY_CREATED: "created",
    EventType.ENTITY_SOFT_DELETED: "deleted",
    EventType.ENTITY_DELETED: "deleted for good",
    EventType.ENTITY_RESTORED: "restored",
}
Value = Any  # Any: a JSON value of whatever field changed


@dataclass(frozen=True)
class ChangeLine:
    """One change: what happened, and the old and new value as text (None: there is none to show)."""

    text: str
    old: str | None = None
    new: str | None = None


def clean_line(text: str, *, limit: int = _HEADLINE_LIMIT) -> str:
    """Return ``text`` on one line, without control and direction characters, cut at ``limit`` characters."""
    return cut(_CONTROL.sub(" ", text).strip(), limit=limit)


def cut(text: str, *, limit: int = SHOWN_LIMIT) -> str:
    """Return ``text``, shortened to ``limit`` characters with an ellipsis when it is longer."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def name_of(event: ChangeEvent) -> str:
    """Return what people call the changed asset."""
    entity = event.entity or {}
    last = _path(event.entity_fully_qualified_name or event.entity_id)[-1]
    return clean_line(str(entity.get("displayName") or entity.get("name") or last))


def headline(event: ChangeEvent) -> str:
    """Return one line that says what changed, such as ``orders: column email removed``."""
    lines = [] if event.event_type in _WHOLE else change_lines(event)
    what = _WHOLE.get(event.event_type) or (lines[0].text if lines else _spaced(event.event_type))
    more = f" and {len(lines) - 1} more change{'s'[: len(lines) - 2]}" if len(lines) > 1 else ""
    return f"{name_of(event)}: {clean_line(what)}{more}"


def change_lines(event: ChangeEvent) -> list[ChangeLine]:
    """Return one line for each change of the event, in the order added, updated, deleted."""
    described = event.change_description
    if described is None:
        return []
    return [
        *(line for change in described.fields_added for line in _lines(change, "added")),
        *(line for change in described.fields_updated for line in _lines(change, "changed")),
        *(line for change in described.fields_deleted for line in _lines(change, "removed")),
    ]


def _lines(change: FieldChange, verb: str) -> Iterator[ChangeLine]:
    """Yield the lines of one field change; members added to or removed from a list get one line each."""
    path = _path(change.name)
    if path[-1] in _NAMED_BY_STATUS:
        yield _status_line(change, *_NAMED_BY_STATUS[path[-1]])
        return
    value = _parsed(change.old_value if verb == "removed" else change.new_value)
    members = value if isinstance(value, list) else [value]
    if verb != "changed" and path[-1] in _MEMBERS and all(isinstance(member, dict | str) for member in members):
        of = f" of {_subject(path[:-1])}" if len(path) > 1 else ""
        for member in members:
            yield ChangeLine(f"{_MEMBERS[path[-1]]} {_identity(member)}{of} {verb}")
        return
    if verb == "changed" and _is_same_set(_parsed(change.old_value), value):
        verb = "reordered"
    yield ChangeLine(f"{_subject(path)} {verb}", _shown(change.old_value), _shown(change.new_value))


def _status_line(change: FieldChange, noun: str, key: str) -> ChangeLine:
    value = _parsed(change.new_value)
    status = value.get(key) if isinstance(value, dict) else None
    return ChangeLine(f"{noun} {_spaced(str(status or 'reported'))}", new=_shown(value))


def _path(name: str) -> list[str]:
    """Return the steps of a field's path; a name that is no path is its own only step."""
    try:
        return fqn.split(name)
    except InvalidInput:
        return [name]


def _subject(path: list[str]) -> str:
    """Return the words for a path: ``columns.email.description`` is "description of column email"."""
    head, *rest = path
    if head == "extension" and rest:
        return clean_line(f"custom property {'.'.join(rest)}")
    if head not in _MEMBERS or not rest:
        return clean_line(" ".join(_spaced(step) for step in path))
    names = [rest.pop(0)]
    while len(rest) > 1 and rest[0] == "children":
        names.append(rest[1])
        rest = rest[2:]
    whole = f"{_MEMBERS[head]} {'.'.join(names)}"
    return clean_line(f"{' '.join(_spaced(step) for step in rest)} of {whole}" if rest else whole)


def _is_same_set(old: Value, new: Value) -> bool:
    """Say whether these are lists of the same names in another order."""
    if not (isinstance(old, list) and isinstance(new, list) and old):
        return False
    return all(isinstance(name, str) for name in (*old, *new)) and sorted(old) == sorted(new)


def _identity(member: Value) -> str:
    if not isinstance(member, dict):
        return clean_line(str(member))
    return clean_line(str(next((member[key] for key in _IDENTITIES if member.get(key)), "?")))


def _parsed(value: Value) -> Value:
    """Return the value behind upstream's habit of writing JSON into a string."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _shown(value: Value) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return cut(_CONTROL.sub(" ", text))


def _spaced(name: str) -> str:
    """Return a camelCase name as lower-case words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
