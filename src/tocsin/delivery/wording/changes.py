"""Text of change events for recipients: a headline and lines, shared by all channels.

Field names are paths (``columns.email.description``); readers see "description of column email changed".
Next: ``delivery/channels/email/render.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from tocsin.conditions.changes import ASSET, TAG, TERM, TIER, ChangeOperation, EventChange, changes_of, kind_of
from tocsin.delivery.lines import CONTROL, ChangeLine, clean_line, cut
from tocsin.delivery.wording.reports import is_headed_by_report, report_line
from tocsin.delivery.wording.threads import subject_of, thread_headline, thread_lines
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.notification import Reason
from tocsin.model.secret import PARTS
from tocsin.model.status import INGESTION_STATES, RESULT_STATUSES, RUN_STATUSES
from tocsin.model.thread import THREAD

_MEMBERS = {
    "columns": "column",
    "children": "column",
    "tasks": "task",
    "tags": "tag",
    "owners": "owner",
    "reviewers": "reviewer",
    "experts": "expert",
    "domains": "domain",
    "dataProducts": "data product",
    "consumesFrom": "consumed data product",
    "providesTo": "provided data product",
    "followers": "follower",
    "members": "member",
    "teams": "team",
    "users": "user",
    "parents": "parent",
    "roles": "role",
    "defaultRoles": "default role",
    "policies": "policy",
    "charts": "chart",
    "dashboards": "dashboard",
    "dataModels": "data model",
    "relatedMetrics": "related metric",
    "queryUsedIn": "use in",
    "testSuites": "test suite",
    "tests": "test",
    "fields": "field",
    "schemaFields": "field",
    "mlFeatures": "feature",
    "parameterValues": "parameter",
    "tableConstraints": "constraint",
}
_IDENTITIES = ("name", "tagFQN", "fullyQualifiedName", "displayName", "id")
_WHOLE = {
    EventType.ENTITY_CREATED: "created",
    EventType.ENTITY_SOFT_DELETED: "deleted",
    EventType.ENTITY_DELETED: "permanently deleted",
    EventType.ENTITY_RESTORED: "restored",
    EventType.USER_LOGIN: "logged in",
    EventType.USER_LOGOUT: "logged out",
}
_DONE = {ChangeOperation.ADD: "added", ChangeOperation.REMOVE: "removed", ChangeOperation.MODIFY: "changed"}
_TOWARDS = {"added": "to", "removed": "from"}
_FATES = {"created": "created", "softDeleted": "deleted", "deleted": "permanently deleted", "restored": "restored"}
_LABELS = frozenset({TAG, TIER, TERM})
_EVENT_TYPES = frozenset(one.value for one in EventType)
_REPORTS = {"quality": "test", "run": "run"}
_STATUSES = frozenset({*RESULT_STATUSES, *RUN_STATUSES, *INGESTION_STATES})
_BECOMES = frozenset({TIER, "certification", "quality"})
"""Categories of which an asset has one value at a time; where it changes, that is the new one."""
_GONE_TIER = re.compile(r"tier \S+ removed")
Value = Any  # Any: a JSON value of whatever field changed


def name_of(event: ChangeEvent) -> str:
    """Return what people call the changed asset, or the one that a thread is about."""
    if event.entity_type == THREAD:
        return subject_of(event)
    entity = event.entity or {}
    last = _path(event.entity_fully_qualified_name or event.entity_id)[-1]
    return clean_line(str(entity.get("displayName") or entity.get("name") or last))


def headline(event: ChangeEvent, reasons: Sequence[Reason] = ()) -> str:
    """Return one line that says what changed, such as ``orders: column email removed``.

    It addresses the recipient by their ``reasons``: ``ann mentioned you in a conversation about orders``.
    """
    if event.entity_type == THREAD:
        return thread_headline(event, {reason.kind for reason in reasons})
    lines = [] if event.event_type in _WHOLE else change_lines(event)
    summary = _WHOLE.get(event.event_type) or (lines[0].text if lines else _in_words(event.event_type))
    fields = event.change_description.paths() if event.change_description else ()
    if is_headed_by_report(fields):
        return f"{name_of(event)}: {clean_line(summary)}"
    more_text = f" and {len(lines) - 1} more change{'s'[: len(lines) - 2]}" if len(lines) > 1 else ""
    return f"{name_of(event)}: {clean_line(summary)}{more_text}"


def change_lines(event: ChangeEvent) -> list[ChangeLine]:
    """Return one line for each change of the event: a test result or run first, then added, updated, deleted.

    The labels that were added or removed with columns come last.
    """
    if event.entity_type == THREAD and (thread_changes := thread_lines(event)):
        return thread_changes
    if event.change_description is None:
        return []
    lines = list(_tiers_moved(event, _description_lines(event.change_description)))
    texts = {line.text for line in lines}
    return lines + [ChangeLine(text) for text in dict.fromkeys(_labels(event)) if text not in texts]


def link_to(event: ChangeEvent, base_url: str) -> str:
    """Return the address of the changed asset's page; of the first page for a type that has none."""
    entity_type, entity_id = asset_of(event)
    row = ENTITY_TYPES.get(entity_type)
    return f"{base_url}/#/{row.collection}/{entity_id}" if row else f"{base_url}/"


