"""Accessors for thread events: kind, entity type and mentioned people, used by ``fields.py``.

An event mentions the people in its new text: for a reply those of the reply, for an edit those added by the edit.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.conditions import documents
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.mentions import mentions_in, texts_of

_WORDS = frozenset({"message", "description", "suggestion"})


def kind(event: ChangeEvent) -> str | None:
    """Return what the thread is: a conversation, a task, an announcement."""
    found = (event.entity or {}).get("type")
    return found if isinstance(found, str) else None


def about_type(event: ChangeEvent) -> str:
    """Return the type of the asset that the thread is about; empty when the event does not say."""
    asset = (event.entity or {}).get("entityRef")
    return str(asset.get("type", "")) if isinstance(asset, dict) else ""


def mentioned(event: ChangeEvent) -> list[str]:
    """Return the names of the people and teams that are mentioned for the first time, in their order."""
    new, old = _texts(event.change_description or ChangeDescription())
    if event.event_type is EventType.THREAD_CREATED:
        new = list(texts_of(event.entity or {}))
    before = set(mentions_in(*old))
    return list(dict.fromkeys(one.name for one in mentions_in(*new) if one not in before))


def _texts(change: ChangeDescription) -> tuple[list[object], list[object]]:
    """Return the new texts of a change, and the previous ones."""
    new: list[object] = []
    old: list[object] = []
    for one in (*change.fields_added, *change.fields_updated):
        new += _words(one, one.new_value)
        old += _words(one, one.old_value)
    return new, old


def _words(change: FieldChange, value: object) -> Iterator[object]:
    if change.name == "posts":
        yield from (post.get("message") for post in documents.members(value))
    elif change.name.rpartition(".")[2] in _WORDS:
        yield value
