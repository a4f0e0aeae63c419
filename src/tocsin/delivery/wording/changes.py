"""Text of change events for recipients: a headline and lines, shared by all channels.

Field names are paths (``columns.email.description``); readers see "description of column email changed".
Next: ``delivery/channels/email/render.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from tocsin.conditions.changes import ASSET, TAG, TERM, TIER, ChangeOperation, EventChange, changes_of, kind_of
from tocsin.delivery.dispatch import FailureContext
from tocsin.delivery.lines import SHOWN_LIMIT, ChangeLine, clean_line, in_words
from tocsin.delivery.wording.reports import HEADS, REPORT_LINES, failure_lines
from tocsin.delivery.wording.threads import thread_text
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
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
_LABEL = re.compile(r"tagFQN|\btags\b")
"""What is found in a change of labels, or of members that bring some."""
_SHORT = (",", ":")
_GONE_TIER = re.compile(r"tier \S+ removed")
Value = Any  # Any: a JSON value of whatever field changed


class ChangedAsset(NamedTuple):
    """A changed asset, or the one that a thread is about: its type and id, and what people call it.

    ``page`` is the address of its page below that of the server; the first page for a type that has none.
    """

    entity_type: str
    entity_id: str
    name: str
    page: str


class EventText(NamedTuple):
    """What messages say of an event: its asset, one line that says what changed, a line for each change, and why."""

    asset: ChangedAsset
    headline: str
    lines: list[ChangeLine]
    why: str


def asset_of(event: ChangeEvent) -> ChangedAsset:
    """Return the asset that changed, or the one, or the part of one (``orders.email``), that a thread is about."""
    entity, entity_type, entity_id = event.entity or {}, event.entity_type, event.entity_id
    if entity_type == THREAD:
        about = entity.get("entityRef")
        reference = about if isinstance(about, dict) else {}
        name = reference.get("displayName") or reference.get("name") or event.entity_fully_qualified_name
        try:
            steps = parse_link(entity.get("about"), "about").steps
        except InvalidInput:
            steps = ()
        name = f"{name or 'something'}.{steps[1]}" if len(steps) > 1 else name or "something"
        entity_type, entity_id = (about["type"], about["id"]) if about else (entity_type, entity_id)
    else:
        name = entity.get("displayName") or entity.get("name")
        name = name or fqn.steps_of(event.entity_fully_qualified_name or entity_id)[-1]
    row = ENTITY_TYPES.get(entity_type)
    page = f"/#/{row.collection}/{entity_id}" if row else "/"
    return ChangedAsset(entity_type, entity_id, clean_line(str(name)), page)


def event_text(event: ChangeEvent, reasons: Sequence[Reason] = (), failure: FailureContext | None = None) -> EventText:
    """Return an event in words.

    The headline is such as ``orders: column email removed``; it addresses the recipient by their ``reasons``:
    ``ann mentioned you in a conversation about orders``. Of the lines, a test result or run comes first, then what was
    added, updated and deleted, the labels that were added or removed with columns, last what surrounds the ``failure``
    that the event reports.
    """
    asset, described = asset_of(event), event.change_description
    headline, has_report = "", False
    lines: list[ChangeLine] = []
    if event.entity_type == THREAD:
        headline, lines = thread_text(event, {reason.kind for reason in reasons}, asset.name)
    if not lines and described is not None:
        lines, has_report = _change_lines(described)
        lines = _with_labels(event, lines) if _concerns_labels(described) else lines
    if not headline:
        fate, more_count = _WHOLE.get(event.event_type), len(lines) - 1
        summary = fate or (lines[0].text if lines else in_words(event.event_type))
        is_counted = more_count > 0 and not (fate or has_report)
        more_text = f" and {more_count} more change{'s'[: more_count - 1]}" if is_counted else ""
        headline = f"{asset.name}: {clean_line(summary)}{more_text}"
    lines = [*lines, *failure_lines(failure)] if failure else lines
    why = "; ".join(dict.fromkeys(reason.sentence() for reason in reasons))
    return EventText(asset, headline, lines, why)


def _concerns_labels(described: ChangeDescription) -> bool:
    """Return whether labels, or members that bring some, may be among the changes."""
    changes = (*described.fields_added, *described.fields_updated, *described.fields_deleted)
    return any(_LABEL.search(f"{change.name} {change.old_value!r} {change.new_value!r}") for change in changes)


def version_lines(version: Document) -> list[str]:
    """Return the changes of a stored version in words: ``created`` for the first."""
    described = ChangeDescription.model_validate(version.get("changeDescription") or {})
    return [line.text for line in _change_lines(described)[0]] or ["created"]


def _with_labels(event: ChangeEvent, lines: Sequence[ChangeLine]) -> list[ChangeLine]:
    """Return ``lines`` with the labels of members, and a tier that was replaced as one change."""
    moved = list(_tiers_moved(event, lines))
    texts = {line.text for line in moved}
    return moved + [ChangeLine(text) for text in dict.fromkeys(_labels(event)) if text not in texts]


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
    where = "" if change.target == ASSET else _subject(fqn.steps_of(change.target))
    if change.category == "schema":
        return f"{where or clean_line(f'schema {value}'.rstrip())} {verb}"
    if where:
        subject = clean_line(f"{in_words(change.category)} {value}")
        return f"{subject} {verb} {_TOWARDS[verb]} {where}" if verb in _TOWARDS else f"{subject} of {where} {verb}"
    if (asset_text := _described_asset(change, value)) is not None:
        return clean_line(asset_text)
    return f"{clean_line(f'{in_words(change.category)} {value}')} {verb}"


def _described_asset(change: EventChange, value: str) -> str | None:
    """Return how people say this change of the asset itself; None when they say it as they say others."""
    match change.category:
        case "lifecycle" if value in _FATES:
            return _FATES[value]
        case "quality" | "run" if value in _STATUSES:
            return f"{_REPORTS[change.category]} {in_words(value)}"
        case "quality" | "usage" if value in _EVENT_TYPES:
            return in_words(value)
        case "other" if value:
            return f"{in_words(value)} {_DONE[change.operation]}"
        case category if category in _BECOMES and value and change.operation is ChangeOperation.MODIFY:
            return f"{in_words(category)} changed to {value}"
        case _:
            return None


def _change_lines(described: ChangeDescription) -> tuple[list[ChangeLine], bool]:
    """Return the lines of every field change, those of a test result or run first; whether there is one of these."""
    changes = [
        *((change, "added") for change in described.fields_added),
        *((change, "changed") for change in described.fields_updated),
        *((change, "removed") for change in described.fields_deleted),
    ]
    changes.sort(key=lambda one: one[0].name not in HEADS)
    lines: list[ChangeLine] = []
    for change, verb in changes:
        old, new = (
            _parse_json(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
            for value in (change.old_value, change.new_value)
        )
        report_line = REPORT_LINES.get(change.name.rpartition(".")[2]) if isinstance(new, dict) else None
        if report_line and (line := report_line(old if isinstance(old, dict) else {}, new)):
            lines.append(line)
        else:
            lines += _field_lines(change, verb, old, new)
    return lines, any(change.name in HEADS for change, _ in changes[:1])


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


def _field_lines(change: FieldChange, verb: str, old: Value, new: Value) -> Iterator[ChangeLine]:
    """Yield the lines of one field change; members added to or removed from a list get one line each."""
    path = fqn.steps_of(change.name)
    value = old if verb == "removed" else new
    members = value if isinstance(value, list) else [value]
    if path == ["deleted"]:
        yield ChangeLine("deleted" if value is True else "restored")
    elif verb != "changed" and path[-1] in _MEMBERS and all(isinstance(member, dict | str) for member in members):
        where = f" {_TOWARDS[verb]} {_subject(path[:-1])}" if len(path) > 1 else ""
        yield from (ChangeLine(f"{_member_text(path[-1], member)} {verb}{where}") for member in members)
    elif path[0] in PARTS:  # may contain secrets next to the change
        yield ChangeLine(f"{_subject(path)} {verb}")
    else:
        verb = "reordered" if verb == "changed" and isinstance(old, list) and _is_same_set(old, new) else verb
        texts = (
            text if text is None or isinstance(text, str) else json.dumps(text, ensure_ascii=False, separators=_SHORT)
            for text in (change.old_value, change.new_value)
        )
        values = (text if text is None else clean_line(text, limit=SHOWN_LIMIT, strips=False) for text in texts)
        yield ChangeLine(f"{_subject(path)} {verb}", *values)


def _member_text(key: str, member: Value) -> str:
    """Return what people call a member of the list ``key``: ``column email``."""
    if not isinstance(member, dict):
        return f"{_MEMBERS[key]} {clean_line(str(member))}"
    is_label = key == "tags" and isinstance(member.get("tagFQN"), str)
    name = next((member[part] for part in _IDENTITIES if member.get(part)), "?")
    return f"{in_words(kind_of(member)) if is_label else _MEMBERS[key]} {clean_line(str(name))}"


def _subject(path: list[str]) -> str:
    """Return the words for a path: ``columns.email.description`` is "description of column email"."""
    head, *steps = path
    if head == "extension" and steps:
        return clean_line(f"custom property {'.'.join(steps)}")
    if head not in _MEMBERS or not steps:
        return clean_line(in_words(" ".join(path)))
    names = [steps.pop(0)]
    while len(steps) > 1 and steps[0] == "children":
        names.append(steps[1])
        steps = steps[2:]
    member = f"{_MEMBERS[head]} {'.'.join(names)}"
    return clean_line(f"{in_words(' '.join(steps))} of {member}" if steps else member)


def _is_same_set(old: list[Value], new: Value) -> bool:
    """Return whether these are lists of the same names in another order."""
    if not (isinstance(new, list) and old):
        return False
    return all(isinstance(name, str) for name in (*old, *new)) and sorted(old) == sorted(new)


def _parse_json(text: str) -> Value:
    """Return the value behind upstream's habit of writing JSON into a string."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