def asset_of(event: ChangeEvent) -> tuple[str, str]:
    """Return type and id of the changed asset, or of the one that a thread is about."""
    asset = (event.entity or {}).get("entityRef") if event.entity_type == THREAD else None
    return (asset["type"], asset["id"]) if asset else (event.entity_type, event.entity_id)


def version_lines(version: Document) -> list[str]:
    """Return the changes of a stored version in words: ``created`` for the first."""
    described = ChangeDescription.model_validate(version.get("changeDescription") or {})
    return [line.text for line in _description_lines(described)] or ["created"]


def _tiers_moved(event: ChangeEvent, lines: Sequence[ChangeLine]) -> Iterator[ChangeLine]:
    """Yield ``lines`` with the tier that went and the one that came as one change, as ``changes_of`` sees them."""
    came = {
        f"tier {change.value} added": change
        for change in changes_of(event)
        if change[:3] == (TIER, ChangeOperation.MODIFY, ASSET)
    }
    went = [line.text.split(" ")[1] for line in lines if came and _GONE_TIER.fullmatch(line.text)]
    for line in lines:
        if line.text in came:
            moved = came[line.text]
            yield ChangeLine(description_of(moved), old=", ".join(went) or None, new=moved.value)
        elif not (came and _GONE_TIER.fullmatch(line.text)):
            yield line


def semantic_changes(event: ChangeEvent) -> list[Document]:
    """Return what each change of the event means, as JSON: its parts, and ``text`` that says it in words."""
    return [
        {
            "category": change.category,
            "operation": change.operation.value,
            "target": change.target,
            **({"value": change.value} if change.value is not None else {}),
            "text": description_of(change),
        }
        for change in changes_of(event)
    ]


def description_of(change: EventChange) -> str:
    """Return a change in words: ``tag PII.Sensitive added to column email``."""
    value, verb = change.value or "", _DONE[change.operation]
    where = "" if change.target == ASSET else _subject(_path(change.target))
    if change.category == "schema":
        return f"{where or clean_line(f'schema {value}'.rstrip())} {verb}"
    if where:
        subject = clean_line(f"{_in_words(change.category)} {value}")
        return f"{subject} {verb} {_TOWARDS[verb]} {where}" if verb in _TOWARDS else f"{subject} of {where} {verb}"
    if (asset_text := _described_asset(change, value)) is not None:
        return clean_line(asset_text)
    return f"{clean_line(f'{_in_words(change.category)} {value}')} {verb}"


def _described_asset(change: EventChange, value: str) -> str | None:
    """Return how people say this change of the asset itself; None when they say it as they say others."""
    match change.category:
        case "lifecycle" if value in _FATES:
            return _FATES[value]
        case "quality" | "run" if value in _STATUSES:
            return f"{_REPORTS[change.category]} {_in_words(value)}"
        case "quality" | "usage" if value in _EVENT_TYPES:
            return _in_words(value)
        case "other" if value:
            return f"{_in_words(value)} {_DONE[change.operation]}"
        case category if category in _BECOMES and value and change.operation is ChangeOperation.MODIFY:
            return f"{_in_words(category)} changed to {value}"
        case _:
            return None


