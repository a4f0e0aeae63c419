"""History of an alert: the change events about it and those that it matched, newest first, by log offset.

Both are events of the log, so one offset is a place in both. Next: ``server/routes/alerts/alert_history.py``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Select, func, select

from tocsin.flow.eventlog.lake import ALWAYS, Window
from tocsin.model.change import OF_ALERTS, ChangeEvent
from tocsin.store.database.alert_tables import firing
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.page_bytes import BoundedList, bounded_list
from tocsin.store.database.snapshots import Texts
from tocsin.store.database.tables import attempt, change_event, notification
from tocsin.store.eventlog.log import LOGGED, logged_event_of, readable_end

MOST_EXAMINED = 20_000
"""Notifications of one page that are looked at to count those that were not sent; of more, nobody waits for it."""

_EVENT = change_event.c


class HistoryKind(StrEnum):
    """What an entry of an alert's history is: an event that it matched, or one about the alert."""

    FIRING = "firing"
    EDIT = "edit"
    REPORT = "report"
    """What the system says of the alert: a destination that fails, a finding."""


class Counts(NamedTuple):
    """Notifications that a firing gave: all, those to people, those in the app; and those that a worker did not send.

    ``suppressed_count`` is None where there were too many to look at.
    """

    notified_count: int
    person_count: int
    app_count: int
    suppressed_count: int | None = 0


class HistoryPlace(NamedTuple):
    """Place in a history, which begins with the highest: an event about an alert may be a firing of that alert."""

    log_offset: int
    is_firing: bool


_CountsByPlace = dict[HistoryPlace, Counts | None]


@dataclass(frozen=True)
class HistoryEntry:
    """One event of an alert's history; ``counts`` are those of a firing."""

    log_offset: int
    event: ChangeEvent
    kind: HistoryKind
    counts: Counts | None = None

    @property
    def place(self) -> HistoryPlace:
        """Return where it is in the history."""
        return HistoryPlace(self.log_offset, self.kind is HistoryKind.FIRING)


@dataclass(frozen=True)
class HistoryAsked:
    """The filters of an alert's history: kinds of entries, and when their events happened."""

    subscription_id: str
    kinds: Collection[HistoryKind] = field(default=tuple(HistoryKind))
    window: Window = ALWAYS


