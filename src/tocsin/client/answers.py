"""Typed read-only views of the server's JSON responses.

Keys that a view does not name are available as attributes: ``table.columns``, ``table.displayName``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic.alias_generators import to_camel

from tocsin.clock import to_datetime
from tocsin.model.entity import Document

_NAMED_CHANGES = 3
_NAMED_MEMBERS = 3


@dataclass(frozen=True)
class Entity:
    """A catalogued entity, or a version of it, as the server described it.

    ``breaking_reasons`` say why a version breaks who relied on the one before; ``reason`` is why it was written, as its
    author says; ``author`` is what people call who wrote it; ``changes`` what has changed, a sentence each, the most
    important first: as messages say it.
    """

    entity_type: str
    document: Document
    breaking_reasons: tuple[str, ...] = ()
    reason: str | None = None
    changes: tuple[str, ...] = ()
    author: str = ""

    @property
    def id(self) -> str:
        """Its UUID."""
        return str(self.document["id"])

    @property
    def name(self) -> str:
        """Its own name, without its parents'."""
        return str(self.document.get("name", ""))

    @property
    def fully_qualified_name(self) -> str:
        """Its name and its parents'."""
        return str(self.document.get("fullyQualifiedName") or self.name)

    def __getattr__(self, name: str) -> Any:  # Any: whatever JSON the server put under that key
        if name.startswith("_") or name == "document":
            raise AttributeError(name)
        try:
            return self.document[to_camel(name)]
        except KeyError:
            raise AttributeError(f"{self.entity_type} has no field {name}") from None

    def __hash__(self) -> int:
        return hash(self.id)


def reason_texts(reasons: Iterable[Document]) -> tuple[str, ...]:
    """Return reasons in words."""
    return tuple(str(reason["text"]) for reason in reasons)


def versions_in(entity_type: str, history: Document) -> tuple[Entity, ...]:
    """Return the versions in a history: what changed, why that breaks readers, why it was written, and by whom."""
    breaking, changes = map(reason_texts, history["breaking"]), map(tuple, history["words"])
    reasons = (why or None for why in history["reasons"])
    versions = zip(map(json.loads, history["versions"]), breaking, reasons, changes, history["authors"], strict=True)
    return tuple(Entity(entity_type, *version) for version in versions)


