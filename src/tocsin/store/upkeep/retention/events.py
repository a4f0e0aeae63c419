"""Removal of expired events from the log, in portions: each is a short transaction that leaves a whole store.

With an event go its reports, match results, statistics and finished notifications. A removal that was interrupted goes
on where it is: what a portion has removed is not there to be removed again. Next: ``jobs/retention.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Engine, and_, or_, select, tuple_

from tocsin.flow.eventlog.retention import Expiry
from tocsin.model.retention import DAY_MS, LegalHold
from tocsin.store.database.alert_tables import event_portion, firing, match_result
from tocsin.store.database.engine import is_sqlite, reading, writing
from tocsin.store.database.keys import delete_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import change_event
from tocsin.store.upkeep.retention.notifications import remove_notifications
from tocsin.store.upkeep.retention.policy import holds_on
from tocsin.store.upkeep.retention.progress import Kind, give_sign, note_removed
from tocsin.store.upkeep.retention.protection import ExpiredEvent, Protection, columns, protections
from tocsin.store.upkeep.retention.readers import Reader, count_passed, horizon, positions_of_passed
from tocsin.store.upkeep.retention.traces import forget_entities, keep_deleted_states

PORTION = 1_000
"""Events of one transaction."""

PREVIEW_PORTION = 5_000
"""Events that a dry run counts at once: it locks nothing."""

_EVENT = change_event.c


@dataclass(frozen=True)
class LogPlan:
    """What is to be removed from the log: the expired, as far as readers have read them."""

    expiries: tuple[Expiry, ...]
    readers: tuple[Reader, ...]

    def until_ms(self) -> int:
        """Return the latest time of an event that may have expired."""
        return max((expiry.until_ms for expiry in self.expiries), default=0)


@dataclass
class RemovalCounts:
    """What a run has removed, or would: events by day and type, those that stay by reason, what readers miss."""

    removed: Counter[Kind] = field(default_factory=Counter)
    protected: Counter[Protection] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    portions: int = 0

    def by_type(self) -> Counter[str]:
        """Return the removed events by their type."""
        counts = Counter[str]()
        for (_, event_type, _), count in self.removed.items():
            counts[event_type] += count
        return counts

    def note_protected(self, events: Sequence[ExpiredEvent], reasons: dict[int, Protection]) -> None:
        """Count the events that stay."""
        self.protected.update(reasons[event.log_offset] for event in events if event.log_offset in reasons)


class EventRemoval:
    """Removes expired events from one store's log."""

    def __init__(self, engine: Engine, *, portion: int = PORTION) -> None:
        self._engine, self._portion = engine, portion

    def preview(self, plan: LogPlan) -> Iterator[RemovalCounts]:
        """Count, portion by portion, what ``remove`` would do now; nothing is written."""
        counts, after = RemovalCounts(), (-1, 0)
        with reading(self._engine) as connection:
            holds = holds_on(connection)
            while events := self._read_expired(connection, plan, after):
                reasons = self._reasons(connection, plan, events, holds)
                counts.note_protected(events, reasons)
                counts.removed.update(_kind_of(event) for event in events if event.log_offset not in reasons)
                counts.portions += 1
                after = (events[-1].timestamp_ms, events[-1].log_offset)
                yield counts

    def remove(self, plan: LogPlan, run_id: str, clock_ms: Callable[[], int]) -> Iterator[RemovalCounts]:
        """Remove the expired events, a portion per step; end early if another run has taken over."""
        counts, after = RemovalCounts(), (-1, 0)
        while True:
            with writing(self._engine) as connection:
                if not give_sign(connection, run_id, now_ms=clock_ms()):
                    return
                events = self._read_expired(connection, plan, after, is_locked=True)
                if not events:
                    return
                # Holds are read with every portion: one that was set meanwhile protects what is still there.
                reasons = self._reasons(connection, plan, events, holds_on(connection))
                expired_events = [event for event in events if event.log_offset not in reasons]
                removed_counts = Counter(map(_kind_of, expired_events))
                missed_counts = _remove(connection, expired_events, removed_counts, plan.readers)
            counts.note_protected(events, reasons)
            counts.removed.update(removed_counts)
            counts.passed.update(missed_counts)
            counts.portions += 1
            after = (events[-1].timestamp_ms, events[-1].log_offset)
            yield counts

    def _read_expired(
        self, connection: Connection, plan: LogPlan, after: tuple[int, int], *, is_locked: bool = False
    ) -> list[ExpiredEvent]:
        """Return the next portion of expired events, in the order of their times."""
        if not plan.expiries:
            return []
        is_later = tuple_(_EVENT.timestamp_ms, _EVENT.log_offset) > after
        query = select(*columns()).where(_EVENT.timestamp_ms <= plan.until_ms(), is_later, _has_expired(plan.expiries))
        query = query.order_by(_EVENT.timestamp_ms, _EVENT.log_offset).limit(self._portion)
        if is_locked and not is_sqlite(connection):
            query = query.with_for_update(skip_locked=True)
        return [ExpiredEvent._make(row) for row in connection.execute(query).all()]

    def _reasons(
        self, connection: Connection, plan: LogPlan, events: Sequence[ExpiredEvent], holds: Sequence[LegalHold]
    ) -> dict[int, Protection]:
        first_kept = horizon(connection, plan.readers)
        anchors = positions_of_passed(connection, plan.readers)
        unread = [one.log_offset for one in events if one.log_offset >= first_kept or one.log_offset in anchors]
        return protections(connection, events, holds, unread=unread)


def _remove(
    connection: Connection, events: Sequence[ExpiredEvent], counts: Counter[Kind], readers: Sequence[Reader]
) -> dict[str, int]:
    """Remove these events, ``counts`` of them, and their traces; return how many each passed reader misses."""
    if not events:
        return {}
    offsets = [event.log_offset for event in events]
    keep_deleted_states(connection, events)
    remove_notifications(connection, offsets)
    for table in (firing, match_result, event_portion, status_report, change_event):
        delete_by_key(connection, table.c.log_offset, offsets)
    forget_entities(connection, {event.entity_id for event in events})
    note_removed(connection, counts, through=max(offsets), until_ms=max(event.timestamp_ms for event in events))
    return count_passed(connection, readers, offsets)


def _has_expired(expiries: Sequence[Expiry]) -> ColumnElement[bool]:
    return or_(*map(_covers, expiries))


def _covers(expiry: Expiry) -> ColumnElement[bool]:
    conditions = [_EVENT.event_type == expiry.event_type, _EVENT.timestamp_ms <= expiry.until_ms]
    if expiry.entity_type is not None:
        conditions.append(_EVENT.entity_type == expiry.entity_type)
    elif expiry.but_not:
        conditions.append(_EVENT.entity_type.not_in(sorted(expiry.but_not)))
    return and_(*conditions)


def _kind_of(event: ExpiredEvent) -> Kind:
    return event.timestamp_ms // DAY_MS, event.event_type, event.entity_type
