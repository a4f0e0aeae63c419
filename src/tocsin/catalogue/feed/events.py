"""Field changes of a thread, and the change events that report them.

Next: ``catalogue/feed/operations.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.conditions.fields import derive
from tocsin.flow.capture.references import reference_to
from tocsin.flow.capture.write import Record, last_changed_ms
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import Document
from tocsin.model.entity_type import value_at
from tocsin.model.stored import CapturedEvent, Stored
from tocsin.model.thread import SHOWN_POSTS, THREAD, StoredThread, thread_document

_WHOLE = ("message", "resolved")
_PARTS = {
    "announcement": ("description", "startTime", "endTime"),
    "task": ("status", "newValue", "closedBy", "closedAt"),
    "chatbot": ("query",),
}
_LISTS = (("reactions",), ("task", "assignees"))


def thread_changes(old: Document, new: Document) -> ChangeDescription:
    """Return what differs between two documents of a thread, posts left aside."""
    paths = [(key,) for key in _WHOLE] + [(part, key) for part, keys in _PARTS.items() for key in keys]
    changes = [_change(path, value_at(old, path), value_at(new, path)) for path in paths]
    changes += [change for path in _LISTS for change in _list_changes(path, value_at(old, path), value_at(new, path))]
    return _description_of(changes)


def post_changes(old: Document, new: Document) -> ChangeDescription:
    """Return what differs between two states of a post."""
    path = ("posts", str(old["id"]))
    changes = [_change((*path, "message"), old["message"], new["message"])]
    changes += _list_changes((*path, "reactions"), old.get("reactions"), new.get("reactions"))
    return _description_of(changes)


def append_event(
    record: Record, event_type: EventType, thread: StoredThread, asset: Stored, changes: ChangeDescription
) -> ChangeEvent:
    """Put the event of a thread into the record; ``thread`` is its current or last state."""
    event = ChangeEvent(
        id=record.ids.event(),
        event_type=event_type,
        entity_type=THREAD,
        entity_id=thread.id,
        entity_fully_qualified_name=asset.fqn,
        domains=tuple(thread.document.get("domains") or ()) or None,
        user_name=record.actor.name,
        user_id=record.actor.id,
        timestamp=record.at_ms,
        change_description=changes,
        entity=whole_thread(record, thread, asset),
        reason=record.actor.reason,
    )
    last_ms = last_changed_ms(asset.document)
    derived_fields = derive(event, actor_is_bot=record.actor.is_bot, about=asset.document, last_changed_ms=last_ms)
    record.events.append(CapturedEvent(event, derived_fields))
    return event


def whole_thread(record: Record, thread: StoredThread, asset: Stored) -> Document:
    """Return a thread as events and answers show it: with its latest posts."""
    posts = record.transaction.threads.latest_posts(thread.id, SHOWN_POSTS)
    return thread_document(thread, reference_to(asset), posts)


def _change(path: Sequence[str], old: object, new: object) -> FieldChange:
    return FieldChange(name=".".join(path), old_value=old, new_value=new)


def _list_changes(path: Sequence[str], old: object, new: object) -> list[FieldChange]:
    """Return one change for the members that came and one for those that went."""
    before = {_identity(member): member for member in old} if isinstance(old, list) else {}
    after = {_identity(member): member for member in new} if isinstance(new, list) else {}
    came = [after[key] for key in after if key not in before]
    went = [before[key] for key in before if key not in after]
    return [_change(path, None, came)] * bool(came) + [_change(path, went, None)] * bool(went)


def _identity(member: Document) -> str:
    """Return the identity of an assignee or a reaction."""
    who = member.get("user") or member
    return f"{member.get('reactionType', '')}:{who.get('id')}"


def _description_of(changes: Sequence[FieldChange]) -> ChangeDescription:
    return ChangeDescription().with_changes(*(one for one in changes if one.old_value != one.new_value))
