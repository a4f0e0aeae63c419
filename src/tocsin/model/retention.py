"""Retention of change events and of what follows from them: settings, presets, legal holds, and what each takes away.

Nothing is removed unless a setting says so. Next: ``flow/eventlog/retention.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from pydantic import Field, model_validator

from tocsin.clock import LATEST_MS
from tocsin.model.change import EventType
from tocsin.model.entity import Document, WireModel
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.thread import RESOURCES, THREAD

DAY_MS = 86_400_000
MOST_RULES = 500
"""Rules that settings may have."""

LONGEST_REASON = 2_000
"""Characters of the reason of a legal hold."""

_LONGEST_DAYS = 36_500
_ENTITY_TYPES = frozenset({*ENTITY_TYPES, *RESOURCES, THREAD})


class RetentionRule(WireModel):
    """How long events of a type are kept; one with an ``entity_type`` goes before the one without.

    ``log_days`` is for the log, from which events are delivered, replayed and explained; ``audit_days`` for the lake,
    the audit trail, which keeps them at least as long. None: indefinitely.
    """

    event_type: EventType
    entity_type: str | None = None
    log_days: int | None = Field(default=None, ge=1, le=_LONGEST_DAYS, strict=True)
    audit_days: int | None = Field(default=None, ge=1, le=_LONGEST_DAYS, strict=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.entity_type is not None and self.entity_type not in _ENTITY_TYPES:
            raise ValueError(f"entityType {self.entity_type!r} does not exist")
        if self.audit_days is not None and (self.log_days is None or self.log_days > self.audit_days):
            raise ValueError("auditDays must be at least logDays: the audit trail keeps what the log keeps")
        return self


class RetentionSettings(WireModel):
    """What is removed, and when; by default nothing.

    ``notification_days`` counts from the creation of a notification that is delivered or in the app,
    ``dead_letter_days`` from the last attempt. ``reader_wait_days`` is how far a reader of the log may be behind before
    it is told and then passed; None: it is always waited for.
    """

    rules: tuple[RetentionRule, ...] = Field(default=(), max_length=MOST_RULES)
    notification_days: int | None = Field(default=None, ge=2, le=_LONGEST_DAYS, strict=True)
    dead_letter_days: int | None = Field(default=None, ge=2, le=_LONGEST_DAYS, strict=True)
    reader_wait_days: int | None = Field(default=None, ge=2, le=_LONGEST_DAYS, strict=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        keys = [(rule.event_type, rule.entity_type) for rule in self.rules]
        for key in keys:
            if keys.count(key) > 1:
                names = " of ".join(filter(None, (key[0].value, key[1])))
                raise ValueError(f"there are two rules for {names}")
        return self

    def removes_something(self) -> bool:
        """Return whether anything is ever removed."""
        days = (*(rule.log_days for rule in self.rules), self.notification_days, self.dead_letter_days)
        return any(one is not None for one in days)

    def outlives_the_log(self) -> bool:
        """Return whether the audit trail must keep an event that the log no longer does."""
        return any(rule.log_days is not None and rule.log_days != rule.audit_days for rule in self.rules)


def _rule(event_type: EventType, log_days: int | None, audit_days: int | None) -> RetentionRule:
    return RetentionRule(event_type=event_type, log_days=log_days, audit_days=audit_days)


PRESETS: dict[str, RetentionSettings] = {
    "off": RetentionSettings(),
    "standard": RetentionSettings(
        rules=(
            _rule(EventType.ENTITY_CREATED, None, None),
            _rule(EventType.ENTITY_UPDATED, 90, None),
            _rule(EventType.ENTITY_SOFT_DELETED, 30, 30),
            _rule(EventType.ENTITY_DELETED, 7, 7),
        )
    ),
}
"""Settings by name. ``standard`` is the table of seeds/002, "Event Retention": updates leave the log after 90 days, and
stay in the audit trail."""

EFFECTS: tuple[tuple[str, str, str], ...] = (
    ("logDays", "events", "`GET /events` and `GET /events/{id}` no longer return the event; offsets have gaps."),
    ("logDays", "explain", "An explanation of the event answers 404 and names the retention that removed it."),
    ("logDays", "replay", "None: an event is kept until its dead letters are replayed, discarded or removed."),
    ("logDays", "notifications", "Its delivered and in-app notifications, read marks and statistics go with it."),
    ("logDays", "streaks", "None up to 1,000: the newest 1,000 reports of each asset are kept."),
    ("logDays", "asOf", "None: versions are kept. Hard-deleted assets lose theirs with their last event."),
    ("logDays", "diff", "None: versions are kept."),
    ("logDays", "rollback", "None: versions are kept."),
    ("logDays", "backtest", "None where the lake has the event; else it counts as missing in the result."),
    ("auditDays", "backtest", "A backtest over that time lacks the event, and its result counts what is missing."),
    ("auditDays", "audit", "`tocsin lake query` and the Delta copy of the lake no longer have the event."),
    ("notificationDays", "inbox", "The notification leaves inbox, history and statistics of deliveries."),
    ("deadLetterDays", "replay", "The message can no longer be replayed."),
    ("readerWaitDays", "readers", "A reader that is further behind is told, and a day later misses what is removed."),
)
"""(setting, feature, what it loses), for answers and the dry run."""


def effects_of(settings: RetentionSettings) -> list[Document]:
    """Return what the settings that are set take away."""
    active = {
        "logDays": any(rule.log_days is not None for rule in settings.rules),
        "auditDays": any(rule.audit_days is not None for rule in settings.rules),
        "notificationDays": settings.notification_days is not None,
        "deadLetterDays": settings.dead_letter_days is not None,
        "readerWaitDays": settings.reader_wait_days is not None,
    }
    return [
        {"setting": setting, "feature": feature, "effect": effect}
        for setting, feature, effect in EFFECTS
        if active[setting]
    ]


class LegalHoldRequest(WireModel):
    """What a new legal hold covers, and why; times are epoch milliseconds, inclusive."""

    reason: str = Field(min_length=1, max_length=LONGEST_REASON, pattern=r"\S")
    entity_id: UUID | None = None
    user_name: str | None = Field(default=None, min_length=1, max_length=300, pattern=r"\S")
    since: int | None = Field(default=None, ge=0, le=LATEST_MS, strict=True)
    until: int | None = Field(default=None, ge=0, le=LATEST_MS, strict=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if all(one is None for one in (self.entity_id, self.user_name, self.since, self.until)):
            raise ValueError("name an entityId, a userName or a time (since, until)")
        if self.since is not None and self.until is not None and self.until < self.since:
            raise ValueError("until must not be before since")
        return self


@dataclass(frozen=True)
class LegalHold:
    """What must not be removed: events of an entity, by a person, in a time; all that are set must hold.

    Times are epoch milliseconds, inclusive.
    """

    id: str
    reason: str
    set_by: str
    set_at_ms: int
    entity_id: str | None = None
    user_name: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    lifted_by: str | None = None
    lifted_at_ms: int | None = None

    def covers(self, entity_id: str, user_name: str | None, timestamp_ms: int) -> bool:
        """Return whether an event is held."""
        return (
            self.lifted_at_ms is None
            and self.entity_id in (None, entity_id)
            and self.user_name in (None, user_name)
            and (self.since_ms is None or self.since_ms <= timestamp_ms)
            and (self.until_ms is None or timestamp_ms <= self.until_ms)
        )


def is_held(holds: Iterable[LegalHold], entity_id: str, user_name: str | None, timestamp_ms: int) -> bool:
    """Return whether one of the holds covers an event."""
    return any(hold.covers(entity_id, user_name, timestamp_ms) for hold in holds)