def _description_lines(described: ChangeDescription) -> list[ChangeLine]:
    changes = [
        *((change, "added") for change in described.fields_added),
        *((change, "changed") for change in described.fields_updated),
        *((change, "removed") for change in described.fields_deleted),
    ]
    changes.sort(key=lambda one: not is_headed_by_report((one[0].name,)))
    return [line for change, verb in changes for line in _lines(change, verb)]


def _labels(event: ChangeEvent) -> Iterator[str]:
    """Yield in words the labels added to members or removed from them."""
    for change in changes_of(event):
        if (
            change.category in _LABELS
            and change.target != ASSET
            and change.value
            and change.operation is not ChangeOperation.MODIFY
        ):
            yield description_of(change)


def _lines(change: FieldChange, verb: str) -> Iterator[ChangeLine]:
    """Yield the lines of one field change; members added to or removed from a list get one line each."""
    path = _path(change.name)
    if report := report_line(path[-1], _parse_value(change.old_value), _parse_value(change.new_value)):
        yield report
        return
    value = _parse_value(change.old_value if verb == "removed" else change.new_value)
    if path == ["deleted"]:
        yield ChangeLine("deleted" if value is True else "restored")
        return
    members = value if isinstance(value, list) else [value]
    if verb != "changed" and path[-1] in _MEMBERS and all(isinstance(member, dict | str) for member in members):
        where = f" {_TOWARDS[verb]} {_subject(path[:-1])}" if len(path) > 1 else ""
        for member in members:
            yield ChangeLine(f"{_noun(path[-1], member)} {_identity(member)} {verb}{where}")
        return
    if path[0] in PARTS:  # may contain secrets next to the change
        yield ChangeLine(f"{_subject(path)} {verb}")
        return
    if verb == "changed" and _is_same_set(_parse_value(change.old_value), value):
        verb = "reordered"
    yield ChangeLine(f"{_subject(path)} {verb}", _value_text(change.old_value), _value_text(change.new_value))


def _noun(key: str, member: Value) -> str:
    """Return what a member of the list ``key`` is called."""
    is_label = key == "tags" and isinstance(member, dict) and isinstance(member.get("tagFQN"), str)
    return _in_words(kind_of(member)) if is_label else _MEMBERS[key]


def _path(name: str) -> list[str]:
    """Return the steps of a field's path; a name that is no path is its own only step."""
    try:
        return fqn.split(name)
    except InvalidInput:
        return [name]


def _subject(path: list[str]) -> str:
    """Return the words for a path: ``columns.email.description`` is "description of column email"."""
    head, *steps = path
    if head == "extension" and steps:
        return clean_line(f"custom property {'.'.join(steps)}")
    if head not in _MEMBERS or not steps:
        return clean_line(" ".join(_in_words(step) for step in path))
    names = [steps.pop(0)]
    while len(steps) > 1 and steps[0] == "children":
        names.append(steps[1])
        steps = steps[2:]
    member = f"{_MEMBERS[head]} {'.'.join(names)}"
    return clean_line(f"{' '.join(_in_words(step) for step in steps)} of {member}" if steps else member)


def _is_same_set(old: Value, new: Value) -> bool:
    """Return whether these are lists of the same names in another order."""
    if not (isinstance(old, list) and isinstance(new, list) and old):
        return False
    return all(isinstance(name, str) for name in (*old, *new)) and sorted(old) == sorted(new)


def _identity(member: Value) -> str:
    if not isinstance(member, dict):
        return clean_line(str(member))
    return clean_line(str(next((member[key] for key in _IDENTITIES if member.get(key)), "?")))


def _parse_value(value: Value) -> Value:
    """Return the value behind upstream's habit of writing JSON into a string."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _value_text(value: Value) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return cut(CONTROL.sub(" ", text))


def _in_words(name: str) -> str:
    """Return a camelCase name as lower-case words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