@dataclass(frozen=True)
class Applied:
    """An alert that was saved; each of ``remarks`` says, in ``message``, what its maker may not mean, and where.

    ``changed_secrets`` are the places of secrets that a dry run found to be new.
    """

    alert: Entity
    remarks: tuple[Document, ...] = ()
    changed_secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One change event; ``title`` is the server's one-line account of it, if it gave one.

    ``key`` is its idempotency key where the event itself does not hold it.
    """

    event: Document
    title: str = ""
    key: str = field(default="", repr=False)

    @property
    def idempotency_key(self) -> str:
        """Its id, the same wherever and however often the event is delivered: drop what you have handled."""
        return self.key or str(self.event.get("idempotencyKey") or self.event.get("id") or "")

    @property
    def entity_name(self) -> str:
        """The FQN of what changed."""
        entity = self.event.get("entity") or {}
        return str(self.event.get("entityFullyQualifiedName") or entity.get("name") or self.event.get("entityId", ""))

    @property
    def change_type(self) -> str:
        """What happened, in a few words: ``created``, ``description updated, tag PII.None added``."""
        change_texts = list(_named_changes(self.event.get("changeDescription") or {}))
        if not change_texts or self.event_type not in _UPDATES:
            return _WORDS.get(self.event_type, self.event_type)
        unnamed_count = len(change_texts) - _NAMED_CHANGES
        return ", ".join(change_texts[:_NAMED_CHANGES]) + (f" and {unnamed_count} more" if unnamed_count > 0 else "")

    @property
    def is_breaking(self) -> bool:
        """Whether it breaks who reads what changed."""
        return self.event.get("breaking") is True

    @property
    def breaking_reasons(self) -> tuple[str, ...]:
        """Why it does, in words."""
        return reason_texts(self.event.get("breakingReasons") or ())

    @property
    def announcements(self) -> tuple[str, ...] | None:
        """How change requests announced it, in words; None where it needed no announcement."""
        announcements = self.event.get("announcements")
        return None if announcements is None else reason_texts(announcements)

    @property
    def reason(self) -> str | None:
        """Why it was made, as its author says."""
        return self.event.get("reason")

    @property
    def event_type(self) -> str:
        """The kind of event, e.g. ``entityUpdated``."""
        return str(self.event.get("eventType", ""))

    @property
    def entity_type(self) -> str:
        """The type of what changed, e.g. ``table``."""
        return str(self.event.get("entityType", ""))

    @property
    def entity_id(self) -> str:
        """The UUID of what changed."""
        return str(self.event.get("entityId", ""))

    @property
    def user_name(self) -> str:
        """Who changed it."""
        return str(self.event.get("userName") or "")

    @property
    def timestamp(self) -> datetime:
        """When it happened, in UTC."""
        return to_datetime(int(self.event["timestamp"]))


_WORDS = {
    "entityCreated": "created",
    "entityUpdated": "changed",
    "entityFieldsChanged": "changed",
    "entitySoftDeleted": "deleted, can be restored",
    "entityDeleted": "permanently deleted",
    "entityRestored": "restored",
    "testCaseFailure": "test failed",
    "testSuiteRunCompleted": "all tests reported",
    "scheduledCheck": "still so at a scheduled time",
    "incidentReminder": "still failing, not acknowledged",
    "alertExpiring": "expires soon",
    "alertExpired": "expired and disabled",
    "changeRequestUpdated": "change request updated",
    "changeRequestAnswered": "change request answered",
    "changeRequestReminder": "reminder of a change request",
    "userLogin": "logged in",
    "userLogout": "logged out",
}
_UPDATES = frozenset({"entityUpdated", "entityFieldsChanged"})


def _named_changes(description: Document) -> Iterator[str]:
    for key, verb in (("fieldsAdded", "added"), ("fieldsUpdated", "changed"), ("fieldsDeleted", "removed")):
        for change in description.get(key) or ():
            yield f"{_subject(change)} {verb}"


def _subject(change: Document) -> str:
    """Return what a field change is about: ``description``, ``column email``, ``tags PII.None, Tier.Tier1``."""
    field = str(change["name"])
    one_side = [value for value in (change.get("oldValue"), change.get("newValue")) if value is not None]
    names = _names(one_side[0]) if len(one_side) == 1 else []
    if not names:
        return field
    if len(names) > _NAMED_MEMBERS:
        return f"{len(names)} {field}"
    return f"{field.removesuffix('s') if len(names) == 1 else field} {', '.join(names)}"


def _names(value: object) -> list[str]:
    """Return the names of the members of a list, or of its JSON; none where one of them has no name."""
    try:
        members = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return []
    if not isinstance(members, list) or not all(isinstance(one, dict) for one in members):
        return []
    names = [next((str(one[key]) for key in ("tagFQN", "name") if one.get(key)), "") for one in members]
    return names if all(names) else []


@dataclass(frozen=True)
class Notice:
    """One in-app notification.

    ``changes`` says what happened, a sentence each; ``reasons`` why they were notified; ``change`` names the event.
    ``notification_count`` is how many notifications it stands for: of what was deleted, restored, renamed or imported
    together. ``group`` is the same for all of these, whichever leads. ``advice`` says what to do, where that is always
    the same of such an event. ``severity``, ``runbooks``, ``failing_rows`` (``columns``, ``rows``, ``rowCount``,
    ``columnCount``, or ``isWithheld``), ``failure`` (``since``, ``count``, ``lastSuccess``, ``until``,
    ``usualDuration`` in ms) and ``incident`` (``name``, ``acknowledgedBy``) are there where ``fields`` asks for it.
    ``state`` has ``read``, ``seen``, ``done``, ``saved`` and, of what is snoozed, ``snoozedUntil``.
    """

    id: str
    title: str
    changes: tuple[str, ...]
    reasons: tuple[str, ...]
    change: Change
    is_read: bool
    notification_count: int = 1
    group: str = ""
    severity: str | None = None
    runbooks: tuple[str, ...] = ()
    advice: str = ""
    failing_rows: Document | None = None
    failure: Document | None = None
    incident: Document | None = None
    state: Document | None = None


@dataclass(frozen=True)
class LogSlice:
    """A stretch of the log; ``end`` is the offset from which to read on."""

    changes: tuple[Change, ...]
    end: int


@dataclass(frozen=True)
class LogText:
    """A stretch of the log as one document; ``end`` is the offset from which to read on."""

    text: str
    end: int
