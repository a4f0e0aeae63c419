"""Text of thread events for recipients: a headline and lines.

``ann mentioned you in a conversation about orders: is this right?``; ``ben asks you to describe orders.email``.
Markdown and mentions become plain text. Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import orjson

from tocsin.clock import to_datetime
from tocsin.delivery.lines import HEADLINE_LIMIT, SHOWN_LIMIT, ChangeLine, clean_line
from tocsin.errors import InvalidInput
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.mentions import plain
from tocsin.model.notification import ReasonKind
from tocsin.model.thread import ThreadType

_ASKS = {
    "RequestDescription": "describe",
    "UpdateDescription": "review the description of",
    "RequestTag": "tag",
    "UpdateTag": "review the tags of",
    "RecognizerFeedbackApproval": "review the tags of",
    "RequestApproval": "approve",
    "RequestTestCaseFailureResolution": "investigate the failure of",
}
_DONE = {
    EventType.TASK_RESOLVED: "resolved",
    EventType.TASK_CLOSED: "closed",
    EventType.POST_CREATED: "replied in",
    EventType.ENTITY_DELETED: "deleted",
}
_IN_FULL = (EventType.THREAD_CREATED, EventType.POST_CREATED, EventType.TASK_CLOSED)
_QUOTED_LIMIT = 80
_MOST_NAMED = 3


def thread_headline(event: ChangeEvent, kinds: Collection[ReasonKind] = ()) -> str:
    """Return one line that says what happened in a thread, for a recipient with reasons of these kinds."""
    who, quotation = clean_line(event.user_name or "somebody"), _quotation(event)
    action = _what(event, kinds)
    return clean_line(f"{who} {action}{quotation}", limit=HEADLINE_LIMIT + _QUOTED_LIMIT)


def thread_lines(event: ChangeEvent) -> list[ChangeLine]:
    """Return the messages, one line for each; nothing for events fully described by their changes."""
    return list(_lines(event))


def subject_of(event: ChangeEvent) -> str:
    """Return what people call the asset, or the part of it, that a thread is about: ``orders.email``."""
    thread = event.entity or {}
    asset = _object(thread.get("entityRef"))
    name = asset.get("displayName") or asset.get("name") or event.entity_fully_qualified_name or "something"
    try:
        steps = parse_link(thread.get("about"), "about").steps
    except InvalidInput:
        steps = ()
    return clean_line(f"{name}.{steps[1]}" if len(steps) > 1 else str(name))


def _what(event: ChangeEvent, kinds: Collection[ReasonKind]) -> str:
    thread, place = event.entity or {}, subject_of(event)
    mentioned, assigned = ReasonKind.MENTION in kinds, ReasonKind.ASSIGNEE in kinds
    if event.event_type is EventType.THREAD_CREATED and thread.get("type") == ThreadType.TASK:
        request = _ASKS.get(_task(thread).get("type", ""), "look at")
        return f"asks {_assignees_text(thread, is_you=assigned)} to {request} {place}"
    if mentioned:
        return f"mentioned you in {_thread(thread)} about {place}"
    if event.event_type is EventType.THREAD_CREATED:
        if thread.get("type") == ThreadType.ANNOUNCEMENT:
            return f"announced for {place}"
        return f"started {_thread(thread)} about {place}"
    if event.event_type is EventType.THREAD_UPDATED and assigned and _is_handed_on(event):
        return f"assigned {_thread(thread)} about {place} to you"
    return f"{_DONE.get(event.event_type, 'changed')} {_thread(thread)} about {place}"


def _assignees_text(thread: Document, *, is_you: bool) -> str:
    if is_you:
        return "you"
    names = [str(_object(one).get("name")) for one in _task(thread).get("assignees") or ()]
    others_text = ["others"] if len(names) > _MOST_NAMED else []
    return " and ".join([*names[:_MOST_NAMED], *others_text]) or "somebody"


def _thread(thread: Document) -> str:
    match thread.get("type"):
        case ThreadType.TASK:
            return f"task {_task(thread).get('id', '')}".strip()
        case ThreadType.ANNOUNCEMENT:
            return "an announcement"
        case _:
            return "a conversation"


def _is_handed_on(event: ChangeEvent) -> bool:
    return event.change_description is not None and "task.assignees" in event.change_description.paths()


def _quotation(event: ChangeEvent) -> str:
    """Return what was said, as it ends a headline; empty where the headline needs none."""
    thread = event.entity or {}
    is_task = thread.get("type") == ThreadType.TASK
    if event.event_type not in _IN_FULL or (is_task and event.event_type is EventType.THREAD_CREATED):
        return ""
    text = clean_line(plain(_words(event)), limit=_QUOTED_LIMIT)
    return f": {text}" if text else ""


def _words(event: ChangeEvent) -> str:
    """Return the text of the event: the new post's, or the thread's own."""
    if event.event_type is EventType.THREAD_CREATED:
        return str((event.entity or {}).get("message", ""))
    for change in event.change_description.fields_added if event.change_description else ():
        if change.name == "posts" and isinstance(change.new_value, list) and change.new_value:
            return str(_object(change.new_value[-1]).get("message", ""))
    return ""


def _lines(event: ChangeEvent) -> Iterator[ChangeLine]:
    thread = event.entity or {}
    if event.event_type in _IN_FULL and (text := _clean_text(_words(event))):
        yield ChangeLine(text)
    if event.event_type is EventType.TASK_RESOLVED:
        yield ChangeLine("resolved", _clean_text(_task(thread).get("oldValue")), _value(_task(thread).get("newValue")))
    if event.event_type is EventType.THREAD_CREATED:
        if suggestion := _value(_task(thread).get("suggestion")):
            yield ChangeLine("suggested", _clean_text(_task(thread).get("oldValue")), suggestion)
        yield from _announcement_lines(_object(thread.get("announcement")))


def _announcement_lines(announcement: Document) -> Iterator[ChangeLine]:
    if text := _clean_text(announcement.get("description")):
        yield ChangeLine(text)
    times = [announcement.get(key) for key in ("startTime", "endTime")]
    if all(isinstance(at, int) for at in times):
        start, end = (to_datetime(at).strftime("%Y-%m-%d %H:%M") for at in times if isinstance(at, int))
        yield ChangeLine(f"from {start} until {end} UTC")


def _value(text: object) -> str | None:
    """Return a description, or the names of tags that are spelled as JSON."""
    if isinstance(text, str) and text[:1] == "[":
        try:
            labels: Any = orjson.loads(text)
        except orjson.JSONDecodeError:
            return _clean_text(text)
        return _clean_text(", ".join(str(_object(label).get("tagFQN", "?")) for label in labels)) or "no tags"
    return _clean_text(text)


def _clean_text(text: object) -> str | None:
    cleaned = clean_line(plain(text), limit=SHOWN_LIMIT) if isinstance(text, str) else ""
    return cleaned or None


def _task(thread: Document) -> Document:
    return _object(thread.get("task"))


def _object(value: object) -> Document:
    return value if isinstance(value, dict) else {}
