"""Text of thread events for recipients: a headline and lines.

``ann mentioned you in a conversation about orders: is this right?``; ``ben asks you to describe orders.email``.
Markdown and mentions become plain text. Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

import orjson

from tocsin.delivery.lines import HEADLINE_LIMIT, SHOWN_LIMIT, UTC, ChangeLine, advice_line, clean_line, moment_text
from tocsin.model.announced_thread import UNTITLED
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.mentions import plain
from tocsin.model.notification import ReasonKind
from tocsin.model.personal_notice import FOR_ONE_ALONE, is_notice
from tocsin.model.phrases import list_text
from tocsin.model.task import task_name
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
_ADVICE = {
    "RequestDescription": "write the description and resolve {task}",
    "UpdateDescription": "correct the description and resolve {task}",
    "RequestTag": "choose the tags and resolve {task}",
    "UpdateTag": "choose the tags and resolve {task}",
    "RecognizerFeedbackApproval": "choose the tags and resolve {task}",
    "RequestApproval": "approve it by resolving {task}",
    "RequestTestCaseFailureResolution": "find out why it fails, repair it and resolve {task}",
}
"""What is to be done about a task, by its type."""

_DONE = {
    EventType.TASK_RESOLVED: "resolved",
    EventType.TASK_CLOSED: "closed",
    EventType.POST_CREATED: "replied in",
    EventType.ENTITY_DELETED: "deleted",
}
_IN_FULL = (EventType.THREAD_CREATED, EventType.POST_CREATED, EventType.TASK_CLOSED)
_QUOTED_LIMIT = 80
_NO_TAGS = "no tags"


def thread_text(
    event: ChangeEvent, kinds: Collection[ReasonKind], place: str, zone: str = UTC, reader_id: str | None = None
) -> tuple[str, list[ChangeLine], list[ChangeLine]]:
    """Return one line that says what happened in a thread about ``place``, and the messages, one line for each.

    The first is for a recipient with reasons of these kinds, the person ``reader_id`` if they are known; there are no
    others where the changes say everything. Last comes what a task that is new, or was handed on, asks the recipient to
    do, or whom else it asks.
    """
    thread = event.entity or {}
    task = thread["task"] if isinstance(thread.get("task"), dict) else {}
    if reader_id is not None and any(one.get("id") == reader_id for one in _assignees_of(task)):
        kinds = {*kinds, ReasonKind.ASSIGNEE}
    is_new, quotation = event.event_type is EventType.THREAD_CREATED, ""
    if ReasonKind.MENTION in kinds and (notice := _notice_in(event, thread)):
        return clean_line(notice, limit=HEADLINE_LIMIT + _QUOTED_LIMIT), [ChangeLine(notice)], []
    lines: list[ChangeLine] = []
    if event.event_type in _IN_FULL:
        message = _text_of(thread) if is_new else _new_post(event)
        if message_text := clean_line(plain(str(message)), limit=SHOWN_LIMIT):
            lines.append(ChangeLine(message_text))
            is_request = is_new and thread.get("type") == ThreadType.TASK
            quotation = "" if is_request else f": {clean_line(message_text, limit=_QUOTED_LIMIT)}"
    if event.event_type is EventType.TASK_RESOLVED:
        lines.append(_proposal_line("what was decided", task, "newValue"))
    if is_new and task.get("suggestion") and (line := _proposal_line("suggested", task, "suggestion")).new:
        lines.append(line)
    if is_new and isinstance(thread.get("announcement"), dict):
        announcement = thread["announcement"] | ({"description": None} if thread.get("message") == UNTITLED else {})
        lines += _announcement_lines(announcement, zone)
    who, action = clean_line(event.user_name or "a person"), _action(event, task, kinds, place)
    is_asked = bool(task) and ReasonKind.ASSIGNEE in kinds and (is_new or _is_handed_on(event))
    is_given = bool(task) and (is_new or _is_handed_on(event))
    advice = [_advice_on(task)] if is_asked else [*_advice_to_others(task)] if is_given else []
    return clean_line(f"{who} {action}{quotation}", limit=HEADLINE_LIMIT + _QUOTED_LIMIT), lines, advice


def _notice_in(event: ChangeEvent, thread: Document) -> str:
    """Return what a notice of Tocsin says to its person; empty for what people write."""
    notice = clean_line(plain(str(thread.get("message", "")).partition(FOR_ONE_ALONE)[2]), limit=SHOWN_LIMIT)
    return f"{notice[:1].upper()}{notice[1:]}" if is_notice(event) else ""


def _text_of(thread: Document) -> object:
    """Return what a new thread says first; of an announcement without a title what it announces."""
    announcement = thread.get("announcement")
    if thread.get("message") == UNTITLED and isinstance(announcement, dict) and announcement.get("description"):
        return announcement["description"]
    return thread.get("message", "")


def _advice_on(task: Document) -> ChangeLine:
    """Return what a task asks its assignee to do."""
    return _advice_with(task, f"{_request_of(task)}, or close it and say why not")


def _advice_to_others(task: Document) -> Iterator[ChangeLine]:
    """Yield who is to do what a task asks, for those whom it does not ask; nothing where it names nobody."""
    if names := _names_of(task):
        verb = "are" if len(names) > 1 else "is"
        yield _advice_with(task, clean_line(f"{list_text(names)} {verb} to {_request_of(task)}", limit=SHOWN_LIMIT))


def _advice_with(task: Document, advice: str) -> ChangeLine:
    command = f"tocsin tasks show {task_name(task['id'])}" if isinstance(task.get("id"), int) else ""
    return advice_line(f"{advice}: {command}" if command else advice, command)


def _request_of(task: Document) -> str:
    name = f"task {task['id']}" if isinstance(task.get("id"), int) else "the task"
    return _ADVICE.get(str(task.get("type")), "look at it and resolve {task}").format(task=name)


def _names_of(task: Document) -> list[str]:
    return [str(one.get("displayName") or one.get("name")) for one in _assignees_of(task)]


def _action(event: ChangeEvent, task: Document, kinds: Collection[ReasonKind], place: str) -> str:
    """Return what a person did, after their name: ``asks you to describe orders.email``."""
    thread_type = (event.entity or {}).get("type")
    nouns: dict[str, str] = {
        ThreadType.TASK: f"task {task.get('id', '')}".strip(),
        ThreadType.ANNOUNCEMENT: "an announcement",
    }
    thread = nouns.get(str(thread_type), "a conversation")
    is_mentioned, is_assigned = ReasonKind.MENTION in kinds, ReasonKind.ASSIGNEE in kinds
    if event.event_type is EventType.THREAD_CREATED and thread_type == ThreadType.TASK:
        assignees = "you" if is_assigned else list_text(_names_of(task)) or "others"
        return f"asks {assignees} to {_ASKS.get(task.get('type', ''), 'look at')} {place}"
    if is_mentioned:
        return f"mentioned you in {thread} about {place}"
    if event.event_type is EventType.THREAD_CREATED:
        return f"announced for {place}" if thread_type == ThreadType.ANNOUNCEMENT else f"started {thread} about {place}"
    if event.event_type is EventType.THREAD_UPDATED and is_assigned and _is_handed_on(event):
        return f"assigned {thread} about {place} to you"
    return f"{_DONE.get(event.event_type, 'changed')} {thread} about {place}"


def _assignees_of(task: Document) -> list[Document]:
    return [one if isinstance(one, dict) else {} for one in task.get("assignees") or ()]


def _is_handed_on(event: ChangeEvent) -> bool:
    return event.change_description is not None and "task.assignees" in event.change_description.paths()


def _new_post(event: ChangeEvent) -> str:
    """Return the text of the last post that the event added; empty if it added none."""
    for change in event.change_description.fields_added if event.change_description else ():
        if change.name == "posts" and isinstance(change.new_value, list) and change.new_value:
            post = change.new_value[-1]
            return str(post.get("message", "")) if isinstance(post, dict) else ""
    return ""


def _announcement_lines(announcement: Document, zone: str) -> Iterator[ChangeLine]:
    if text := clean_line(plain(announcement.get("description")), limit=SHOWN_LIMIT):
        yield ChangeLine(text)
    times = [announcement.get(key) for key in ("startTime", "endTime")]
    if all(isinstance(at, int) for at in times):
        start, end = (moment_text(at, zone) for at in times if isinstance(at, int))
        yield ChangeLine(f"from {start} until {end}")


def _proposal_line(verb: str, task: Document, key: str) -> ChangeLine:
    """Return what a task suggests or was resolved with: a text, or the names of tags, which are spelled as JSON."""
    old, new = (_proposed_text(task.get(one)) for one in ("oldValue", key))
    are_tags_gone = new == "" and (bool(old) or key == "newValue")
    return ChangeLine(verb, old or None, _NO_TAGS if are_tags_gone else new or None)


def _proposed_text(value: Any) -> str | None:  # Any: JSON of a client
    """Return a text on one line, or the names of tags; empty for a list of none, None for no text."""
    text, is_list = value, False
    if isinstance(value, str) and value[:1] == "[":
        with suppress(orjson.JSONDecodeError):
            labels: Any = orjson.loads(value)
            text = ", ".join(str(one.get("tagFQN", "?")) if isinstance(one, dict) else "?" for one in labels)
            is_list = True
    line = clean_line(plain(text), limit=SHOWN_LIMIT)
    return line if line or is_list else None
