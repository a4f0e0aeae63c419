"""Expiry of events: which are old enough to be removed, by type and by a clock that is not trusted to leap.

``store/upkeep/retention`` applies it to the log, ``jobs/retention.py`` to the lake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tocsin.model.retention import DAY_MS, RetentionRule

MOST_ADVANCE_MS = DAY_MS
"""How far the time that ages are measured by may advance from one run to the next: a clock that leaps by a year
removes a day's events, not a year's."""


@dataclass(frozen=True)
class Expiry:
    """Events of a type, of one entity type or of all but some, that happened at ``until_ms`` or before."""

    event_type: str
    entity_type: str | None
    but_not: frozenset[str]
    until_ms: int

    def covers(self, event_type: str, entity_type: str, timestamp_ms: int) -> bool:
        """Return whether an event has expired."""
        of_type = entity_type not in self.but_not if self.entity_type is None else entity_type == self.entity_type
        return event_type == self.event_type and of_type and timestamp_ms <= self.until_ms


def log_days_of(rule: RetentionRule) -> int | None:
    """Return how many days the log keeps the events of a rule."""
    return rule.log_days


def audit_days_of(rule: RetentionRule) -> int | None:
    """Return how many days the audit trail keeps the events of a rule."""
    return rule.audit_days


def expiries(
    rules: Iterable[RetentionRule], days_of: Callable[[RetentionRule], int | None], now_ms: int
) -> tuple[Expiry, ...]:
    """Return what has expired by now, by the days that ``days_of`` takes from each rule."""
    by_type: dict[str, list[RetentionRule]] = {}
    for rule in rules:
        by_type.setdefault(rule.event_type.value, []).append(rule)
    expired_kinds: list[Expiry] = []
    for event_type, of_type in by_type.items():
        specific_types = frozenset(rule.entity_type for rule in of_type if rule.entity_type is not None)
        for rule in of_type:
            days = days_of(rule)
            if days is not None:
                but_not = specific_types if rule.entity_type is None else frozenset[str]()
                expired_kinds.append(Expiry(event_type, rule.entity_type, but_not, now_ms - days * DAY_MS))
    return tuple(expired_kinds)


def trusted_now_ms(now_ms: int, *, earlier_ms: int | None, newest_event_ms: int) -> int:
    """Return the time that ages are measured by: the clock's, but no leap since the run before.

    ``earlier_ms`` is that of the run before, None for the first, which goes by the newest event instead.
    """
    start_ms = newest_event_ms if earlier_ms is None else earlier_ms
    return min(now_ms, start_ms + MOST_ADVANCE_MS)