class AlertHistory:
    """The histories of the alerts of one store."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None, examined_count: int = MOST_EXAMINED) -> None:
        self._engine, self._page_bytes, self._examined_count = engine, page_bytes, examined_count

    def page(
        self, criteria: HistoryAsked, *, limit: int, before: HistoryPlace | None = None
    ) -> BoundedList[HistoryEntry]:
        """Return at most ``limit`` entries and a page full, newest first, from the one after ``before`` on."""
        with reading(self._engine) as connection:
            counts_by_place = {
                **_about(connection, criteria, limit, before),
                **_firings(connection, criteria, limit, before),
            }
            places = sorted(counts_by_place, reverse=True)[:limit]
            texts = Texts(connection)
            query = select(*LOGGED).where(_EVENT.log_offset.in_({one.log_offset for one in places}))
            newest = query.order_by(_EVENT.log_offset.desc())
            events = bounded_list(connection, newest, lambda row: logged_event_of(row, texts), self._page_bytes)
            at = {one.offset: one.event for one in events}
            shown_places = [one for one in places if one.log_offset in at]
            counts = {one: counts_by_place[one] for one in shown_places}
            counts = _with_suppressed(connection, criteria.subscription_id, counts, self._examined_count)
        entries = BoundedList(_entry(one, at[one.log_offset], counts[one]) for one in shown_places)
        entries.is_cut = events.is_cut
        return entries


def _entry(place: HistoryPlace, event: ChangeEvent, counts: Counts | None) -> HistoryEntry:
    about = HistoryKind.REPORT if event.event_type in OF_ALERTS else HistoryKind.EDIT
    return HistoryEntry(place.log_offset, event, HistoryKind.FIRING if place.is_firing else about, counts)


def _firings(connection: Connection, criteria: HistoryAsked, limit: int, before: HistoryPlace | None) -> _CountsByPlace:
    """Return the places and counts of the newest events that the alert matched."""
    if HistoryKind.FIRING not in criteria.kinds:
        return {}
    row = firing.c
    query = select(row.log_offset, row.notified_count, row.person_count, row.app_count)
    query = query.where(row.subscription_id == criteria.subscription_id)
    if before is not None:  # at one offset the firing comes first
        query = query.where(row.log_offset < before.log_offset)
    if criteria.window != ALWAYS:
        query = query.join(change_event, _EVENT.log_offset == row.log_offset)
    firings = connection.execute(_in_window(query, criteria.window).order_by(row.log_offset.desc()).limit(limit))
    return {HistoryPlace(offset, is_firing=True): Counts(*counts) for offset, *counts in firings}


def _about(connection: Connection, criteria: HistoryAsked, limit: int, before: HistoryPlace | None) -> _CountsByPlace:
    """Return the places of the newest events about the alert."""
    kinds = {HistoryKind.EDIT, HistoryKind.REPORT}.intersection(criteria.kinds)
    if not kinds:
        return {}
    query = select(_EVENT.log_offset).where(_EVENT.entity_id == criteria.subscription_id)
    query = query.where(_EVENT.log_offset <= readable_end(connection))
    if len(kinds) == 1:
        is_report = _EVENT.event_type.in_(OF_ALERTS)
        query = query.where(is_report if HistoryKind.REPORT in kinds else ~is_report)
    if before is not None:
        query = query.where(_EVENT.log_offset < before.log_offset + before.is_firing)
    offsets = connection.scalars(_in_window(query, criteria.window).order_by(_EVENT.log_offset.desc()).limit(limit))
    return {HistoryPlace(offset, is_firing=False): None for offset in offsets}


def _in_window(query: Select[Any], window: Window) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    if window.since_ms is not None:
        query = query.where(_EVENT.timestamp_ms >= window.since_ms)
    return query if window.until_ms is None else query.where(_EVENT.timestamp_ms <= window.until_ms)


def _with_suppressed(
    connection: Connection, subscription_id: str, counts_by_place: _CountsByPlace, examined_count: int
) -> _CountsByPlace:
    """Return the counts with the number of notifications whose last attempt left this alert out."""
    sent = {
        place: counts
        for place, counts in counts_by_place.items()
        if counts and counts.notified_count > counts.app_count
    }
    if sum(counts.notified_count - counts.app_count for counts in sent.values()) > examined_count:
        return {**counts_by_place, **{place: counts._replace(suppressed_count=None) for place, counts in sent.items()}}
    dropped = _dropped_counts(connection, subscription_id, [place.log_offset for place in sent])
    return {
        **counts_by_place,
        **{place: counts._replace(suppressed_count=dropped[place.log_offset]) for place, counts in sent.items()},
    }


def _dropped_counts(connection: Connection, subscription_id: str, offsets: Collection[int]) -> Counter[int]:
    """Return how many notifications of each event were not sent for this alert."""
    tried = attempt.alias()
    last = select(func.max(tried.c.number)).where(tried.c.message_id == attempt.c.message_id)
    query = select(notification.c.id, notification.c.log_offset, attempt.c.dropped)
    query = query.join(attempt, attempt.c.message_id == notification.c.message_id)
    query = query.where(attempt.c.dropped.is_not(None), attempt.c.number == last.scalar_subquery())
    counts = Counter[int]()
    for identity, offset, text in rows_by_key(connection, query, notification.c.log_offset, offsets):
        counts[offset] += (identity, subscription_id) in _pairs_left_out(text)
    return counts


@lru_cache(maxsize=64)
def _pairs_left_out(text: str) -> frozenset[tuple[str, str]]:
    """Return the notifications and alerts that an attempt left out; all notifications of a message have the same."""
    return frozenset((one["notificationId"], one["reason"]["subscriptionId"]) for one in json.loads(text))
